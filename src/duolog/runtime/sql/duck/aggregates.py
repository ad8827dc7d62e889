"""Lower aggregate and window functions to DuckDB.

- ksqlDB's functions have its types: SUM of INTEGERs is an INTEGER, and STDDEV_SAMP is a variance.
- DuckDB's own are MEDIAN, ANY_VALUE, ARG_MIN, ARG_MAX, STDDEV_POP, VAR_SAMP and VAR_POP.
- ROW_NUMBER, RANK, DENSE_RANK, PERCENT_RANK, CUME_DIST, NTILE, LAG, LEAD, FIRST_VALUE, LAST_VALUE
  and NTH_VALUE need OVER (…).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from duolog.plan.types import (
    BIGINT,
    DOUBLE,
    INT,
    STRING,
    Array,
    Decimal,
    Map,
    Type,
    numeric,
)
from duolog.runtime.sql.duck.casts import wrapped
from duolog.runtime.sql.duck.types import duck_type
from duolog.runtime.sql.functions.registry import called

_EXACT_DIGITS_MAX: Final = 28
"""Sums of DECIMALs with more digits may exceed DuckDB's maximum of 38."""

_SQUARE_MAX: Final = "1e150"
"""Squares of smaller numbers, and sums of them, are finite."""
_OVER: Final = " OVER "

TypeOf = Callable[[Sequence[Type]], Type]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate function: DuckDB's call, a conversion of its result, and the result type.

    `call` has placeholders for arguments (`{0}`, …, or `{all}`, with DISTINCT if it is given;
    `{once}` is DISTINCT or nothing), `result` one for the call with its FILTER and OVER.
    """

    call: str
    type_of: TypeOf
    arguments: tuple[int, int] = (1, 1)
    """Minimal and maximal number of arguments."""
    result: str = "{call}"
    numbers: bool = False
    """True if it accepts only numbers."""
    zero_of_nothing: bool = False
    """True if the spread of at most one value is 0, as in ksqlDB, instead of null."""


def _always(of: Type) -> TypeOf:
    return lambda _types: of


def _first(types: Sequence[Type]) -> Type:
    return types[0]


def _array(types: Sequence[Type]) -> Type:
    return Array(types[0])


def _element(types: Sequence[Type]) -> Type:
    return types[0].element if isinstance(types[0], Array) else DOUBLE


_THE_ONLY: Final = (
    "CASE WHEN len(list_filter({call}, lambda e: e IS DISTINCT FROM "
    "({call})[1])) = "
    "0 THEN ({call})[1] END"
)


_GREATEST_FIRST: Final = (
    "list_slice(list_reverse_sort(list_filter(coalesce({call}, "
    "[]), lambda e: "
    "e IS NOT NULL)), 1, {1})"
)


def _plain(name: str, of: TypeOf, *, numbers: bool = False) -> Aggregate:
    return Aggregate(f"{name}({{all}})", of, numbers=numbers)


_OF_NUMBER: Final = _always(DOUBLE)

AGGREGATES: Final[Mapping[str, Aggregate]] = {
    "COUNT": Aggregate("count({all})", _always(BIGINT), (0, 1)),
    "COUNT_DISTINCT": Aggregate("count(DISTINCT {0})", _always(BIGINT)),
    "SUM": Aggregate("sum({all})", _first, result="CAST({call} AS {type})", numbers=True),
    "AVG": Aggregate("avg({all})", _OF_NUMBER, numbers=True),
    "MIN": _plain("min", _first),
    "MAX": _plain("max", _first),
    "COLLECT_LIST": _plain("list", _array),
    "COLLECT_SET": Aggregate("list(DISTINCT {0})", _array),
    "STDDEV_SAMPLE": Aggregate(
        "stddev_samp({all})", _OF_NUMBER, numbers=True, zero_of_nothing=True
    ),
    "STDDEV_SAMP": Aggregate("var_samp({all})", _OF_NUMBER, numbers=True, zero_of_nothing=True),
    "STDDEV_POP": _plain("stddev_pop", _OF_NUMBER, numbers=True),
    "VAR_SAMP": _plain("var_samp", _OF_NUMBER, numbers=True),
    "VAR_POP": _plain("var_pop", _OF_NUMBER, numbers=True),
    "MEDIAN": _plain("median", _OF_NUMBER, numbers=True),
    "CORRELATION": Aggregate("corr({all})", _OF_NUMBER, (2, 2), numbers=True),
    "TOPK": Aggregate("max({all})", _array, (2, 2), "coalesce({call}, [])"),
    "TOPKDISTINCT": Aggregate("list(DISTINCT {0})", _array, (2, 2), _GREATEST_FIRST),
    "HISTOGRAM": Aggregate(
        "histogram({all})",
        _always(Map(STRING, BIGINT)),
        result="CAST(coalesce({call}, MAP {{}}) AS {type})",
    ),
    "ATTR": Aggregate("list({0})", _first, result=_THE_ONLY),
    "SUM_LIST": Aggregate("sum(list_sum({0}))", _element, result="CAST({call} AS {type})"),
    "ANY_VALUE": _plain("any_value", _first),
    "ARG_MIN": Aggregate("arg_min({all})", _first, (2, 2)),
    "ARG_MAX": Aggregate("arg_max({all})", _first, (2, 2)),
}
_SPREADS: Final = tuple(
    AGGREGATES[name]
    for name in ("STDDEV_SAMP", "STDDEV_SAMPLE", "STDDEV_POP", "VAR_SAMP", "VAR_POP")
)
OVER_ONLY: Final[Mapping[str, Aggregate]] = {
    "ROW_NUMBER": Aggregate("row_number()", _always(BIGINT), (0, 0)),
    "RANK": Aggregate("rank()", _always(BIGINT), (0, 0)),
    "DENSE_RANK": Aggregate("dense_rank()", _always(BIGINT), (0, 0)),
    "PERCENT_RANK": Aggregate("percent_rank()", _always(DOUBLE), (0, 0)),
    "CUME_DIST": Aggregate("cume_dist()", _always(DOUBLE), (0, 0)),
    "NTILE": Aggregate("ntile({0})", _always(BIGINT)),
    "LAG": Aggregate("lag({all})", _first, (1, 3)),
    "LEAD": Aggregate("lead({all})", _first, (1, 3)),
    "FIRST_VALUE": Aggregate("first_value({all})", _first),
    "LAST_VALUE": Aggregate("last_value({all})", _first),
    "NTH_VALUE": Aggregate("nth_value({all})", _first, (2, 2)),
}


def takes(aggregate: Aggregate, types: Sequence[Type]) -> bool:
    """Return true if an aggregate accepts arguments of these types."""
    least, most = aggregate.arguments
    if not least <= len(types) <= most:
        return False
    if aggregate.type_of is _element:
        return isinstance(types[0], Array) and numeric(types[0].element)
    return not aggregate.numbers or all(numeric(of) for of in types)


def _sum(aggregate: Aggregate, given: Type, of: Type) -> Aggregate:
    """Return how a sum is called and converted.

    As in ksqlDB, the sum of no values is 0, whole numbers wrap as in Java, and a DECIMAL that
    overflows is null.
    """
    if of in {INT, BIGINT}:
        return replace(aggregate, result=wrapped("CAST(coalesce({call}, 0) AS HUGEINT)", of))
    if isinstance(given, Decimal) and given.precision > _EXACT_DIGITS_MAX:
        total = called("decimal_sum", ("coalesce({call}, [])",))
        return replace(
            aggregate,
            call="list({once}CAST({0} AS VARCHAR))",
            result=f"TRY_CAST({total} AS {{type}})",
        )
    return replace(aggregate, result="TRY_CAST(coalesce({call}, 0) AS {type})")


def written(
    aggregate: Aggregate, args: Sequence[str], types: Sequence[Type], suffix: str, *, distinct: bool
) -> tuple[str, Type]:
    """Return a call in DuckDB's SQL, and its result type.

    Args:
        aggregate: the function.
        args: its arguments in DuckDB's SQL; none means `*`.
        types: their types.
        suffix: FILTER (…) and OVER (…), or empty.
        distinct: true if equal values count once.
    """
    of = aggregate.type_of(types)
    is_sum_list = aggregate == AGGREGATES["SUM_LIST"]
    if is_sum_list or aggregate == AGGREGATES["SUM"]:
        aggregate = _sum(aggregate, types[0], of)
    once = "DISTINCT " if distinct else ""
    given = f"{once}{', '.join(args)}" if args else "*"
    if aggregate in _SPREADS:
        return _spread(aggregate, args[0], suffix, once), of
    if aggregate == AGGREGATES["CORRELATION"]:
        return (_correlation_of_distinct if distinct else _correlation)(args, suffix), of
    if aggregate == AGGREGATES["AVG"]:
        return _mean(args[0], types[0], suffix, once), of
    call = aggregate.call.format(*args, all=given, once=once) + suffix
    if distinct and is_sum_list:  # Two lists may have the same sum.
        call = f"list_sum(list_transform(list({given}){suffix}, lambda e: list_sum(e)))"
    return aggregate.result.format(*args, call=call, type=duck_type(of)), of


def _mean(arg: str, of: Type, suffix: str, once: str) -> str:
    """Return the mean, 0 for no values; as in ksqlDB, sums of BIGINTs wrap."""
    if of == BIGINT:
        total = wrapped(f"CAST(sum({once}{arg}){suffix} AS HUGEINT)", BIGINT)
        return f"coalesce({total} / count({once}{arg}){suffix}, 0)"
    if once and isinstance(of, Decimal):  # Those that differ may be the same DOUBLE.
        number = "lambda e: CAST(e AS DOUBLE)"
        return f"coalesce(list_avg(list_transform(list({once}{arg}){suffix}, {number})), 0)"
    return f"coalesce(avg({once}CAST({arg} AS DOUBLE)){suffix}, 0)"


def _spread(aggregate: Aggregate, arg: str, suffix: str, once: str) -> str:
    """Return a variance or standard deviation.

    DuckDB raises an error if it is infinite or NaN. Then ksqlDB's functions are computed value by
    value in Python; DuckDB's own functions, and those over frames, return NaN.
    """
    number = f"CAST({arg} AS DOUBLE)"
    small = f"CASE WHEN abs({number}) < {_SQUARE_MAX} THEN {number} END"
    found = f"{aggregate.call.format(all=once + small)}{suffix}"
    has_others = f"count({number}){suffix} > count({small}){suffix}"
    others = "CAST('NaN' AS DOUBLE)"
    if aggregate.zero_of_nothing:
        found = f"coalesce({found}, 0)"
        if _OVER not in suffix:
            others = called("variance", (f"list({once}{number}){suffix}",))
            others = f"sqrt({others})" if aggregate == AGGREGATES["STDDEV_SAMPLE"] else others
    return f"CASE WHEN {has_others} THEN {others} ELSE {found} END"


def _correlation_of_distinct(args: Sequence[str], suffix: str) -> str:
    """Return the correlation; NaN without a finite result, as for huge numbers."""
    x, y = (f"CAST({arg} AS DOUBLE)" for arg in args)
    large = f"greatest(abs({x}), abs({y})) >= {_SQUARE_MAX}"
    has_large = f"count(CASE WHEN {large} THEN 1 END){suffix} > 0"
    small_x, small_y = (f"CASE WHEN NOT {large} THEN {one} END" for one in (x, y))
    found = f"corr(DISTINCT {small_x}, {small_y}){suffix}"
    return f"CASE WHEN {has_large} OR {found} IS NULL THEN CAST('NaN' AS DOUBLE) ELSE {found} END"


def _correlation(args: Sequence[str], suffix: str) -> str:
    """Return Pearson's coefficient, from the same sums as for tables, which cost some digits."""
    one, other = (f"CAST({arg} AS DOUBLE)" for arg in args)
    x = f"CASE WHEN {other} IS NOT NULL THEN {one} END"
    y = f"CASE WHEN {one} IS NOT NULL THEN {other} END"
    n, sum_x, sum_y = f"count({x}){suffix}", f"sum({x}){suffix}", f"sum({y}){suffix}"

    def together(left: str, right: str, *sums: str) -> str:
        return f"({n} * sum({left} * {right}){suffix} - {sums[0]} * {sums[1]})"

    spread = f"({together(x, x, sum_x, sum_x)} * {together(y, y, sum_y, sum_y)})"
    # There is no quotient if the root is 0 or its argument negative.
    root = f"CASE WHEN {spread} > 0 THEN sqrt({spread}) END"
    return f"coalesce({together(x, y, sum_x, sum_y)} / ({root}), CAST('NaN' AS DOUBLE))"
