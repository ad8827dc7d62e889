"""Aggregate functions that store values: first, min, lists, sets, sketches.

    function                state over a stream       state over a table (rows are also subtracted)
    min, max                the value                 all values, and the value
    first, last             the value (and its time)  all values by time, and the value
    collect_list            a list                    the same; the last equal element is removed
    collect_set, _map       a list, a map             all values, and the list or map
    top_k, top_k_distinct   the k greatest            all values, and the k greatest
    count_distinct          all values                all values
    histogram               values with their counts  all values, and the counts
    percentile              counts of buckets         the same
    approx_count_distinct   a sketch                  refused: a sketch cannot subtract

"All values" is a sorted list of the different values with their counts. If it outgrows the row, the
rest is stored in pages (except in windows). The result is stored next to it, so that only the fold
reads pages.
"""

from collections.abc import Callable
from typing import Final

from duolog.plan.aggregates.accumulators import Accumulators, call, null_of
from duolog.plan.aggregates.all_values import Reading, distinct_of_all, read_of_all
from duolog.plan.aggregates.arguments import argument, empty, ensure_ordered, option, unless_null
from duolog.plan.aggregates.first_last import first_or_last
from duolog.plan.aggregates.greatest import top
from duolog.plan.aggregates.sketches import approx_count_distinct, percentile
from duolog.plan.errors import InvalidPlan
from duolog.plan.expressions import AccumulatorRef, Aggregate, Expression, TableColumnRef
from duolog.plan.types import BYTES, Array, Map


def _collect_list(kept: Accumulators, aggregate: Aggregate) -> Expression:
    arg, nulls = argument(aggregate), bool(dict(aggregate.options)["nulls"])
    of = kept.type_of(arg, function=aggregate.function)
    if kept.undo:
        ensure_ordered(of, aggregate)
    return list_of(kept, str(aggregate), arg, option(aggregate, "limit"), nulls=nulls)


def list_of(
    kept: Accumulators, name: str, arg: Expression, limit: Expression, *, nulls: bool
) -> AccumulatorRef:
    """Store a list of the values in arrival order; subtracting removes the last equal one."""
    of, before = kept.type_of(arg), AccumulatorRef(name)
    longer = call("LIST_ADD", before, arg, limit)
    return kept.keep(
        name,
        Array(of),
        empty(Array(of)),
        add=longer if nulls else call("IF", call("IS_NULL", arg), before, longer),
        subtract=call("LIST_REMOVE", before, arg),
        merge=call("LIST_CONCAT", before, TableColumnRef(name), limit),
    )


def _collect_set(kept: Accumulators, aggregate: Aggregate) -> Expression:
    arg, name, limit = argument(aggregate), str(aggregate), option(aggregate, "limit")
    of = kept.type_of(arg, function=aggregate.function)
    ensure_ordered(of, aggregate)
    nulls = dict(aggregate.options)["nulls"]
    if kept.undo and nulls:
        raise InvalidPlan(
            f"cannot compute {aggregate} over a grouped table",
            detail="A set over a table cannot contain null.",
            hint="Remove nulls=True, or aggregate the table's changes: to_stream().",
        )
    if kept.undo:
        return read_of_all(kept, name, arg, Reading("VALUES_LEAST", limit, distinct=True))
    return set_of(kept, name, arg, limit, nulls=bool(nulls))


def set_of(
    kept: Accumulators, name: str, arg: Expression, limit: Expression, *, nulls: bool
) -> AccumulatorRef:
    """Store a list of the different values in arrival order; for streams only."""
    of, before = kept.type_of(arg), AccumulatorRef(name)
    larger = call("SET_ADD", before, arg, limit)
    return kept.keep(
        name,
        Array(of),
        empty(Array(of)),
        add=larger if nulls else call("IF", call("IS_NULL", arg), before, larger),
        merge=call("SET_CONCAT", before, TableColumnRef(name), limit),
    )


def _collect_map(kept: Accumulators, aggregate: Aggregate) -> Expression:
    key, (value,) = argument(aggregate), aggregate.others
    name, limit = str(aggregate), option(aggregate, "limit")
    of_key, of_value = (kept.type_of(of, function=aggregate.function) for of in (key, value))
    ensure_ordered(of_key, aggregate)
    of = Map(of_key, of_value)
    if kept.undo:
        ensure_ordered(of_value, aggregate)
        pair = unless_null(key, call("SORTABLE", key, value))
        return read_of_all(kept, name, pair, Reading("VALUES_PAIRS", limit))
    before = AccumulatorRef(name)
    return kept.keep(
        name,
        of,
        empty(of),
        add=call("MAP_PUT", before, key, value, limit),
        merge=call("MAP_CONCAT", before, TableColumnRef(name), limit),
    )


def _histogram(kept: Accumulators, aggregate: Aggregate) -> Expression:
    arg, limit = argument(aggregate), option(aggregate, "limit")
    of = kept.type_of(arg, function=aggregate.function)
    ensure_ordered(of, aggregate)
    if kept.undo:
        return read_of_all(kept, str(aggregate), arg, Reading("VALUES_COUNTS", limit))
    name = str(aggregate)
    before = AccumulatorRef(name)
    kept.keep(
        name,
        BYTES,
        null_of(BYTES),
        add=call("VALUES_ADD_WITHIN", before, arg, limit),
        merge=call("VALUES_MERGE", before, TableColumnRef(name), limit),
    )
    return call("VALUES_COUNTS", before, null_of(of), limit)


def _count_distinct(kept: Accumulators, aggregate: Aggregate) -> Expression:
    arg = argument(aggregate)
    ensure_ordered(kept.type_of(arg, function=aggregate.function), aggregate)
    return distinct_of_all(kept, arg)


COLLECTING: Final[dict[str, Callable[[Accumulators, Aggregate], Expression]]] = {
    "first": first_or_last,
    "last": first_or_last,
    "collect_list": _collect_list,
    "collect_set": _collect_set,
    "collect_map": _collect_map,
    "histogram": _histogram,
    "top_k": top,
    "top_k_distinct": top,
    "count_distinct": _count_distinct,
    "approx_count_distinct": approx_count_distinct,
    "percentile": percentile,
}
"""The folds by function name."""
