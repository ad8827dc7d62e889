"""Functions of numbers, texts, bytes and JSON in DuckDB, as far as it gives what ksqlDB gives.

Characters are counted as code points here, where ksqlDB counts UTF-16's units.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from duolog.plan.types import BYTES, DOUBLE, Decimal, Type
from duolog.runtime.sql.duck.lowering import Lowering, literal_text, plain
from duolog.runtime.sql.duck.types import duck_type, text

_CONTROL: Final = "chr(1)||chr(2)||chr(3)||chr(4)||chr(5)||chr(6)||chr(7)||chr(8)||chr(9)||chr(10)||chr(11)||chr(12)||chr(13)||chr(14)||chr(15)||chr(16)||chr(17)||chr(18)||chr(19)||chr(20)||chr(21)||chr(22)||chr(23)||chr(24)||chr(25)||chr(26)||chr(27)||chr(28)||chr(29)||chr(30)||chr(31)||' '"  # fmt: skip
_KM: Final = "'km', 'kilometer', 'kilometers', 'kilometre', 'kilometres'"
_MILES: Final = "'mi', 'mile', 'miles'"


def _of_texts(template: str) -> Lowering:
    """Return the lowering of what has an overload for bytes too, which DuckDB has not."""

    def lower(args: Sequence[str], types: Sequence[Type], _result: Type) -> str | None:
        return None if BYTES in types else template.format(*args, all=", ".join(args))

    return lower


def _whole(name: str) -> Lowering:
    def lower(args: Sequence[str], types: Sequence[Type], result: Type) -> str:
        if types[0] == DOUBLE:
            return f"{name}({args[0]})"
        if isinstance(types[0], Decimal):
            return f"TRY_CAST({name}({args[0]}) AS {duck_type(result)})"
        return args[0]

    return lower


def _round(args: Sequence[str], types: Sequence[Type], result: Type) -> str | None:
    value = args[0]
    if types[0] != DOUBLE and not isinstance(types[0], Decimal):
        return f"CAST({value} AS BIGINT)" if len(args) == 1 else None
    if len(args) == 1:
        # Of two that are equally near the greater one, as Java's Math.round.
        return f"TRY_CAST(floor({value} + 0.5) AS {duck_type(result)})"
    if isinstance(types[0], Decimal):
        # A negative half goes towards zero; DuckDB rounds it away from it.
        return f"TRY_CAST(CASE WHEN {value} >= 0 THEN round({value}, {args[1]}) ELSE {_down(args)} END AS {duck_type(result)})"
    return None


def _down(args: Sequence[str]) -> str:
    value, places = args
    step = f"CAST(pow(10, -({places})) AS DOUBLE)"
    return f"(ceil(CAST({value} AS DOUBLE) / {step} - 0.5) * {step})"


def _truncated(args: Sequence[str], types: Sequence[Type], result: Type) -> str:
    places = f", {args[1]}" if len(args) > 1 else ""
    if types[0] == DOUBLE or isinstance(types[0], Decimal):
        return f"TRY_CAST(trunc({args[0]}{places}) AS {duck_type(result)})"
    return f"CAST({args[0]} AS BIGINT)"


def _compared(name: str) -> Lowering:
    return lambda args, _types, result: (
        f"{name}({', '.join(f'CAST({arg} AS {duck_type(result)})' for arg in args)})"
    )


def _substring(args: Sequence[str], types: Sequence[Type], _result: Type) -> str | None:
    if BYTES in types:
        return None
    value, position, *length = args
    start = f"CASE WHEN {position} < 0 THEN greatest(length({value}) + {position} + 1, 1) ELSE greatest({position}, 1) END"
    more = f", greatest({length[0]}, 0)" if length else ""
    return f"substring({value}, {start}{more})"


def _padded(name: str) -> Lowering:
    def lower(args: Sequence[str], types: Sequence[Type], _result: Type) -> str | None:
        if BYTES in types:
            return None
        value, length, padding = args
        return f"CASE WHEN {length} >= 0 AND {padding} <> '' THEN TRY({name}({value}, {length}, {padding})) END"

    return lower


def _length(args: Sequence[str], types: Sequence[Type], _result: Type) -> str:
    name = "octet_length" if types[0] == BYTES else "length"
    return f"CAST({name}({args[0]}) AS INTEGER)"


def _instr(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str | None:
    return f"CAST(coalesce(instr({args[0]}, {args[1]}), 0) AS INTEGER)" if len(args) == 2 else None


def _elt(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
    number, *texts = args
    listed = f"CAST([{', '.join(texts)}] AS VARCHAR[])"
    return f"CASE WHEN {number} > 0 THEN list_extract({listed}, {number}) END"


def _field(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
    wanted, *texts = args
    listed = f"CAST([{', '.join(texts)}] AS VARCHAR[])"
    found = f"coalesce(list_position({listed}, {wanted}), 0)"
    return f"CASE WHEN {wanted} IS NULL THEN 0 ELSE CAST({found} AS INTEGER) END"


def _to_bytes(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
    value, encoding = args
    return (
        f"TRY(CASE lower({encoding}) WHEN 'utf8' THEN encode({value}) WHEN 'ascii' THEN encode({value}) "
        f"WHEN 'hex' THEN unhex({value}) WHEN 'base64' THEN from_base64({value}) END)"
    )


def _from_bytes(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
    value, encoding = args
    return (
        f"TRY(CASE lower({encoding}) WHEN 'utf8' THEN decode({value}) WHEN 'ascii' THEN decode({value}) "
        f"WHEN 'hex' THEN lower(hex({value})) WHEN 'base64' THEN to_base64({value}) END)"
    )


def _chr(args: Sequence[str], types: Sequence[Type], _result: Type) -> str | None:
    return f"TRY(chr({args[0]}))" if types[0].name == "INT" else None


def _extract(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str | None:
    pattern, value, *group = args
    place = group[0] if group else "0"
    if literal_text(pattern) is None or not place.lstrip("-").isdigit():
        return None
    return f"TRY(CASE WHEN regexp_matches({value}, {pattern}) THEN regexp_extract({value}, {pattern}, {place}) END)"


def _extract_all(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str | None:
    pattern, value, *group = args
    place = group[0] if group else "0"
    if literal_text(pattern) is None or not place.isdigit():
        return None
    return f"TRY(regexp_extract_all({value}, {pattern}, {place}))"


def _replaced(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str | None:
    by = literal_text(args[2])
    if by is None or "\\" in by:
        return None
    # Java writes $1 for what RE2 writes \1.
    by = text(re.sub("[$]([0-9])", r"\\\1", by))
    return f"TRY(regexp_replace({args[0]}, {args[1]}, {by}, 'g'))"


def _distance(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
    """The haversine formula, over the radius of the earth in the unit that is asked for."""
    latitude1, longitude1, latitude2, longitude2, *unit = args
    said = f"lower(coalesce({unit[0]}, 'km'))" if unit else "'km'"
    radius = f"(CASE WHEN {said} IN ({_KM}) THEN 6371 WHEN {said} IN ({_MILES}) THEN 3959 END)"
    south = f"pow(sin((radians({latitude2}) - radians({latitude1})) / 2), 2)"
    east = f"pow(sin(radians({longitude2} - {longitude1}) / 2), 2)"
    inside = f"{south} + {east} * cos(radians({latitude1})) * cos(radians({latitude2}))"
    return f"(2 * {radius} * asin(sqrt({inside})))"


_NUMBERS: Final[Mapping[str, Lowering]] = {
    "ABS": plain("abs({0})"),
    "CEIL": _whole("ceil"),
    "FLOOR": _whole("floor"),
    "ROUND": _round,
    "TRUNC": _truncated,
    "SIGN": plain("CAST(sign({0}) AS INTEGER)"),
    **{
        name: plain(f"{name.lower()}({{all}})")
        for name in (
            *("ACOS", "ASIN", "ATAN", "ATAN2", "CBRT", "COS", "COSH", "DEGREES", "EXP", "LN"),
            *("PI", "POWER", "RADIANS", "RANDOM", "SIN", "SINH", "SQRT", "TAN", "TANH"),
        )
    },
    "COT": plain("(1 / tan({0}))"),
    "LOG": lambda args, _types, _result: " / ".join(f"ln({arg})" for arg in reversed(args)),
    "GREATEST": _compared("greatest"),
    "LEAST": _compared("least"),
    "GEO_DISTANCE": _distance,
}
_TEXTS: Final[Mapping[str, Lowering]] = {
    "UCASE": plain("upper({0})"),
    "LCASE": plain("lower({0})"),
    "TRIM": plain("trim({0}, " + _CONTROL + ")"),
    "LEN": _length,
    "CONCAT": _of_texts("concat({all})"),
    "CONCAT_WS": _of_texts("concat_ws({all})"),
    "SUBSTRING": _substring,
    "LPAD": _padded("lpad"),
    "RPAD": _padded("rpad"),
    "REPLACE": plain("replace({all})"),
    "SPLIT": _of_texts("string_split({all})"),
    "INSTR": _instr,
    "ELT": _elt,
    "FIELD": _field,
    "CHR": _chr,
    "TO_BYTES": _to_bytes,
    "FROM_BYTES": _from_bytes,
    "ENCODE": lambda args, types, result: _from_bytes(
        (_to_bytes(args[:2], types, BYTES), args[2]), types, result
    ),
    "MD5": plain("md5({0})"),
    "UUID": lambda args, _types, _result: None if args else "CAST(uuid() AS VARCHAR)",
    "REGEXP_EXTRACT": _extract,
    "REGEXP_EXTRACT_ALL": _extract_all,
    "REGEXP_REPLACE": _replaced,
    "REGEXP_SPLIT_TO_ARRAY": plain("TRY(string_split_regex({0}, {1}))"),
}
_JSON: Final[Mapping[str, Lowering]] = {
    "EXTRACTJSONFIELD": plain("TRY(json_extract_string({0}, {1}))"),
    "IS_JSON_STRING": plain("coalesce(json_valid({0}), false)"),
    "JSON_ARRAY_LENGTH": plain(
        "TRY(CASE WHEN json_type({0}) = 'ARRAY' THEN CAST(json_array_length({0}) AS INTEGER) END)"
    ),
    "JSON_KEYS": plain("TRY(CASE WHEN json_type({0}) = 'OBJECT' THEN json_keys({0}) END)"),
}
_CHOICES: Final[Mapping[str, Lowering]] = {
    "COALESCE": plain("coalesce({all})"),
    "IFNULL": plain("coalesce({0}, {1})"),
    "NULLIF": plain("CASE WHEN {0} IS DISTINCT FROM {1} THEN {0} END"),
    "AS_VALUE": plain("{0}"),
}
VALUE_FUNCTIONS: Final[Mapping[str, Lowering]] = {**_NUMBERS, **_TEXTS, **_JSON, **_CHOICES}
