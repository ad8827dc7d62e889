"""SQL's aggregate functions as folds: the state of each, and its result for an empty group.

    function                  state                                     empty group
    SUM, SUM_LIST             the sum, in the type of the summed value  0
    COUNT                     the count                                 0
    AVG                       sum and count                             0.0
    STDDEV_SAMP, _SAMPLE      count, sum, sum of squares around it      0.0
    CORRELATION               count, sums, sums of products             NaN
    MIN, MAX                  the value                                 null
    ATTR                      two different values; over a table all    null
    COLLECT_LIST, _SET        the array; sets over a table: all values  an empty array
    TOPK, TOPKDISTINCT        the k greatest; over a table all values   an empty array
    EARLIEST_, LATEST_…       the value, or an array                    null, or an empty array
    HISTOGRAM                 values with their counts                  an empty map
    COUNT_DISTINCT            a sketch; over a table all values         0
    SUM, COUNT, AVG           all values                                as without DISTINCT
      of DISTINCT values

Functions with the same accumulator share it by its name. Sums of DOUBLEs lose digits if values are
large and close together. `statistics` avoids that, but its last digits differ from ksqlDB's.

Source: ksqlDB's documentation; E. A. Youngs, E. M. Cramer, "Some Results Relevant to Choice of Sum
and Sum-of-Product Algorithms" (1971).
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Final

from duolog.plan.aggregates.accumulators import Accumulators, call, null_of
from duolog.plan.aggregates.all_values import Reading, distinct_of_all, read_of_all
from duolog.plan.aggregates.arguments import option, unless_null
from duolog.plan.aggregates.collecting import list_of, set_of
from duolog.plan.aggregates.first_last import one_by_offset, some_by_offset
from duolog.plan.aggregates.greatest import extreme, top_of
from duolog.plan.aggregates.sketches import distinct_nearly
from duolog.plan.expressions import (
    AccumulatorRef,
    Aggregate,
    Cast,
    Expression,
    Item,
    TableColumnRef,
    literal,
    type_of,
)
from duolog.plan.sql.registry import PREFIX
from duolog.plan.types import BIGINT, BYTES, DOUBLE, INT, Type

HISTOGRAM_MAX: Final = 1000

_ZERO: Final = literal(0.0)
_ONE: Final = literal(1)
_TWO: Final = literal(2)
_NAN: Final = literal(math.nan)
_EACH_ONCE: Final = literal(value=True)
_ALL: Final = literal(2**31 - 1)


def _count(kept: Accumulators, aggregate: Aggregate) -> Expression:
    if _is_distinct(aggregate):
        return distinct_of_all(kept, _arg(aggregate))
    return kept.count_rows() if aggregate.arg is None else kept.count(aggregate.arg)


def _sum(kept: Accumulators, aggregate: Aggregate) -> Expression:
    arg = _arg(aggregate)
    if _is_distinct(aggregate):
        return _distinct_total(kept, str(aggregate), arg)
    return _total(kept, arg, kept.type_of(arg))


def _sum_list(kept: Accumulators, aggregate: Aggregate) -> Expression:
    of_list = call("LIST_SUM", _arg(aggregate))
    return _total(kept, of_list, kept.type_of(of_list))


def _avg(kept: Accumulators, aggregate: Aggregate) -> Expression:
    arg = _arg(aggregate)
    of = BIGINT if kept.type_of(arg) in {INT, BIGINT} else DOUBLE
    count: Expression
    if _is_distinct(aggregate):
        value = Cast(arg, of)
        count, total = distinct_of_all(kept, value), _distinct_total(kept, str(aggregate), value)
    else:
        count, total = kept.count(arg), _total(kept, arg, of)
    mean = call("/", Cast(total, DOUBLE), Cast(count, DOUBLE))
    return call("IF", call("=", count, literal(0)), _ZERO, mean)


def _extreme(kept: Accumulators, aggregate: Aggregate, *, greatest: bool) -> Expression:
    return extreme(kept, str(aggregate), _arg(aggregate), greatest=greatest)


def _attr(kept: Accumulators, aggregate: Aggregate) -> Expression:
    """Store null like any other value, by wrapping values in a STRUCT."""
    name, value = str(aggregate), call("SORTABLE", _arg(aggregate))
    of = type_of(value, kept.scope)

    def alone(found: Expression) -> Expression:
        only = Item(Item(found, literal(0)), literal("sort_col"))
        return call("IF", call("IS_NULL", Item(found, _ONE)), only, null_of(kept.type_of(arg)))

    arg = _arg(aggregate)
    if kept.undo:
        return read_of_all(
            kept, name, value, Reading("VALUES_LEAST", _TWO, distinct=True, part=alone)
        )
    before = AccumulatorRef(name)
    kept.keep(
        name,
        BYTES,
        null_of(BYTES),
        add=call("VALUES_ADD_WITHIN", before, value, _TWO),
        merge=call("VALUES_MERGE", before, TableColumnRef(name), _TWO),
    )
    return alone(call("VALUES_LEAST", before, null_of(of), _TWO, _EACH_ONCE))


def _collect_list(kept: Accumulators, aggregate: Aggregate) -> Expression:
    return list_of(kept, str(aggregate), _arg(aggregate), option(aggregate, "limit"), nulls=True)


def _collect_set(kept: Accumulators, aggregate: Aggregate) -> Expression:
    name, arg, limit = str(aggregate), _arg(aggregate), option(aggregate, "limit")
    if kept.undo:
        return read_of_all(kept, name, arg, Reading("VALUES_LEAST", limit, distinct=True))
    return set_of(kept, name, arg, limit, nulls=True)


def _top(kept: Accumulators, aggregate: Aggregate, *, distinct: bool) -> Expression:
    value = arg = _arg(aggregate)
    if aggregate.others:
        value = unless_null(arg, call("SORTABLE", arg, *aggregate.others))
    return top_of(kept, str(aggregate), value, option(aggregate, "k"), distinct=distinct)


def _by_offset(kept: Accumulators, aggregate: Aggregate, *, first: bool) -> Expression:
    options, name, arg = dict(aggregate.options), str(aggregate), _arg(aggregate)
    nulls, many = not options.get("ignoreNulls", True), options.get("n")
    if many is None:
        return one_by_offset(kept, name, arg, first=first, nulls=nulls)
    assert isinstance(many, int), many
    return some_by_offset(kept, name, arg, many, first=first, nulls=nulls)


def _histogram(kept: Accumulators, aggregate: Aggregate) -> Expression:
    arg, name, limit = _arg(aggregate), str(aggregate), literal(HISTOGRAM_MAX)
    before = AccumulatorRef(name)
    kept.keep(
        name,
        BYTES,
        null_of(BYTES),
        add=call("VALUES_ADD_WITHIN", before, arg, limit),
        subtract=call("VALUES_SUBTRACT", before, arg),
        merge=call("VALUES_MERGE", before, TableColumnRef(name), limit),
    )
    return call("VALUES_COUNTS", before, null_of(kept.type_of(arg)), limit)


def _count_distinct(kept: Accumulators, aggregate: Aggregate) -> Expression:
    arg = _arg(aggregate)
    return distinct_of_all(kept, arg) if kept.undo else distinct_nearly(kept, str(aggregate), arg)


def _variance(kept: Accumulators, aggregate: Aggregate, *, root: bool) -> Expression:
    arg = _arg(aggregate)
    count = kept.count(arg)
    squares = _squares_around(kept, arg, count)
    spread = call("/", squares, Cast(call("-", count, _ONE), DOUBLE))
    found = call("SQRT", spread) if root else spread
    return call("IF", call("<", count, _TWO), _ZERO, found)


def _squares_around(kept: Accumulators, arg: Expression, count: AccumulatorRef) -> AccumulatorRef:
    """Add the sum of squares around the mean, by the method of Youngs and Cramer."""
    name, x = f"squares around {arg}", Cast(arg, DOUBLE)
    total = _total(kept, arg, DOUBLE)
    before, there = AccumulatorRef(name), TableColumnRef(count.name)
    n, more = Cast(count, DOUBLE), Cast(call("+", count, _ONE), DOUBLE)
    # Adding uses the sum that includes the new value, subtracting the sum before the removal.
    added = call("-", call("*", more, x), call("+", total, x))
    taken = call("-", call("*", n, x), total)
    pairs = call("*", n, Cast(call("-", count, _ONE), DOUBLE))
    apart = call(
        "-",
        call("*", Cast(there, DOUBLE), total),
        call("*", n, TableColumnRef(total.name)),
    )
    both = call("*", call("*", n, Cast(there, DOUBLE)), Cast(call("+", count, there), DOUBLE))
    sums = call("+", before, TableColumnRef(name))
    unknown = call("IS_NULL", arg)

    def unless(skip: Expression, otherwise: Expression, then: Expression) -> Expression:
        return call("IF", skip, otherwise, then)

    return kept.keep(
        name,
        DOUBLE,
        _ZERO,
        add=unless(
            call("OR", unknown, call("=", count, literal(0))),
            before,
            call("+", before, _quotient(added, call("*", more, n))),
        ),
        subtract=unless(
            unknown,
            before,
            unless(
                call("<=", count, _ONE),
                _ZERO,
                call("GREATEST", call("-", before, _quotient(taken, pairs)), _ZERO),
            ),
        ),
        merge=unless(call("=", both, _ZERO), sums, call("+", sums, _quotient(apart, both))),
    )


def _quotient(root: Expression, divisor: Expression) -> Expression:
    return call("/", call("*", root, root), divisor)


def _correlation(kept: Accumulators, aggregate: Aggregate) -> Expression:
    one, other = _arg(aggregate), aggregate.others[0]
    # Only records in which both are not null count.
    x = Cast(call("CASE", call("IS_NOT_NULL", other), one), DOUBLE)
    y = Cast(call("CASE", call("IS_NOT_NULL", one), other), DOUBLE)
    n = Cast(kept.count(x), DOUBLE)
    sum_x, sum_y = _total(kept, x, DOUBLE), _total(kept, y, DOUBLE)

    def together(left: Expression, right: Expression, *sums: Expression) -> Expression:
        products = _total(kept, call("*", left, right), DOUBLE)
        return call("-", call("*", n, products), call("*", *sums))

    spread = call("*", together(x, x, sum_x, sum_x), together(y, y, sum_y, sum_y))
    found = call("/", together(x, y, sum_x, sum_y), call("SQRT", spread))
    # A division by zero is null in the plan.
    return call("COALESCE", found, _NAN)


def _total(kept: Accumulators, arg: Expression, of: Type) -> AccumulatorRef:
    """Add the sum of the values that are not null, initially 0."""
    value = arg if kept.type_of(arg) == of else Cast(arg, of)
    zero = Cast(literal(0), of)
    part = call("COALESCE", value, zero)
    return kept.keep_sum(f"total({value})", of, zero, add=part, subtract=part)


def _distinct_total(kept: Accumulators, name: str, arg: Expression) -> AccumulatorRef:
    """Store all values, and the sum of the different ones, initially 0."""
    of = kept.type_of(arg)

    def total(found: Expression) -> Expression:
        return call("COALESCE", Cast(call("LIST_SUM", found), of), Cast(literal(0), of))

    return read_of_all(kept, name, arg, Reading("VALUES_LEAST", _ALL, distinct=True, part=total))


def _is_distinct(aggregate: Aggregate) -> bool:
    return bool(dict(aggregate.options).get("distinct"))


def _arg(aggregate: Aggregate) -> Expression:
    assert aggregate.arg is not None, aggregate
    return aggregate.arg


_FOLDS: Final[dict[str, Callable[[Accumulators, Aggregate], Expression]]] = {
    "ATTR": _attr,
    "AVG": _avg,
    "COLLECT_LIST": _collect_list,
    "COLLECT_SET": _collect_set,
    "CORRELATION": _correlation,
    "COUNT": _count,
    "COUNT_DISTINCT": _count_distinct,
    "EARLIEST_BY_OFFSET": partial(_by_offset, first=True),
    "HISTOGRAM": _histogram,
    "LATEST_BY_OFFSET": partial(_by_offset, first=False),
    "MAX": partial(_extreme, greatest=True),
    "MIN": partial(_extreme, greatest=False),
    "STDDEV_SAMP": partial(_variance, root=False),
    "STDDEV_SAMPLE": partial(_variance, root=True),
    "SUM": _sum,
    "SUM_LIST": _sum_list,
    "TOPK": partial(_top, distinct=False),
    "TOPKDISTINCT": partial(_top, distinct=True),
}
SQL_FOLDS: Final = {PREFIX + name: of for name, of in _FOLDS.items()}
"""The folds by the names that plans use."""
