"""The fold: accumulators by key, with undo if a table is grouped, or by key and window."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from duolog.engine.lowering.expressions.expressions import (
    Names,
    key_names,
    lower_as_declared,
    lower_expression,
)
from duolog.engine.lowering.formats.formats import encode
from duolog.engine.lowering.nodes.keys import lower_group
from duolog.engine.lowering.nodes.rows import Lowered, Row, Surroundings
from duolog.engine.lowering.spark_sql.pinned_structs import as_lowered_first
from duolog.engine.lowering.spark_sql.sql import spark_type
from duolog.engine.lowering.spec.node_spec import Operator
from duolog.engine.lowering.spec.operators import (
    FoldOperator,
    SessionFoldOperator,
    SlidingFoldOperator,
    WindowFoldOperator,
)
from duolog.engine.lowering.spec.windows import lower_windows
from duolog.plan.aggregates.accumulators import Accumulator
from duolog.plan.expressions import Expression, Scope
from duolog.plan.formats import internal_key_format
from duolog.plan.nodes import AggregateNode
from duolog.plan.windows import SessionWindows, SlidingWindows

if TYPE_CHECKING:
    from duolog.engine.json_object import Json


def lower_aggregate(node: AggregateNode, row: Row, around: Surroundings) -> Lowered:
    """Fold records. Records that crossed an edge of the group already have its key."""
    grouped = Lowered([], row) if node.group.rekeys else lower_group(node.group, row)
    fold = _fold(node, grouped.row, around)
    entry = grouped.row.entry(node.name, fold)
    return Lowered(
        [*grouped.entries, entry], Row.of(node.schema.key, node.schema.value, changes=True)
    )


def _fold(node: AggregateNode, row: Row, around: Surroundings) -> Operator:
    kept = as_lowered_first(node.accumulators)
    accumulators = {accumulator.name: f"a{index}" for index, accumulator in enumerate(kept)}
    scope = Scope(node.group.schema.columns, accumulators=node.accumulator_columns, of_record=True)
    naming = Names(scope, dict(row.names), {}, accumulators)
    key = {column.name: f"k{index}" for index, column in enumerate(node.schema.key)}
    result_scope = Scope(node.schema.key, accumulators=node.accumulator_columns)
    result_naming = Names(result_scope, key, {}, accumulators)
    shared: Json = {
        "store": node.store,
        "acc_types": [spark_type(accumulator.type) for accumulator in kept],
        "init": [_as_kept(accumulator, accumulator.initial, naming) for accumulator in kept],
        "add": [_as_kept(accumulator, accumulator.add, naming) for accumulator in kept],
        "results": [lower_as_declared(result, result_naming) for _, result in node.results],
        "told_at_once": node.at_once or node in around.levels.cut.copied,
    }
    if node.windows is None:
        paged = any(accumulator.paged for accumulator in kept)
        back = _subtract(node, kept, naming)
        return FoldOperator(**shared, subtract=back, paged=paged, ttl_ms=node.ttl_ms)
    shared |= {"on_close": _order_on_close(node), "longer_ms": node.longer_ms}
    match node.windows:
        case SlidingWindows(difference_ms=difference, grace_ms=grace):
            return SlidingFoldOperator(**shared, difference_ms=difference, grace_ms=grace)
        case SessionWindows(gap_ms=gap, grace_ms=grace):
            merge = _merge(node, kept, accumulators)
            return SessionFoldOperator(**shared, merge=merge, gap_ms=gap, grace_ms=grace)
        case windows:
            by_time = lower_windows(windows)
            return WindowFoldOperator(**shared, lost_ms=node.lost_ms, windows=by_time)


def _order_on_close(node: AggregateNode) -> str | None:
    """Return the bytes of the group's key by which the results of one window are ordered."""
    if not node.emits_on_close:
        return None
    key = node.schema.inner_key
    return encode(internal_key_format(key), key, key_names(key), "key")


def _merge(
    node: AggregateNode, kept: Sequence[Accumulator], accumulators: dict[str, str]
) -> list[str]:
    columns = node.accumulator_columns
    others = {column.name: f"r{index}" for index, column in enumerate(columns)}
    naming = Names(Scope((), columns, columns), {}, others, accumulators)
    return [
        _as_kept(accumulator, accumulator.merge, naming)
        for accumulator in kept
        if accumulator.merge is not None
    ]


def _subtract(node: AggregateNode, kept: Sequence[Accumulator], naming: Names) -> list[str] | None:
    if not node.group.is_table:
        return None
    return [
        _as_kept(accumulator, accumulator.subtract, naming)
        for accumulator in kept
        if accumulator.subtract is not None
    ]


def _as_kept(accumulator: Accumulator, expression: Expression, naming: Names) -> str:
    return f"CAST({lower_expression(expression, naming)} AS {spark_type(accumulator.type)})"
