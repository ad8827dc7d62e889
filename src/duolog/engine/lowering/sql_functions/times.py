"""Functions of dates, times of day and timestamps."""

from collections.abc import Mapping, Sequence
from typing import Final

from duolog.engine.lowering.sql_functions.lowering import Lowering, plain
from duolog.plan.types import Type

_ZONE: Final = "'UTC'"


def _moved(name: str, sign: str) -> Lowering:
    moved = f"duolog_add_to_{name}({{0}}, {sign}({{1}}), {{2}})"
    return plain(moved if name == "time" else f"duolog_near_{name}({moved})")


def _with_zone(template: str) -> Lowering:
    """Return the lowering of a function of a value, a pattern and an optional zone."""

    def lower(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
        value, pattern, *zone = args
        return template.format(value, pattern, zone[0] if zone else _ZONE)

    return lower


def _or_now(of_value: str, of_now: str) -> Lowering:
    return lambda args, _types, _result: of_value.format(*args) if args else of_now


TIME_FUNCTIONS: Final[Mapping[str, Lowering]] = {
    "CONVERT_TZ": plain("duolog_near_timestamp(duolog_convert_zone({0}, {1}, {2}))"),
    "DATEADD": _moved("date", ""),
    "DATESUB": _moved("date", "-"),
    "TIMEADD": _moved("time", ""),
    "TIMESUB": _moved("time", "-"),
    "TIMESTAMPADD": _moved("timestamp", ""),
    "TIMESTAMPSUB": _moved("timestamp", "-"),
    "FORMAT_DATE": plain("duolog_date_text({0}, {1})"),
    "FORMAT_TIME": plain("duolog_time_text({0}, {1})"),
    "FORMAT_TIMESTAMP": _with_zone("duolog_timestamp_text({}, {}, {})"),
    "PARSE_DATE": plain("duolog_near_date(duolog_text_date({0}, {1}))"),
    "PARSE_TIME": plain("duolog_text_time({0}, {1})"),
    "PARSE_TIMESTAMP": _with_zone(
        "duolog_near_timestamp(timestamp_millis(duolog_text_millis({}, {}, {})))"
    ),
    "FROM_DAYS": plain("duolog_near_date(date_from_unix_date({0}))"),
    "FROM_UNIXTIME": plain("duolog_near_timestamp(timestamp_millis({0}))"),
    "UNIX_DATE": _or_now("unix_date({0})", "CAST(floor(duolog_now() / 86400000) AS INT)"),
    "UNIX_TIMESTAMP": _or_now("unix_millis({0})", "duolog_now()"),
    "DATETOSTRING": plain("duolog_days_text({0}, {1})"),
    "STRINGTODATE": plain("duolog_text_days({0}, {1})"),
    "STRINGTOTIMESTAMP": _with_zone("duolog_text_millis({}, {}, {})"),
    "TIMESTAMPTOSTRING": _with_zone("duolog_millis_text({}, {}, {})"),
}
