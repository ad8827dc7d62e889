"""Lower CAST to DuckDB; null if a value cannot be converted, as in `engine.sql_functions.casts`.

Differences between DuckDB and Java are corrected: 1.5 is not a whole number, and TIME is a number
here.
"""

from collections.abc import Sequence
from typing import Final

from duolog.plan.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    NULL,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Decimal,
    Map,
    Struct,
    Type,
)
from duolog.runtime.sql.duck.types import duck_type, text
from duolog.runtime.sql.functions.registry import called

_TRUE: Final = "^(t(r(ue?)?)?|y(es?)?)$"
_WHOLE: Final = "^[+-]?[0-9]+$"
_TIME: Final = "^([01]?[0-9]|2[0-3]):[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?$"
_DAY_MS: Final = 86_400_000
_BITS: Final = {INT: 32, BIGINT: 64}
LEAST: Final = {INT: -(2**31), BIGINT: "(-9223372036854775807 - 1)"}
_YEAR: Final = "^[0-9]{4}(-.*)?$"


def lower_cast(args: Sequence[str], types: Sequence[Type], result: Type) -> str | None:
    return cast(args[0], types[0], result)


def cast(  # noqa: PLR0911 - a table of cases
    value: str, given: Type, wanted: Type, depth: int = 0
) -> str:
    """Convert a value to another type, in DuckDB's SQL; null if that is not possible."""
    if given == wanted:
        return value
    if given == NULL:
        return f"CAST(NULL AS {duck_type(wanted)})"
    name = f"x{depth}"
    match given, wanted:
        case Array(element=one), Array(element=other):
            return f"list_transform({value}, lambda {name}: {cast(name, one, other, depth + 1)})"
        case Map(key=k1, value=v1), Map(key=k2, value=v2):
            parts = (
                f"key := {cast(f'{name}.key', k1, k2, depth + 1)}, value := "
                f"{cast(f'{name}.value', v1, v2, depth + 1)}"
            )
            entries = f"list_transform(map_entries({value}), lambda {name}: struct_pack({parts}))"
            return f"map_from_entries({entries})"
        case Struct(), Struct():
            return _struct(value, given, wanted, depth)
        case _ if wanted == STRING:
            return written(value, given, depth)
        case _ if given == STRING:
            return _read(value, wanted)
        case _ if given == TIMESTAMP and wanted == TIME:
            return (
                f"CAST(epoch_ms({value}) - floor(epoch_ms({value}) / {_DAY_MS}) * "
                f"{_DAY_MS} AS INTEGER)"
            )
        case _ if given == DOUBLE and wanted in {INT, BIGINT}:
            return nearest(value, wanted)
        case _ if wanted == INT and given == BIGINT:
            return wrapped(f"CAST({value} AS HUGEINT)", wanted)
        case _ if isinstance(given, Decimal) and wanted in {INT, BIGINT}:
            return wrapped(f"CAST(trunc({value}) AS HUGEINT)", wanted)
        case _:
            return f"TRY_CAST({value} AS {duck_type(wanted)})"


def wrapped(value: str, wanted: Type) -> str:
    """Return the lowest bits of a HUGEINT as an INT or BIGINT, as Java does."""
    half = 2 ** (_BITS[wanted] - 1)
    lowest = f"(({value} + {half}::HUGEINT) & {2 * half - 1}::HUGEINT) - {half}::HUGEINT"
    return f"CAST({lowest} AS {duck_type(wanted)})"


def nearest(value: str, wanted: Type) -> str:
    """Truncate a DOUBLE to an INT or BIGINT, limited to its range; NaN is 0, as in Java."""
    most = 2 ** (_BITS[wanted] - 1) - 1
    of = duck_type(wanted)
    return (
        f"CASE WHEN isnan({value}) THEN 0::{of} WHEN {value} >= {most} THEN {most}::{of} WHEN "
        f"{value} <= {-most - 1} THEN ({-most - 1})::{of} ELSE CAST(trunc({value}) AS {of}) END"
    )


def _struct(value: str, given: Struct, wanted: Struct, depth: int) -> str:
    """Cast field by field, by name; missing fields are null."""
    places = {name: (at, of) for at, (name, of) in enumerate(given.fields)}
    parts = []
    for to, (name, of) in enumerate(wanted.fields):
        if name in places:
            at, kind = places[name]
            parts.append(f"f{to} := {cast(f'({value}).f{at}', kind, of, depth)}")
        else:
            parts.append(f"f{to} := CAST(NULL AS {duck_type(of)})")
    return f"CASE WHEN {value} IS NOT NULL THEN struct_pack({', '.join(parts)}) END"


def _read(value: str, wanted: Type) -> str:
    """Parse a string."""
    plain = f"trim({value})"
    if wanted in {INT, BIGINT}:
        return (
            f"CASE WHEN regexp_matches({plain}, {text(_WHOLE)}) THEN TRY_CAST({plain} AS "
            f"{duck_type(wanted)}) END"
        )
    if wanted == BOOLEAN:
        return f"regexp_matches(lower({plain}), {text(_TRUE)})"
    if wanted == TIME:
        read = f"TRY_CAST(concat('1970-01-01 ', {plain}) AS TIMESTAMP)"
        return (
            f"CASE WHEN regexp_matches({plain}, {text(_TIME)}) THEN CAST(epoch_ms({read}) AS "
            "INTEGER) END"
        )
    if wanted == DOUBLE:
        return called("text_double", (value,))
    if isinstance(wanted, Decimal):
        return (
            f"TRY_CAST({called('text_decimal', (value, str(wanted.scale)))} AS {duck_type(wanted)})"
        )
    read = f"TRY_CAST({plain} AS {duck_type(wanted)})"
    # DuckDB also has infinite dates.
    return f"CASE WHEN regexp_matches({plain}, {text(_YEAR)}) THEN {read} END"


def written(  # noqa: PLR0911 - a table of cases
    value: str, of: Type, depth: int = 0
) -> str:
    """Return a value as a string, as Java formats it; null for null."""
    name = f"x{depth}"
    match of:
        case Array(element=element):
            item = _inside(name, element, depth + 1)
            items = f"list_transform({value}, lambda {name}: {item})"
            return f"('[' || array_to_string({items}, ', ') || ']')"
        case Map(key=key, value=kind):
            one = _inside(f"{name}.key", key, depth + 1)
            other = _inside(f"{name}.value", kind, depth + 1)
            items = f"list_transform(map_entries({value}), lambda {name}: {one} || '=' || {other})"
            return f"('{{' || array_to_string({items}, ', ') || '}}')"
        case Struct(fields=fields):
            fields_text = [
                f"({text(one.name + '=')} || {written(f'({value}).f{at}', one.type, depth)})"
                for at, one in enumerate(fields)
            ]
            inside = f"concat_ws(',', {', '.join(fields_text)})" if fields_text else "''"
            return f"CASE WHEN {value} IS NOT NULL THEN 'Struct{{' || {inside} || '}}' END"
        case _ if of == TIMESTAMP:
            return f"strftime({value}, '%Y-%m-%dT%H:%M:%S.%g')"
        case _ if of == TIME:
            return _time_text(value)
        case _ if of == DOUBLE:
            return called("double_text", (value,))
        case _:
            return value if of == STRING else f"CAST({value} AS VARCHAR)"


def _inside(value: str, of: Type, depth: int) -> str:
    """Return an element as a string; 'null' for null."""
    return f"coalesce({written(value, of, depth)}, 'null')"


def _time_text(value: str) -> str:
    """Format a time of day in its shortest form: 10:15, 10:15:30, 10:15:30.120."""
    at = f"make_timestamp_ms({value})"
    return (
        f"CASE WHEN {value} % 1000 <> 0 THEN strftime({at}, '%H:%M:%S.%g') WHEN {value} % 60000 <> "
        f"0 THEN strftime({at}, '%H:%M:%S') ELSE strftime({at}, '%H:%M') END"
    )
