"""Nodes that process one record at a time: filter, project, explode, split, to_stream.

For a change of a table the kernel filters and projects both the old and the new row.
"""

from collections.abc import Sequence
from dataclasses import replace

from duolog.engine.lowering.expressions.expressions import lower_as_declared, lower_expression
from duolog.engine.lowering.nodes.python_calls import calls_before
from duolog.engine.lowering.nodes.rows import Lowered, Row, Surroundings
from duolog.engine.lowering.spark_sql.sql import spark_type
from duolog.engine.lowering.spec.operators import (
    ExplodeOperator,
    FilterOperator,
    ProjectOperator,
    SplitOperator,
    ToStreamOperator,
)
from duolog.plan.expressions import type_of
from duolog.plan.nodes import Branch, Explode, Filter, Project, Rename, Split, ToStream
from duolog.plan.types import Array, Column, Map, Type


def lower_filter(node: Filter, row: Row, around: Surroundings) -> Lowered:
    before, row, naming = calls_before([node.predicate], node, row, around, nulls=True)
    predicate = lower_expression(node.predicate, naming)
    versioned = row.changes and node.history_ms is not None
    operator = FilterOperator(predicate=predicate, versioned=versioned)
    return Lowered([*before, row.entry(node.name, operator)], row)


def lower_project(node: Project, row: Row, around: Surroundings) -> Lowered:
    needed = around.needed(node)
    computed = [(name, expression) for name, expression in node.values if name in needed]
    before, row, naming = calls_before([of for _, of in computed], node, row, around)
    values = [lower_as_declared(expression, naming) for _, expression in computed]
    types = {column.name: column for column in node.schema.value}
    columns = tuple(types[name] for name, _ in computed)
    entry = row.entry(node.name, ProjectOperator(values=values))
    return Lowered([*before, entry], Row.of(node.schema.key, columns, changes=row.changes))


def lower_rename(node: Rename, row: Row, _around: Surroundings) -> Lowered:
    """Lower to nothing: the columns keep their positions, under other names."""
    now = {before: name for name, before in node.before.items()}

    def renamed(columns: tuple[Column, ...]) -> tuple[Column, ...]:
        return tuple(Column(now.get(name, name), of) for name, of in columns)

    names = {now[name]: at for name, at in row.names.items() if name in now}
    return Lowered([], Row(renamed(row.key), renamed(row.value), names, row.changes))


def lower_explode(node: Explode, row: Row, around: Surroundings) -> Lowered:
    before, row, naming = calls_before(node.arrays, node, row, around)
    lowered = [lower_expression(array, naming) for array in node.arrays]
    kinds = [type_of(array, naming.scope) for array in node.arrays]
    if isinstance(kinds[0], Map):
        arrays = [f"map_keys({lowered[0]})", f"map_values({lowered[0]})"]
        types = [kinds[0].key, kinds[0].value]
    else:
        types = [kind.element for kind in kinds if isinstance(kind, Array)]
        arrays = [_as_long_as_all(lowered, types[0]), *lowered[1:]]
    elements = {name: f"get(x{index}, at)" for index, name in enumerate(node.into)}
    needed = around.needed(node)
    columns = tuple(column for column in node.schema.value if column.name in needed)
    operator = ExplodeOperator(
        arrays=arrays,
        array_types=[spark_type(Array(element)) for element in types],
        outer=node.outer,
        values=[elements.get(column.name) or row.names[column.name] for column in columns],
    )
    entry = row.entry(node.name, operator)
    return Lowered([*before, entry], Row.of(node.schema.key, columns, changes=False))


def _as_long_as_all(arrays: Sequence[str], element: Type) -> str:
    """Return the first of arrays, padded with nulls to the longest: the kernel counts elements."""
    first, *others = arrays
    if not others:
        return first
    longest = ", ".join(f"coalesce(array_size({other}), 0)" for other in others)
    own = f"coalesce({first}, CAST(array() AS {spark_type(Array(element))}))"
    missing = f"greatest(0, {longest}) - array_size({own})"
    nothing = f"CAST(NULL AS {spark_type(element)})"
    return f"concat({own}, array_repeat({nothing}, greatest(0, {missing})))"


def lower_split(node: Split, row: Row, around: Surroundings) -> Lowered:
    naming = row.naming(node.parent.schema)
    branches = around.levels.successors(node)
    operator = SplitOperator(
        predicates=[lower_expression(predicate, naming) for predicate in node.predicates],
        branches=[branch.number for branch in branches if isinstance(branch, Branch)],
    )
    assert len(operator.branches) == len(branches), f"{node} is read by more than its branches"
    return Lowered([row.entry(node.name, operator)], row)


def lower_branch(node: Branch, row: Row, _around: Surroundings) -> Lowered:
    """A branch receives the records that the split forwards to it."""
    return Lowered([row.entry(node.name, FilterOperator(predicate="true"))], row)


def lower_to_stream(node: ToStream, row: Row, _around: Surroundings) -> Lowered:
    return Lowered([row.entry(node.name, ToStreamOperator())], replace(row, changes=False))
