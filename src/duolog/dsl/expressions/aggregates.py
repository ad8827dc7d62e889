"""Aggregate functions that keep values of a group: the first, the greatest, lists, sets, counts, sketches.

    aggregate(cities=collect_set("city"), dearest=top_k("price", 3), p99=percentile("ms", 0.99))

Each says what it keeps for a group (its state), what it does with nulls, over a grouped table, where old
rows are taken back, and in sessions that become one. What is kept in a row is written anew with each record, or
once in a micro-batch. Of a table, values are kept in a tree: up to 2 KiB of it in the row, the rest
in pages of up to 4 KiB, of which a record rewrites one or two, also where a group has a million values.
"""

from collections.abc import Sequence
from typing import Final, Literal

from duolog.dsl.expressions.columns import Expr, to_expression
from duolog.dsl.handles.short_tracebacks import short_tracebacks_of
from duolog.plan.aggregates.collecting import own_name
from duolog.plan.errors import InvalidPlan
from duolog.plan.expressions import Aggregate, ColumnRef, Expression

LIMIT: Final = 1000
"""How many values a list, set, map or histogram holds where nothing is said."""

By = Literal["offset", "time"]


def first(
    column: Expr | str, n: int | None = None, *, by: By = "offset", nulls: bool = False
) -> Expr:
    """Return the first value of a group, or an ARRAY of the first `n`; of a grouped table by time only.

    State: the value; by time also its timestamp. Nulls are passed over, or with `nulls` count as values.
    In sessions that become one, the earlier session's comes first. Over a grouped table only `by="time"`: the
    value of the row that changed first, of equal times the least; all values are kept in a tree. Not over a
    join of tables, whose rows change their time: ask by a column, `top_k("changed_at", 1, "place")`.

    Args:
        column: any type; over a table, one that has no MAP inside.
        n: how many, by offset and over a stream.
        by: "offset", in the order in which records are processed, or "time", of their timestamps.
        nulls: whether null is a value.

    Example:
        >>> first("place"), last("place", 2)
        (<first(place, n=None, by='offset', nulls=False)>, <last(place, n=2, by='offset', nulls=False)>)
    """
    return _first_or_last("first", column, n, by, nulls=nulls)


def last(
    column: Expr | str, n: int | None = None, *, by: By = "offset", nulls: bool = False
) -> Expr:
    """Return the last value of a group, or an ARRAY of the last `n`, the oldest in front; of a grouped table by time only.

    As `first`, from the other end: in sessions that become one the later session's wins, and over a
    grouped table, by time, the value of the row that changed last, of equal times the greatest.
    """
    return _first_or_last("last", column, n, by, nulls=nulls)


def collect_list(column: Expr | str, *, limit: int = LIMIT, nulls: bool = False) -> Expr:
    """Return the values of a group as an ARRAY in the order in which they came; what comes beyond `limit` is left out.

    State: the list. Nulls are passed over, or with `nulls` collected. Sessions that become one: the earlier one's
    values, then the later one's. Over a grouped table an old value is taken out where an equal one stands last
    (MAPs are not compared: refused). A list that was full has forgotten values: what is taken back later
    may leave too few.

    Example:
        >>> collect_list("item")
        <collect_list(item, limit=1000, nulls=False)>
    """
    options = {"limit": _positive("limit", limit), "nulls": nulls}
    return _aggregate("collect_list", column, **options)


def collect_set(column: Expr | str, *, limit: int = LIMIT, nulls: bool = False) -> Expr:
    """Return the different values of a group as an ARRAY; over a stream in the order in which they came first.

    State: the array. A new value beyond `limit` is left out. Nulls are passed over, or with `nulls` are a value. Over a
    grouped table: the `limit` least, ascending, of all values, which are kept in a tree; so what was left out comes back.
    Sessions that become one: the earlier one's values, then what is new in the later one. No MAPs.

    Example:
        >>> collect_set("city", limit=10)
        <collect_set(city, limit=10, nulls=False)>
    """
    options = {"limit": _positive("limit", limit), "nulls": nulls}
    return _aggregate("collect_set", column, **options)


def collect_map(key: Expr | str, value: Expr | str, *, limit: int = LIMIT) -> Expr:
    """Return a MAP of a group: for each `key` the last `value`.

    State: the map. A new key beyond `limit` is left out; a null key is passed over, a null value is kept. Over a
    grouped table: of rows with one key the greatest value, and the `limit` least keys; all pairs are kept in a tree.
    Sessions that become one: the later one's values win. Keys without a MAP inside; formats write those of type STRING.

    Example:
        >>> collect_map("item", "price")
        <collect_map(item, price, limit=1000)>
    """
    return _aggregate("collect_map", key, value, limit=_positive("limit", limit))


def histogram(column: Expr | str, *, limit: int = LIMIT) -> Expr:
    """Return how often each value of a group is there, as a MAP of BIGINT.

    State: each value and its count. A new value beyond `limit` is not counted; nulls are passed over. Over a
    grouped table: the `limit` least values of all, which are kept in a tree. Sessions that become one: the sums. Formats
    write MAPs whose keys are STRING.

    Example:
        >>> histogram("carrier")
        <histogram(carrier, limit=1000)>
    """
    return _aggregate("histogram", column, limit=_positive("limit", limit))


def top_k(column: Expr | str, k: int, *others: Expr | str) -> Expr:
    """Return the `k` greatest values of a group as an ARRAY, the greatest first.

    With `others`, an ARRAY of STRUCTs, whose fields are named as the columns are; of equal values those with the
    greater first other come first. A name is given by `alias`; an expression without one is `sort_col`, and among the others
    `col0`, `col1`, … State: the `k` values, also over sessions that become one. Nulls are passed over. Over a
    grouped table: all values, in a tree, and the `k`. No MAPs. A NaN is the greatest DOUBLE.

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
    """Return the `k` greatest different values of a group as an ARRAY, the greatest first. As `top_k`."""
    return _aggregate("top_k_distinct", column, k=_positive("k", k))


def count_distinct(column: Expr | str) -> Expr:
    """Count the different values of a group, exactly; nulls are passed over.

    State: each value and its count, in a tree, also over a grouped table. In windows they stand in one row, which is written
    anew with each record: where there are more than some thousands, take `approx_count_distinct`. Sessions
    that become one: what both have. No MAPs.

    Example:
        >>> count_distinct("user")
        <count_distinct(user)>
    """
    return _aggregate("count_distinct", column)


def approx_count_distinct(column: Expr | str) -> Expr:
    """Count the different values of a group, nearly: the standard error is 1.6 %, and few values are counted exactly.

    State: a HyperLogLog sketch of at most 2.6 KB, whatever there is. Nulls are passed over. Sessions that become one:
    what both have. Refused over a grouped table, as nothing can be taken back from it. No MAPs. `TopologyDriver` counts exactly.

    Example:
        >>> approx_count_distinct("user")
        <approx_count_distinct(user)>
    """
    return _aggregate("approx_count_distinct", column)


def percentile(column: Expr | str, at: float | Sequence[float]) -> Expr:
    """Return the value that stands at a fraction of a group's ranks, within 1 % of it, as a DOUBLE.

    `at` 0.5 is the median, 0 the least and 1 the greatest value; of several fractions an ARRAY. Null of nothing; nulls
    are passed over. State: counts of buckets of values that are alike to 1 %: seven or eight bytes for each of up to 116
    buckets between a number and its tenfold, in one row. Exact to add, to take back over a grouped table, and for
    sessions that become one: the result does not depend on the order.

    Example:
        >>> percentile("ms", 0.99), percentile("ms", [0.5, 0.9])
        (<percentile(ms, at=0.99)>, <percentile(ms, at=(0.5, 0.9))>)
    """
    several = isinstance(at, Sequence)
    fractions = tuple(float(one) for one in (at if isinstance(at, Sequence) else [at]))
    if not fractions or not all(0 <= one <= 1 for one in fractions):
        raise InvalidPlan(
            f"no percentile at {at!r}", hint="Fractions are from 0 to 1: 0.5 is the median."
        )
    return _aggregate("percentile", column, at=fractions if several else fractions[0])


def variance(column: Expr | str, *, population: bool = False) -> Expr:
    """Return the variance of a group as a DOUBLE: of a sample, or of the whole `population`.

    State: count, mean, squares around it. Null of fewer than two values (of none, of a population); nulls are passed over. Over a
    grouped table old values are taken back, with the rounding of DOUBLEs; an empty group starts anew. A NaN that was added stays.

    Example:
        >>> variance("delay")
        <variance(delay, population=False)>
    """
    return _aggregate("variance", column, population=population)


def stddev(column: Expr | str, *, population: bool = False) -> Expr:
    """Return the standard deviation of a group, the root of its `variance`."""
    return _aggregate("stddev", column, population=population)


def corr(x: Expr | str, y: Expr | str) -> Expr:
    """Return the correlation of two columns in a group, from -1 to 1, over records in which neither is null.

    State: count, two means, three sums around them. Null where one of them does not vary. Over a grouped table as `variance`.

    Example:
        >>> corr("distance", "delay")
        <corr(distance, delay)>
    """
    return _aggregate("corr", x, y)


def _first_or_last(
    function: str, column: Expr | str, n: int | None, by: By, *, nulls: bool
) -> Expr:
    if by not in {"offset", "time"}:
        raise InvalidPlan(f"cannot take the {function} by {by!r}", hint='By "offset" or "time".')
    if n is not None and by == "time":
        raise InvalidPlan(
            f"cannot keep the {function} {n} values by time",
            hint='Take them by="offset", or top_k(row_time(), n, column).',
        )
    n = None if n is None else _positive("n", n)
    return _aggregate(function, column, n=n, by=by, nulls=nulls)


def _positive(name: str, value: int) -> int:
    if not 0 < value < 2**31:
        raise InvalidPlan(f"{name}={value} is no number of values", hint="It is 1 or more.")
    return value


def _aggregate(function: str, column: Expr | str, *others: Expr | str, **options: object) -> Expr:
    columns = [_column(one) for one in (column, *others)]
    return Expr(Aggregate(function, columns[0], tuple(columns[1:]), tuple(options.items())))


def _alias(column: Expr | str) -> str | None:
    """Return the name that a user has given a column, if it is not its own."""
    if not isinstance(column, Expr) or column.name == own_name(column.expression):
        return None
    return column.name


def _column(column: Expr | str) -> Expression:
    return ColumnRef(column) if isinstance(column, str) else to_expression(column)


short_tracebacks_of(globals())
