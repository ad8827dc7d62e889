"""The sides of a join of streams: each stores its records, and searches those of the other.

Only what the join's values read of a record is stored, whatever is needed downstream: v0… of one
side are r0… of the other.
"""

from duolog.engine.lowering.expressions.expressions import Names, key_names, lower_as_declared
from duolog.engine.lowering.formats.formats import encode_key
from duolog.engine.lowering.nodes.rows import Lowered, Row, Surroundings, reshape
from duolog.engine.lowering.spark_sql.sql import spark_types
from duolog.engine.lowering.spec.operators import StreamJoinOperator
from duolog.plan.expressions import Scope
from duolog.plan.formats import internal_key_format
from duolog.plan.nodes import StreamJoin, StreamJoinSide


def lower_stream_join_side(node: StreamJoinSide, row: Row, _around: Surroundings) -> Lowered:
    """Store what the join reads of each record, and join it with those of the other stream."""
    own = [column.name for column in node.kept_columns(of_left=node.of_left)]
    other = node.kept_columns(of_left=not node.of_left)
    entries, kept = reshape(row, node.own.schema, own, f"{node.name}-kept")
    naming = _names(node, own, [column.name for column in other])
    window = node.own_window
    left = node.left.schema  # Both sides must use the same bytes as key.
    operator = StreamJoinOperator(
        store=node.store,
        other_store=node.other_store,
        fills=node.fills,
        left=node.of_left,
        tells_unmatched=node.tells_unmatched,
        unmatched=node.unmatched,
        other_unmatched=node.other_unmatched,
        before_ms=window.before_ms,
        after_ms=window.after_ms,
        grace_ms=window.grace_ms,
        kept_ms=window.kept_ms,
        again=window.again,
        key_bytes=encode_key(internal_key_format(left.inner_key), left, key_names(left.key)),
        right_types=spark_types(other),
        values=[lower_as_declared(expression, naming) for _, expression in node.values],
    )
    entry = kept.entry(node.name, operator)
    leaving = Row.of(node.schema.key, node.schema.value, changes=False)
    return Lowered([*entries, entry], leaving)


def _names(node: StreamJoinSide, own: list[str], other: list[str]) -> Names:
    """Return the names for expressions over both streams: v0… is its own record, r0… the other."""
    keys = {column.name: f"k{index}" for index, column in enumerate(node.left.schema.key)}
    here = {name: f"v{index}" for index, name in enumerate(own)}
    there = {name: f"r{index}" for index, name in enumerate(other)}
    left, right = (here, there) if node.of_left else (there, here)
    scope = Scope(node.left.schema.columns, node.right.schema.value)
    return Names(scope, left | keys, right, {})


def lower_stream_join(_node: StreamJoin, row: Row, _around: Surroundings) -> Lowered:
    """Lower to nothing: each side forwards the join's records."""
    return Lowered([], row)
