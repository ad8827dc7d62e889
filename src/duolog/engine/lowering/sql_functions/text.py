"""Functions of strings and bytes. Spark counts code points, ksqlDB UTF-16 code units."""

from collections.abc import Mapping, Sequence
from typing import Final

from duolog.engine.lowering.sql_functions.lowering import Lowering, plain
from duolog.plan.types import BYTES, Type

_TO_THE_END: Final = "2147483647"
_MASKS: Final = ("'X'", "'x'", "'n'", "'-'")


def _either(name: str) -> Lowering:
    """Return the lowering of a function that takes strings or, under the same name, bytes."""

    def lower(args: Sequence[str], types: Sequence[Type], _result: Type) -> str:
        of_bytes = "bytes_" if types[0] == BYTES else ""
        return f"duolog_{of_bytes}{name}({', '.join(args)})"

    return lower


def _substring(args: Sequence[str], types: Sequence[Type], result: Type) -> str:
    return _either("substring")((*args, _TO_THE_END)[:3], types, result)


def _length(args: Sequence[str], types: Sequence[Type], _result: Type) -> str:
    return f"length({args[0]})" if types[0] == BYTES else f"duolog_length({args[0]})"


def _concat(args: Sequence[str], _types: Sequence[Type], result: Type) -> str:
    if result == BYTES:
        known = [f"coalesce({arg}, X'')" for arg in args]
        return f"concat({', '.join(known)})"
    return f"concat_ws('', {', '.join(args)})" if args else "''"


def _concat_ws(args: Sequence[str], _types: Sequence[Type], result: Type) -> str:
    if result == BYTES:
        return f"duolog_bytes_join({args[0]}, {_array(args[1:], 'BINARY')})"
    return f"concat_ws({', '.join(args)})"


def _elt(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
    return f"elt({', '.join(args)})" if len(args) > 1 else "CAST(NULL AS STRING)"


def _field(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
    return f"CAST(coalesce(array_position({_array(args[1:], 'STRING')}, {args[0]}), 0) AS INT)"


def _array(items: Sequence[str], of: str) -> str:
    return f"CAST(array({', '.join(items)}) AS ARRAY<{of}>)"


def _instr(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
    # A null text yields 0, but a null position yields null.
    text, part, position, occurrence = (*args, "1", "1")[:4]
    nulls = " OR ".join(f"{arg} IS NULL" for arg in args[2:])
    found = f"duolog_position({text}, {part}, {position}, {occurrence})"
    return f"if({nulls}, NULL, {found})" if nulls else found


def _mask(which: str) -> Lowering:
    def lower(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
        text, count, *masks = args
        masked = f"duolog_mask({text}, '{which}', {count}, {', '.join(masks or _MASKS)})"
        return f"if({count} IS NULL, NULL, {masked})"

    return lower


def _mask_all(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
    return f"duolog_mask({args[0]}, 'LEFT', {_TO_THE_END}, {', '.join(args[1:] or _MASKS)})"


def _chr(args: Sequence[str], types: Sequence[Type], _result: Type) -> str:
    return f"duolog_of_{'code_point' if types[0].name == 'INT' else 'escapes'}({args[0]})"


def _uuid(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
    return f"duolog_bytes_uuid({args[0]})" if args else "duolog_uuid()"


TEXT_FUNCTIONS: Final[Mapping[str, Lowering]] = {
    "UCASE": plain("upper({0})"),
    "LCASE": plain("lower({0})"),
    "INITCAP": plain("duolog_capitalized({0})"),
    "TRIM": plain("duolog_trim({0})"),
    "LEN": _length,
    "CONCAT": _concat,
    "CONCAT_WS": _concat_ws,
    "SUBSTRING": _substring,
    "LPAD": _either("pad_left"),
    "RPAD": _either("pad_right"),
    "REPLACE": plain("duolog_replace({all})"),
    "SPLIT": _either("parts"),
    "SPLIT_TO_MAP": plain("duolog_entries({all})"),
    "INSTR": _instr,
    "ELT": _elt,
    "FIELD": _field,
    "MASK": _mask_all,
    "MASK_LEFT": _mask("LEFT"),
    "MASK_RIGHT": _mask("RIGHT"),
    "MASK_KEEP_LEFT": _mask("KEEP_LEFT"),
    "MASK_KEEP_RIGHT": _mask("KEEP_RIGHT"),
    "CHR": _chr,
    "ENCODE": plain("duolog_encode({all})"),
    "TO_BYTES": plain("duolog_to_bytes({all})"),
    "FROM_BYTES": plain("duolog_from_bytes({all})"),
    "MD5": plain("md5(CAST({0} AS BINARY))"),
    "UUID": _uuid,
}
