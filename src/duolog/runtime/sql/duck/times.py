"""Functions of dates and times in DuckDB: patterns of Java become those of `strftime`, as far as they have the same."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from duolog.plan.types import DATE, Type
from duolog.runtime.sql.duck.lowering import Lowering, literal_text, plain
from duolog.runtime.sql.duck.types import text

_LETTERS: Final = {
    "yyyy": "%Y", "uuuu": "%Y", "yy": "%y", "MM": "%m", "MMM": "%b", "MMMM": "%B", "dd": "%d", "HH": "%H", "hh": "%I",
    "mm": "%M", "ss": "%S", "SSS": "%g", "SSSSSS": "%f", "a": "%p", "EEE": "%a", "EEEE": "%A", "DDD": "%j",
}  # fmt: skip
_PARTS: Final = re.compile(r"'(?:[^']|'')*'|([A-Za-z])\1*|[^A-Za-z']+")
_DAY_MS: Final = 86_400_000
_MILLIS: Final = {
    "DAY": _DAY_MS,
    "HOUR": 3_600_000,
    "MINUTE": 60_000,
    "SECOND": 1000,
    "MILLISECOND": 1,
}


def strftime_pattern(pattern: str) -> str | None:
    """Return a pattern of Java's DateTimeFormatter in strftime's words, None where a part of it has none.

    Example:
        >>> strftime_pattern("yyyy-MM-dd'T'HH:mm:ss.SSS"), strftime_pattern("yyyy-qq")
        ('%Y-%m-%dT%H:%M:%S.%g', None)
    """
    parts: list[str] = []
    for part in _PARTS.finditer(pattern):
        written = part.group()
        if written == "''":
            parts.append("'")
        elif written.startswith("'"):
            parts.append(written[1:-1].replace("''", "'").replace("%", "%%"))
        elif not written[0].isalpha():
            parts.append(written.replace("%", "%%"))
        elif written in _LETTERS:
            parts.append(_LETTERS[written])
        else:
            return None
    return (
        "".join(parts)
        if sum(len(p.group()) for p in _PARTS.finditer(pattern)) == len(pattern)
        else None
    )


def _pattern(sql: str) -> str | None:
    said = literal_text(sql)
    found = None if said is None else strftime_pattern(said)
    return None if found is None else text(found)


def _in_utc(zone: Sequence[str]) -> bool:
    return not zone or literal_text(zone[0]) in {"UTC", "GMT", "Z"}


def _formatted(template: str) -> Lowering:
    """Return the lowering of what writes a time: `{0}` the value, `{1}` the pattern."""

    def lower(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str | None:
        pattern = _pattern(args[1])
        return template.format(args[0], pattern) if pattern and _in_utc(args[2:]) else None

    return lower


def _moved(args: Sequence[str], _types: Sequence[Type], result: Type) -> str | None:
    return _added(args[0], args[1], args[2], result)


def _moved_back(args: Sequence[str], _types: Sequence[Type], result: Type) -> str | None:
    return _added(args[0], f"(- {args[1]})", args[2], result)


def _added(unit: str, count: str, value: str, of: Type) -> str | None:
    name = (literal_text(unit) or "").removesuffix("S")
    if of.name == "TIME":
        if name not in _MILLIS:
            return None
        moved = f"({value} + CAST({count} AS BIGINT) * {_MILLIS[name]})"
        return f"CAST((({moved} % {_DAY_MS}) + {_DAY_MS}) % {_DAY_MS} AS INTEGER)"
    if name == "YEAR":
        interval = f"to_years({count})"
    elif name == "MONTH":
        interval = f"to_months({count})"
    elif name in _MILLIS:
        interval = f"to_microseconds(CAST({count} AS BIGINT) * {_MILLIS[name] * 1000})"
    else:
        return None
    return f"CAST(({value} + {interval}) AS {'DATE' if of == DATE else 'TIMESTAMP'})"


def _or_now(of_value: str, of_now: str) -> Lowering:
    return lambda args, _types, _result: of_value.format(*args) if args else of_now


_NOW_MS: Final = "epoch_ms(now())"
TIME_FUNCTIONS: Final[Mapping[str, Lowering]] = {
    "DATEADD": _moved,
    "DATESUB": _moved_back,
    "TIMEADD": _moved,
    "TIMESUB": _moved_back,
    "TIMESTAMPADD": _moved,
    "TIMESTAMPSUB": _moved_back,
    "FORMAT_DATE": _formatted("strftime({0}, {1})"),
    "FORMAT_TIME": _formatted("strftime(make_timestamp_ms({0}), {1})"),
    "FORMAT_TIMESTAMP": _formatted("strftime({0}, {1})"),
    "PARSE_DATE": _formatted("CAST(try_strptime({0}, {1}) AS DATE)"),
    "PARSE_TIMESTAMP": _formatted("try_strptime({0}, {1})"),
    "FROM_DAYS": plain("(DATE '1970-01-01' + CAST({0} AS INTEGER))"),
    "FROM_UNIXTIME": plain("make_timestamp_ms({0})"),
    "UNIX_DATE": _or_now(
        "CAST({0} - DATE '1970-01-01' AS INTEGER)", f"CAST({_NOW_MS} // {_DAY_MS} AS INTEGER)"
    ),
    "UNIX_TIMESTAMP": _or_now("epoch_ms({0})", _NOW_MS),
    "DATETOSTRING": _formatted("strftime(DATE '1970-01-01' + {0}, {1})"),
    "STRINGTODATE": _formatted(
        "CAST(CAST(try_strptime({0}, {1}) AS DATE) - DATE '1970-01-01' AS INTEGER)"
    ),
    "STRINGTOTIMESTAMP": _formatted("epoch_ms(try_strptime({0}, {1}))"),
    "TIMESTAMPTOSTRING": _formatted("strftime(make_timestamp_ms({0}), {1})"),
}
