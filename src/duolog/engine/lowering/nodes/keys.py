"""Records under a new key: select_key, group_by, and the routing to the task of a key.

The old key's columns become value columns, so a projection first copies them, together with the
columns from which the new key is computed:

    project (needed columns, including the old key's) ─▶ select_key or route (new key)

A null value has no columns, so nothing can be copied into it: there the new key is computed from
the old key, which is still the key at that point.

A filter after `select_key` sees the new key. Whether a key is new depends on the whole path since
the last shuffle, not only on the last node.
"""

from dataclasses import replace

from duolog.engine.lowering.expressions.expressions import key_names, lower_as_declared
from duolog.engine.lowering.formats.formats import encode
from duolog.engine.lowering.nodes.partitions import lower_partition
from duolog.engine.lowering.nodes.python_calls import calls_before
from duolog.engine.lowering.nodes.rows import Lowered, Row, Surroundings, reshape
from duolog.engine.lowering.spark_sql.pinned_texts import are_pinned
from duolog.engine.lowering.spec.node_spec import NodeSpec
from duolog.engine.lowering.spec.operators import FilterOperator, RouteOperator, SelectKeyOperator
from duolog.plan.cutting.levels import Edge
from duolog.plan.expressions import (
    Call,
    ColumnRef,
    Expression,
    PythonCall,
    column_names,
    rewrite,
)
from duolog.plan.formats import internal_key_format
from duolog.plan.nodes import GroupBy, Project, Repartition, SelectKey, TableSource


def lower_select_key(node: SelectKey, row: Row, around: Surroundings) -> Lowered:
    carrying, carried = _carry(node, row, around.needed(node))
    readable = _with_old_key(row, carried)
    expressions = [_as_lowered_first(expression, node) for _, expression in node.keys]
    of_many = () if are_pinned() and not _was_two_steps(node) else expressions
    calling, called, naming = calls_before(of_many, node, readable, around, nulls=True)
    keys = [lower_as_declared(expression, naming) for expression in expressions]
    entry = called.entry(
        node.name,
        SelectKeyOperator(keys=keys, keeps_nulls=node.keeps_nulls and len(keys) > 1),
    )
    rekeyed = _rekeyed(node, _without_key(replace(called, names=carried.names)))
    return Lowered([*carrying, *calling, entry], rekeyed)


def _as_lowered_first(expression: Expression, node: SelectKey) -> Expression:
    """Return a key's expression.

    Its pinned text lacks the second call that `map` makes for records without a value.
    """
    computed = dict(node.parent.values) if isinstance(node.parent, Project) else {}

    def once(part: Expression) -> Expression | None:
        match part:
            case Call("COALESCE", (ColumnRef(name) as column, call)) if computed.get(name) == call:
                return column
            case _:
                return None

    return rewrite(expression, once) if are_pinned() else expression


def _was_two_steps(node: SelectKey) -> bool:
    """Return whether the first lowering called the function for many records before the key.

    Other keys called their function in the expression.
    """
    (name, key), *others = node.keys
    was_free = "key" not in node.parent.schema.names
    return not others and name == "key" and isinstance(key, PythonCall) and was_free


def lower_group_by(_node: GroupBy, row: Row, _around: Surroundings) -> Lowered:
    """Lower a group on a new key to nothing: the outgoing edges set the key of records."""
    return Lowered([], row)


def lower_repartition(_node: Repartition, row: Row, _around: Surroundings) -> Lowered:
    """Lower to nothing: the incoming edge has already moved the records."""
    return Lowered([], row)


def lower_group(node: GroupBy, row: Row) -> Lowered:
    """Lower a group on the key that records already have: only names change."""
    grouped = _rekeyed(node, row)
    if len(node.keys) == 1:
        return Lowered([], grouped)  # The fold drops null keys.
        # A key of several columns is null only if all are null; a group requires each of them.
    predicate = " AND ".join(f"({name} IS NOT NULL)" for name in key_names(row.key))
    return Lowered([row.entry(node.name, FilterOperator(predicate=predicate))], grouped)


def lower_edge(edge: Edge, row: Row, around: Surroundings) -> Lowered:
    """Return the nodes that send records to the tasks of `edge`, and the row that arrives there."""
    parent = edge.parent
    needed = around.needed(parent)
    if not edge.carries_changes:
        row = replace(row, changes=False)
    if isinstance(parent, GroupBy):
        entries, narrow = _carry(parent, row, needed)
        keys = _keys(parent, row, narrow)
        arriving = _rekeyed(parent, _without_key(narrow))
    else:
        entries, narrow, keys = [], row, None
        if not isinstance(parent, TableSource):
            wanted = [c.name for c in parent.schema.value if c.name in needed]
            entries, narrow = reshape(row, parent.schema, wanted, f"{parent.name}-narrow")
        arriving = narrow
    key = around.levels.task_key(edge)
    sent_by = edge.repartition
    partition = None
    if sent_by is not None:
        partition = lower_partition(sent_by.partitioner, sent_by, narrow, parent.schema, around)
    route = narrow.entry(
        f"{parent.name}-to-{edge.target}",
        RouteOperator(
            edge=edge.id,
            keys=keys,
            key_bytes=encode(internal_key_format(key), key, key_names(key), "key"),
            everywhere=edge.everywhere,
            partition=partition,
            partitions=None if sent_by is None else sent_by.partitions,
        ),
    )
    return Lowered([*entries, route], arriving)


def _carry(
    node: SelectKey | GroupBy, row: Row, needed: frozenset[str]
) -> tuple[list[NodeSpec], Row]:
    """Copy into the value what is needed downstream of `node`, and what computes its key."""
    old_key = {column.name for column in node.parent.schema.key}
    behind = {_source(expression) for name, expression in node.values if name in needed}
    for_key = {name for _, expression in node.keys for name in column_names(expression)}
    wanted = [
        column.name
        for column in node.parent.schema.columns
        if column.name in behind or (column.name in for_key and column.name not in old_key)
    ]
    return reshape(row, node.parent.schema, wanted, f"{node.name}-carry")


def _keys(node: GroupBy, row: Row, carried: Row) -> list[str]:
    """Return the expressions of the new key over `carried`, which replaced `row`."""
    naming = _with_old_key(row, carried).naming(node.parent.schema)
    return [lower_as_declared(expression, naming) for _, expression in node.keys]


def _with_old_key(row: Row, carried: Row) -> Row:
    """Return `carried` with the key names of `row`."""
    old_key = {name: at for name, at in row.names.items() if at.startswith("k")}
    return replace(carried, names={**carried.names, **old_key})


def _without_key(row: Row) -> Row:
    """Return `row` without the names of its key, which is about to be replaced."""
    names = {name: at for name, at in row.names.items() if not at.startswith("k")}
    return replace(row, names=names)


def _rekeyed(node: SelectKey | GroupBy, row: Row) -> Row:
    """Return `row` with the column names downstream of `node`."""
    names = {
        name: row.names[_source(expression)]
        for name, expression in node.values
        if _source(expression) in row.names
    }
    names |= {name: f"k{index}" for index, (name, _) in enumerate(node.keys)}
    return Row(node.schema.key, row.value, names, row.changes)


def _source(expression: object) -> str:
    assert isinstance(expression, ColumnRef), expression
    return expression.name
