"""Lower functions of dates and times to DuckDB.

Functions with Java patterns are in `sql.functions`.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from duolog.plan.sql.time_patterns import supported_parts_of
from duolog.plan.types import INT, Type
from duolog.runtime.sql.duck.lowering import Lowering, plain, python
from duolog.runtime.sql.duck.operators import OPERATORS
from duolog.runtime.sql.functions.lenient_dates import read_date
from duolog.runtime.sql.functions.registry import called
from duolog.serde.times import DAYS_MAX, DAYS_MIN, MILLISECONDS_MAX, MILLISECONDS_MIN

_DAY_MS: Final = 86_400_000


def _moved(of: str, sign: str = "") -> Lowering:
    def lower(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
        unit, count, value = args
        back = OPERATORS["NEGATE"]([count], [INT], INT) if sign else count
        assert back is not None, "whole numbers have opposites"
        return called(f"added_to_{of}", (unit, back, value))

    return lower


def _or_now(of_value: str, of_now: str) -> Lowering:
    return lambda args, _types, _result: of_value.format(*args) if args else of_now


_NOW_MS: Final = "epoch_ms(now())"
TIME_FUNCTIONS: Final[Mapping[str, Lowering]] = {
    "DATEADD": _moved("date"),
    "DATESUB": _moved("date", "-"),
    "TIMEADD": _moved("time"),
    "TIMESUB": _moved("time", "-"),
    "TIMESTAMPADD": _moved("timestamp"),
    "TIMESTAMPSUB": _moved("timestamp", "-"),
    "CONVERT_TZ": python("convert_zone"),
    "FORMAT_DATE": python("date_text"),
    "FORMAT_TIME": python("time_text"),
    "FORMAT_TIMESTAMP": python("timestamp_text"),
    "PARSE_DATE": python("text_date", 1, partial(read_date, "")),
    "PARSE_TIME": python("text_time", 1, supported_parts_of),
    "PARSE_TIMESTAMP": python("text_timestamp", 1, supported_parts_of),
    "FROM_DAYS": plain(
        f"CASE WHEN {{0}} BETWEEN {DAYS_MIN} AND {DAYS_MAX} THEN DATE '1970-01-01' + "
        f"CAST({{0}} AS INTEGER) END"
    ),
    "FROM_UNIXTIME": plain(
        f"CASE WHEN {{0}} BETWEEN {MILLISECONDS_MIN} AND {MILLISECONDS_MAX} THEN "
        f"make_timestamp_ms({{0}}) END"
    ),
    "UNIX_DATE": _or_now(
        "CAST({0} - DATE '1970-01-01' AS INTEGER)", f"CAST({_NOW_MS} // {_DAY_MS} AS INTEGER)"
    ),
    "UNIX_TIMESTAMP": _or_now("epoch_ms({0})", _NOW_MS),
    "DATETOSTRING": python("days_text"),
    "STRINGTODATE": python("text_days", 1, supported_parts_of),
    "STRINGTOTIMESTAMP": python("text_millis", 1, supported_parts_of),
    "TIMESTAMPTOSTRING": python("millis_text"),
}
