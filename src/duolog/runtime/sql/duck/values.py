"""Lower functions of numbers, strings, bytes, URLs and JSON to DuckDB or to `sql.functions`."""

from collections.abc import Mapping, Sequence
from typing import Final

from duolog.ksql.syntax.types import sql_name
from duolog.plan.types import BIGINT, BYTES, DOUBLE, NULL, Decimal, Type
from duolog.runtime.sql.duck.casts import LEAST, nearest
from duolog.runtime.sql.duck.lowering import Lowering, plain, python
from duolog.runtime.sql.duck.types import duck_type, text
from duolog.runtime.sql.functions.patterns import compiled
from duolog.runtime.sql.functions.registry import called

_MASKS: Final = "2147483647"
"""Number of characters that MASK hides: all."""


def _either(name: str) -> Lowering:
    """Lower a function that exists for strings and for bytes."""

    def lower(args: Sequence[str], types: Sequence[Type], _result: Type) -> str:
        return called(f"bytes_{name}" if types[0] == BYTES else name, args)

    return lower


def _whole(name: str) -> Lowering:
    def lower(args: Sequence[str], types: Sequence[Type], result: Type) -> str:
        if types[0] == DOUBLE:
            return f"{name}({args[0]})"
        if isinstance(types[0], Decimal):
            return f"TRY_CAST({name}({args[0]}) AS {duck_type(result)})"
        return args[0]

    return lower


def _absolute(args: Sequence[str], types: Sequence[Type], result: Type) -> str:
    """Return the smallest whole number unchanged, as Java does: its negation overflows."""
    if result not in LEAST:
        return f"abs({args[0]})"
    return f"CASE WHEN {args[0]} > {LEAST[result]} THEN abs({args[0]}) ELSE {args[0]} END"


def _at_places(of_double: str, name: str) -> Lowering:
    """Lower rounding functions: of a DOUBLE to a whole number or to digits, and of a DECIMAL."""

    def lower(args: Sequence[str], types: Sequence[Type], result: Type) -> str:
        if isinstance(result, Decimal):
            cut = called(f"{name}_decimal", (*args, "0")[:2])
            return f"TRY_CAST({cut} AS {duck_type(result)})"
        if len(args) > 1:
            return called(f"{name}_at", args)
        return of_double.format(args[0]) if types[0] == DOUBLE else f"CAST({args[0]} AS BIGINT)"

    return lower


def _compared(name: str) -> Lowering:
    return lambda args, _types, result: (
        f"{name}({', '.join(f'CAST({arg} AS {duck_type(result)})' for arg in args)})"
    )


def _length(args: Sequence[str], types: Sequence[Type], _result: Type) -> str:
    if types[0] == BYTES:
        return f"CAST(octet_length({args[0]}) AS INTEGER)"
    return called("length", args)


def _concat(args: Sequence[str], _types: Sequence[Type], result: Type) -> str:
    if result == BYTES:
        return called("bytes_join", ("''::BLOB", *args))
    return f"concat({', '.join(args)})" if args else "''"


def _concat_ws(args: Sequence[str], _types: Sequence[Type], result: Type) -> str:
    return called("bytes_join", args) if result == BYTES else f"concat_ws({', '.join(args)})"


def _instr(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
    # The position of a null string is 0; a null start position gives null.
    found = called("position", (*args, "1", "1")[:4])
    nulls = " OR ".join(f"{arg} IS NULL" for arg in args[2:])
    return f"CASE WHEN NOT ({nulls}) THEN {found} END" if nulls else found


def _elt(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
    number, *texts = args
    listed = f"CAST([{', '.join(texts)}] AS VARCHAR[])"
    return f"CASE WHEN {number} > 0 THEN list_extract({listed}, {number}) END"


def _field(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
    wanted, *texts = args
    listed = f"CAST([{', '.join(texts)}] AS VARCHAR[])"
    found = f"coalesce(list_position({listed}, {wanted}), 0)"
    return f"CASE WHEN {wanted} IS NULL THEN 0 ELSE CAST({found} AS INTEGER) END"


def _mask_all(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
    return called("mask_left", (args[0], _MASKS, *args[1:]))


def _chr(args: Sequence[str], types: Sequence[Type], _result: Type) -> str:
    return called("of_code_point" if types[0].name == "INT" else "of_escapes", args)


def _distance(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
    *places, unit = args if len(args) > 4 else (*args, "NULL")
    return called("distance", (*places, f"coalesce({unit}, 'KM')"))


def _to_json(arg: str, of: Type) -> str:
    return "'null'" if of == NULL else called("to_json", (arg, text(sql_name(of))))


_NUMBERS: Final[Mapping[str, Lowering]] = {
    "ABS": _absolute,
    "CEIL": _whole("ceil"),
    "FLOOR": _whole("floor"),
    "ROUND": _at_places(called("round", ("{0}",)), "round"),
    "TRUNC": _at_places(nearest("{0}", BIGINT), "truncate"),
    "SIGN": plain("CAST(sign({0}) AS INTEGER)"),
    **{
        name: plain(f"{name.lower()}({{all}})")
        for name in ("ATAN", "ATAN2", "DEGREES", "PI", "RADIANS", "RANDOM", "TANH")
    },
    **{
        name: python(name.lower())
        for name in (
            *(
                "ACOS",
                "ASIN",
                "CBRT",
                "COS",
                "COSH",
                "COT",
                "EXP",
                "LOG",
                "POWER",
                "SIN",
                "SINH",
                "SQRT",
            ),
            "TAN",
        )
    },
    "LN": python("log"),
    "GREATEST": _compared("greatest"),
    "LEAST": _compared("least"),
    "GEO_DISTANCE": _distance,
}
_TEXTS: Final[Mapping[str, Lowering]] = {
    "UCASE": python("upper"),
    "LCASE": python("lower"),
    "INITCAP": python("capitalized"),
    "TRIM": python("trim"),
    "LEN": _length,
    "CONCAT": _concat,
    "CONCAT_WS": _concat_ws,
    "SUBSTRING": _either("substring"),
    "LPAD": _either("pad_left"),
    "RPAD": _either("pad_right"),
    "REPLACE": python("replace"),
    "SPLIT": _either("parts"),
    "SPLIT_TO_MAP": python("entries"),
    "INSTR": _instr,
    "ELT": _elt,
    "FIELD": _field,
    "MASK": _mask_all,
    "MASK_LEFT": python("mask_left"),
    "MASK_RIGHT": python("mask_right"),
    "MASK_KEEP_LEFT": python("mask_keep_left"),
    "MASK_KEEP_RIGHT": python("mask_keep_right"),
    "CHR": _chr,
    "TO_BYTES": python("to_bytes"),
    "FROM_BYTES": python("from_bytes"),
    "ENCODE": python("encode"),
    "MD5": plain("md5({0})"),
    "UUID": lambda args, _types, _result: (
        called("bytes_uuid", args) if args else "CAST(uuid() AS VARCHAR)"
    ),
    "INT_FROM_BYTES": python("bytes_int"),
    "BIGINT_FROM_BYTES": python("bytes_bigint"),
    "DOUBLE_FROM_BYTES": python("bytes_double"),
    "REGEXP_EXTRACT": python("pattern_extract", 0, compiled),
    "REGEXP_EXTRACT_ALL": python("pattern_extract_all", 0, compiled),
    "REGEXP_REPLACE": python("pattern_replace", 1, compiled),
    "REGEXP_SPLIT_TO_ARRAY": python("pattern_split", 1, compiled),
}
_URL_PARTS: Final = ("FRAGMENT", "HOST", "PARAMETER", "PATH", "PORT", "PROTOCOL", "QUERY")
_URLS: Final[Mapping[str, Lowering]] = {
    "URL_ENCODE_PARAM": python("url_encode"),
    "URL_DECODE_PARAM": python("url_decode"),
    **{f"URL_EXTRACT_{part}": python(f"url_{part.lower()}") for part in _URL_PARTS},
}
_JSON: Final[Mapping[str, Lowering]] = {
    "EXTRACTJSONFIELD": python("json_extract"),
    "IS_JSON_STRING": python("json_is_json"),
    "JSON_ARRAY_CONTAINS": lambda args, types, _result: called(
        "json_array_contains", (args[0], _to_json(args[1], types[1]))
    ),
    "JSON_ARRAY_LENGTH": python("json_array_length"),
    "JSON_CONCAT": python("json_concat"),
    "JSON_ITEMS": python("json_items"),
    "JSON_KEYS": python("json_keys"),
    "JSON_RECORDS": python("json_records"),
    "TO_JSON_STRING": lambda args, types, _result: _to_json(args[0], types[0]),
}
_CHOICES: Final[Mapping[str, Lowering]] = {
    "COALESCE": plain("coalesce({all})"),
    "IFNULL": plain("coalesce({0}, {1})"),
    "NULLIF": plain("CASE WHEN {0} IS DISTINCT FROM {1} THEN {0} END"),
    "AS_VALUE": plain("{0}"),
}
VALUE_FUNCTIONS: Final[Mapping[str, Lowering]] = {
    **_NUMBERS,
    **_TEXTS,
    **_URLS,
    **_JSON,
    **_CHOICES,
}
