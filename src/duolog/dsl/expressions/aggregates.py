"""Aggregate functions that store values of a group: first, greatest, lists, sets, counts, sketches.

    aggregate(cities=collect_set("city"), dearest=top_k("price", 3), p99=percentile("ms", 0.99))

Each docstring gives the state for a group, the handling of nulls, the behaviour over a grouped
table, from which old rows are subtracted, and the result when sessions are merged. State in the row
is rewritten with each record, or once per micro-batch. Over a table, values are stored in a tree:
up to 2 KiB of it in the row, the rest in pages of up to 4 KiB. A record rewrites one or two pages,
even if a group has a million values.
"""

from collections.abc import Sequence
from typing import Final, Literal

from duolog.core.counts import counted
from duolog.dsl.expressions.columns import Expr, to_expression
from duolog.dsl.handles.short_tracebacks import short_tracebacks_of
from duolog.plan.aggregates.arguments import own_name
from duolog.plan.errors import InvalidPlan
from duolog.plan.expressions import Aggregate, ColumnRef, Expression

LIMIT: Final = 1000
"""The default maximum number of values in a list, set, map or histogram."""

By = Literal["offset", "time"]


def first(
    column: Expr | str, n: int | None = None, *, by: By = "offset", nulls: bool = False
) -> Expr:
    """Return the first value of a group, or an ARRAY of the first `n`; for a table only by time.

    State: the value; by time also its timestamp. Nulls are ignored, or count as values with
    `nulls`. When sessions are merged, the earlier session comes first. A grouped table supports
    only `by="time"`: the value of the row that changed first, and among equal times the least
    value; all values are stored in a tree. Not supported over a join of tables, whose rows change
    their time: use a column instead, `top_k("changed_at", 1, "place")`.

    Args:
        column: any type; over a table, a type without a MAP inside.
        n: the number of values; by offset and over a stream only.
        by: "offset", in processing order, or "time", by the records' timestamps.
        nulls: count null as a value.

    Example:
        >>> first("place")
        <first(place, n=None, by='offset', nulls=False)>
        >>> last("place", 2)
        <last(place, n=2, by='offset', nulls=False)>
    """
    return _first_or_last("first", column, n, by, nulls=nulls)


def last(
    column: Expr | str, n: int | None = None, *, by: By = "offset", nulls: bool = False
) -> Expr:
    """Return the last value of a group, or an ARRAY of the last `n`, oldest first.

    Over a grouped table only by time.

    As `first`, from the other end: when sessions are merged, the later session wins. Over a grouped
    table, by time, it is the value of the row that changed last, and among equal times the greatest
    value.
    """
    return _first_or_last("last", column, n, by, nulls=nulls)


def collect_list(column: Expr | str, *, limit: int = LIMIT, nulls: bool = False) -> Expr:
    """Return the values of a group as an ARRAY in arrival order; values beyond `limit` are dropped.

    State: the list. Nulls are ignored, or collected with `nulls`. Merged sessions: the earlier
    session's values, then the later one's. Over a grouped table, the last equal value is removed
    for an old row (MAPs cannot be compared and are refused). A list that was full has dropped
    values: later removals may leave too few.

    Example:
        >>> collect_list("item")
        <collect_list(item, limit=1000, nulls=False)>
    """
    options = {"limit": _positive("limit", limit), "nulls": nulls}
    return _aggregate("collect_list", column, **options)


def collect_set(column: Expr | str, *, limit: int = LIMIT, nulls: bool = False) -> Expr:
    """Return the different values of a group as an ARRAY; over a stream in order of first arrival.

    State: the array. A new value beyond `limit` is dropped. Nulls are ignored, or count as a value
    with `nulls`. Over a grouped table: the `limit` least values in ascending order. All values are
    stored in a tree, so dropped ones reappear. Merged sessions: the earlier session's values, then
    new ones of the later. No MAPs.

    Example:
        >>> collect_set("city", limit=10)
        <collect_set(city, limit=10, nulls=False)>
    """
    options = {"limit": _positive("limit", limit), "nulls": nulls}
    return _aggregate("collect_set", column, **options)


def collect_map(key: Expr | str, value: Expr | str, *, limit: int = LIMIT) -> Expr:
    """Return a MAP with the last `value` for each `key` of a group.

    State: the map. A new key beyond `limit` is dropped; a null key is ignored, a null value is
    stored. Over a grouped table: the greatest value among rows with the same key, and the `limit`
    least keys; all pairs are stored in a tree. Merged sessions: the later session's values win.
    Keys have no MAP inside; formats can only write STRING keys.

    Example:
        >>> collect_map("item", "price")
        <collect_map(item, price, limit=1000)>
    """
    return _aggregate("collect_map", key, value, limit=_positive("limit", limit))


def histogram(column: Expr | str, *, limit: int = LIMIT) -> Expr:
    """Return the number of occurrences of each value of a group, as a MAP to BIGINT.

    State: each value and its count. A new value beyond `limit` is not counted; nulls are ignored.
    Over a grouped table: the `limit` least values; all values are stored in a tree. Merged
    sessions: the sums. Formats can only write MAPs with STRING keys.

    Example:
        >>> histogram("carrier")
        <histogram(carrier, limit=1000)>
    """
    return _aggregate("histogram", column, limit=_positive("limit", limit))


def top_k(column: Expr | str, k: int, *others: Expr | str) -> Expr:
    """Return the `k` greatest values of a group as an ARRAY, in descending order.

    With `others`, an ARRAY of STRUCTs whose fields are named after the columns; among equal values,
    those with the greater first other column come first. `alias` sets a field's name. An expression
    without a name becomes `sort_col`, or `col0`, `col1`, … among the others. State: the `k` values,
    also for merged sessions. Nulls are ignored. Over a grouped table: all values, in a tree, and
    the `k` greatest. No MAPs. NaN is the greatest DOUBLE.

    Example:
        >>> top_k("price", 3), top_k("price", 3, "item")
        (<top_k(price, k=3)>, <top_k(price, item, k=3)>)
    """
    options: dict[str, object] = {"k": _positive("k", k)}
    aliases = tuple(map(_alias, (column, *others)))
    if others and any(aliases):
        options["names"] = aliases
    return _aggregate("top_k", column, *others, **options)


def top_k_distinct(column: Expr | str, k: int) -> Expr:
    """Return the `k` greatest different values of a group as an ARRAY, descending. See `top_k`."""
    return _aggregate("top_k_distinct", column, k=_positive("k", k))


def count_distinct(column: Expr | str) -> Expr:
    """Count the different values of a group exactly; nulls are ignored.

    State: each value and its count, in a tree, also over a grouped table. In windows they are
    stored in one row, which is rewritten with each record: for more than a few thousand values use
    `approx_count_distinct`. Merged sessions: the union of both. No MAPs.

    Example:
        >>> count_distinct("user")
        <count_distinct(user)>
    """
    return _aggregate("count_distinct", column)


def approx_count_distinct(column: Expr | str) -> Expr:
    """Count the different values of a group approximately, with a standard error of 1.6 %.

    Few values are counted exactly.

    State: a HyperLogLog sketch of at most 2.6 KB, for any number of values. Nulls are ignored.
    Merged sessions: the union of both. Refused over a grouped table, because a sketch cannot
    subtract. No MAPs. `TopologyDriver` counts exactly.

    Example:
        >>> approx_count_distinct("user")
        <approx_count_distinct(user)>
    """
    return _aggregate("approx_count_distinct", column)


def percentile(column: Expr | str, at: float | Sequence[float]) -> Expr:
    """Return a percentile of a group as a DOUBLE, with an error of at most 1 %.

    `at` 0.5 is the median, 0 the minimum and 1 the maximum; several fractions return an ARRAY. An
    empty group is null; nulls are ignored. State: counts of buckets of values that differ by at
    most 1 %, seven or eight bytes for each of up to 116 buckets per decade, in one row. Adding,
    subtracting (over a grouped table) and merging sessions are exact: the result does not depend on
    the order.

    Example:
        >>> percentile("ms", 0.99), percentile("ms", [0.5, 0.9])
        (<percentile(ms, at=0.99)>, <percentile(ms, at=(0.5, 0.9))>)
    """
    several = isinstance(at, Sequence)
    fractions = tuple(float(one) for one in (at if isinstance(at, Sequence) else [at]))
    if not fractions or not all(0 <= one <= 1 for one in fractions):
        raise InvalidPlan(
            f"{at!r} is not a fraction", hint="Use fractions from 0 to 1: 0.5 is the median."
        )
    return _aggregate("percentile", column, at=fractions if several else fractions[0])


def variance(column: Expr | str, *, population: bool = False) -> Expr:
    """Return the variance of a group as a DOUBLE: of a sample, or of the whole `population`.

    State: count, mean, and the sum of squares around it. Null for fewer than two values (for none,
    with `population`); nulls are ignored. Over a grouped table old values are subtracted, with the
    rounding of DOUBLEs; an empty group starts from zero. After a NaN was added, the result stays
    NaN.

    Example:
        >>> variance("delay")
        <variance(delay, population=False)>
    """
    return _aggregate("variance", column, population=population)


def stddev(column: Expr | str, *, population: bool = False) -> Expr:
    """Return the standard deviation of a group, the square root of its `variance`."""
    return _aggregate("stddev", column, population=population)


def corr(x: Expr | str, y: Expr | str) -> Expr:
    """Return the correlation of two columns, from -1 to 1, over records in which neither is null.

    State: count, two means, three sums around them. Null if one of them is constant. Over a grouped
    table as `variance`.

    Example:
        >>> corr("distance", "delay")
        <corr(distance, delay)>
    """
    return _aggregate("corr", x, y)


def _first_or_last(
    function: str, column: Expr | str, n: int | None, by: By, *, nulls: bool
) -> Expr:
    if by not in {"offset", "time"}:
        raise InvalidPlan(f"cannot take the {function} by {by!r}", hint='Use "offset" or "time".')
    if n is not None and by == "time":
        raise InvalidPlan(
            f"cannot take the {function} {counted(n, 'value')} by time",
            hint='Use by="offset", or top_k(row_time(), n, column).',
        )
    n = None if n is None else _positive("n", n)
    return _aggregate(function, column, n=n, by=by, nulls=nulls)


def _positive(name: str, value: int) -> int:
    if not 0 < value < 2**31:
        raise InvalidPlan(f"{name}={value} is not a number of values", hint="Use at least 1.")
    return value


def _aggregate(function: str, column: Expr | str, *others: Expr | str, **options: object) -> Expr:
    columns = [_column(one) for one in (column, *others)]
    return Expr(Aggregate(function, columns[0], tuple(columns[1:]), tuple(options.items())))


def _alias(column: Expr | str) -> str | None:
    """Return the name that a user gave to a column, unless it is the column's own."""
    if not isinstance(column, Expr) or column.name == own_name(column.expression):
        return None
    return column.name


def _column(column: Expr | str) -> Expression:
    return ColumnRef(column) if isinstance(column, str) else to_expression(column)


short_tracebacks_of(globals())
