"""Functions of strings that contain JSON."""

from collections.abc import Mapping, Sequence
from typing import Final

from duolog.engine.lowering.spark_sql.sql import spark_type, text
from duolog.engine.lowering.sql_functions.lowering import Lowering, plain
from duolog.plan.types import NULL, TIME, Array, Column, Map, Struct, Type

_TIME: Final = Type("TIME(3)")
"""Distinguishes a TIME from the INT that represents it in a row."""


def _concat(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str:
    return f"duolog_json_concat(CAST(array({', '.join(args)}) AS ARRAY<STRING>))"


def _contains(args: Sequence[str], types: Sequence[Type], _result: Type) -> str:
    return f"duolog_json_array_contains({args[0]}, {_to_json(args[1], types[1])})"


def _to_json(arg: str, of: Type) -> str:
    if of == NULL:
        return "'null'"
    return f"duolog_to_json(named_struct('v', {arg}), {text('v ' + spark_type(_told(of)))})"


def _told(of: Type) -> Type:
    match of:
        case Array(element=element):
            return Array(_told(element))
        case Map(key=key, value=value):
            return Map(_told(key), _told(value))
        case Struct(fields=fields):
            return Struct(tuple(Column(name, _told(kind)) for name, kind in fields))
        case _:
            return _TIME if of == TIME else of


JSON_FUNCTIONS: Final[Mapping[str, Lowering]] = {
    "EXTRACTJSONFIELD": plain("duolog_json_extract({all})"),
    "IS_JSON_STRING": plain("duolog_json_is_json({0})"),
    "JSON_ARRAY_CONTAINS": _contains,
    "JSON_ARRAY_LENGTH": plain("duolog_json_array_length({0})"),
    "JSON_CONCAT": _concat,
    "JSON_ITEMS": plain("duolog_json_items({0})"),
    "JSON_KEYS": plain("duolog_json_keys({0})"),
    "JSON_RECORDS": plain("duolog_json_records({0})"),
    "TO_JSON_STRING": lambda args, types, _result: _to_json(args[0], types[0]),
}
