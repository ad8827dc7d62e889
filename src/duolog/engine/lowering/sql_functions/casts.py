"""SQL's CAST as Spark SQL: null if the target type has no such value.

    STRING to INT, BIGINT     only whole numbers; Spark would truncate 1.5
    STRING to BOOLEAN         any prefix of true and yes is true, all else false
    TIME                      milliseconds of the day, an INT in Spark
    ARRAY, MAP, STRUCT        element by element; to STRING as Java does: [1, 2], {a=1}, Struct{F=1}

Source: ksqlDB's documentation of CAST, and its query tests.
"""

from collections.abc import Sequence
from typing import Final

from duolog.engine.lowering.spark_sql.pinned_texts import are_pinned
from duolog.engine.lowering.spark_sql.sql import quoted, spark_type, text
from duolog.plan.types import (
    BIGINT,
    BOOLEAN,
    DATE,
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

_DAY_MS: Final = 24 * 60 * 60 * 1000
_TIME: Final = "^[0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?$"
_TRUE: Final = "^(t(r(ue?)?)?|y(es?)?)$"
_YEAR: Final = "^[0-9]{4}(-.*)?$"
_BOUNDS: Final = {
    DATE: ("DATE '0001-01-01'", "DATE '9999-12-31'"),
    TIMESTAMP: ("TIMESTAMP '0001-01-01 00:00:00'", "TIMESTAMP '9999-12-31 23:59:59.999999'"),
}
_WHOLE: Final = "^[+-]?[0-9]+$"
_ISO: Final = "yyyy-MM-dd'T'HH:mm:ss.SSS"


def lower_cast(args: Sequence[str], types: Sequence[Type], result: Type) -> str:
    return cast(args[0], types[0], result)


def cast(  # noqa: PLR0911 - a table of cases
    value: str, given: Type, wanted: Type, depth: int = 0
) -> str:
    """Return Spark SQL that converts a value from one type to another.

    Args:
        value: the value, as Spark SQL.
        given: its type.
        wanted: the target type.
        depth: the number of enclosing lambdas of casts, which makes parameter names unique.
    """
    if given == wanted:
        return value
    if given == NULL:
        return f"CAST({value} AS {spark_type(wanted)})"
    match given, wanted:
        case Array(element=one), Array(element=other):
            name = f"c{depth}"
            return f"transform({value}, {name} -> {cast(name, one, other, depth + 1)})"
        case Map(), Map():
            return _map(value, given, wanted, depth)
        case Struct(), Struct():
            return _struct(value, given, wanted, depth)
        case _ if wanted == STRING:
            return written(value, given, depth)
        case _ if given == STRING:
            return _read(value, wanted)
        case _ if given == TIMESTAMP and wanted == TIME:
            return f"CAST(pmod(unix_millis({value}), {_DAY_MS}) AS INT)"
        case _:
            return f"CAST({value} AS {spark_type(wanted)})"


def _map(value: str, given: Map, wanted: Map, depth: int) -> str:
    key, item = f"k{depth}", f"c{depth}"
    if given.value != wanted.value:
        inner = cast(item, given.value, wanted.value, depth + 1)
        value = f"transform_values({value}, ({key}, {item}) -> {inner})"
    if given.key != wanted.key:
        inner = cast(key, given.key, wanted.key, depth + 1)
        value = f"transform_keys({value}, ({key}, {item}) -> {inner})"
    return value


def _struct(value: str, given: Struct, wanted: Struct, depth: int) -> str:
    """Cast field by field; a field that is missing becomes null."""
    known = dict(given.fields)
    fields = ", ".join(
        f"{text(name)}, " + cast(f"({value}).{quoted(name)}", known[name], of, depth)
        if name in known
        else f"{text(name)}, CAST(NULL AS {spark_type(of)})"
        for name, of in wanted.fields
    )
    return f"CASE WHEN {value} IS NOT NULL THEN named_struct({fields}) END"


def _read(value: str, wanted: Type) -> str:
    """Return Spark SQL that parses a text."""
    plain = f"trim({value})"
    if wanted in {INT, BIGINT}:
        return (
            f"CASE WHEN {plain} RLIKE {text(_WHOLE)} THEN CAST({plain} AS {spark_type(wanted)}) END"
        )
    if wanted == BOOLEAN:
        return f"(lower({plain}) RLIKE {text(_TRUE)})"
    if wanted == TIME:
        moment = f"CAST(concat('1970-01-01T', {plain}) AS TIMESTAMP)"
        return f"CASE WHEN {plain} RLIKE {text(_TIME)} THEN CAST(unix_millis({moment}) AS INT) END"
    read = f"CAST({plain} AS {spark_type(wanted)})"
    if wanted in _BOUNDS and not are_pinned():
        # Spark would read a time without a date as one of today.
        least, most = _BOUNDS[wanted]
        return (
            f"CASE WHEN {plain} RLIKE {text(_YEAR)} AND {read} BETWEEN {least} AND {most} "
            f"THEN {read} END"
        )
    return read


def written(  # noqa: PLR0911 - a table of cases
    value: str, of: Type, depth: int = 0
) -> str:
    """Return a value as text in Java's form; null stays null."""
    match of:
        case Array(element=element):
            item = f"c{depth}"
            items = f"transform({value}, {item} -> {_inside(item, element, depth + 1)})"
            return f"concat('[', array_join({items}, ', '), ']')"
        case Map(key=key, value=kind):
            entry = f"c{depth}"
            one = _inside(f"{entry}.key", key, depth + 1)
            other = _inside(f"{entry}.value", kind, depth + 1)
            entries = f"transform(map_entries({value}), {entry} -> concat({one}, '=', {other}))"
            return f"concat('{{', array_join({entries}, ', '), '}}')"
        case Struct(fields=fields):
            parts = [f"({value}).{quoted(name)}" for name, _ in fields]
            told = [
                f"concat({text(name + '=')}, {written(part, kind, depth)})"
                for part, (name, kind) in zip(parts, fields, strict=True)
            ]
            inside = f"concat_ws(',', {', '.join(told)})" if told else "''"
            return f"CASE WHEN {value} IS NOT NULL THEN concat('Struct{{', {inside}, '}}') END"
        case _ if of == TIMESTAMP:
            return f"date_format({value}, {text(_ISO)})"
        case _ if of == TIME:
            return _time_text(value)
        case Decimal() if not are_pinned():
            return f"duolog_decimal_text({value})"
        case _:
            return value if of == STRING else f"CAST({value} AS STRING)"


def _inside(value: str, of: Type, depth: int) -> str:
    """Return an element as text; null becomes `null`."""
    return f"coalesce({written(value, of, depth)}, 'null')"


def _time_text(value: str) -> str:
    """Return the shortest form of a time of day: 10:15, 10:15:30, 10:15:30.120."""
    pattern = (
        f"CASE WHEN {value} % 1000 <> 0 THEN 'HH:mm:ss.SSS' "
        f"WHEN {value} % 60000 <> 0 THEN 'HH:mm:ss' ELSE 'HH:mm' END"
    )
    return f"date_format(timestamp_millis({value}), {pattern})"
