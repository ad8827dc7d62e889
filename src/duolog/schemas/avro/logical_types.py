"""Logical types: a type that breaks the rules of its logical type is its plain type, as in Java."""

import math
from collections.abc import Mapping
from typing import Final

from duolog.schemas.avro.types import Fixed, Json, LogicalType, Type

# The kinds of types that a logical type may have, and the size of a fixed among them.
_BASES: Final[Mapping[str, Mapping[str, int | None]]] = {
    "decimal": {"bytes": None, "fixed": None},
    "big-decimal": {"bytes": None},
    "uuid": {"string": None, "fixed": 16},
    "duration": {"fixed": 12},
    "date": {"int": None},
    "time-millis": {"int": None},
    "time-micros": {"long": None},
    "timestamp-millis": {"long": None},
    "timestamp-micros": {"long": None},
    "timestamp-nanos": {"long": None},
    "local-timestamp-millis": {"long": None},
    "local-timestamp-micros": {"long": None},
    "local-timestamp-nanos": {"long": None},
}
_INT_MAX: Final = 2**31 - 1

# Attributes that name a Java class for the value; Java allows no logical type next to them.
_CLASS_PROPS: Final = ("avro.java.string", "java-class", "java-key-class", "java-element-class")


def logical_type(node: Type) -> LogicalType | None:
    """Return the logical type that the attributes declare; None if that is not a valid one."""
    name = node.props.get("logicalType")
    if not isinstance(name, str) or name not in _BASES or node.kind not in _BASES[name]:
        return None
    size = _BASES[name][node.kind]
    if size is not None and isinstance(node, Fixed) and node.size != size:
        return None
    if any(isinstance(node.props.get(prop), str) for prop in _CLASS_PROPS):
        return None
    return _decimal(node) if name == "decimal" else LogicalType(name)


def _decimal(node: Type) -> LogicalType | None:
    precision = _int(node.props.get("precision"))
    scale = _int(node.props.get("scale", 0))
    if precision is None or scale is None or not 0 <= scale <= precision or precision == 0:
        return None
    if isinstance(node, Fixed) and precision > math.floor(math.log10(2) * (8 * node.size - 1)):
        return None
    return LogicalType("decimal", precision, scale)


def _int(value: Json) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _INT_MAX:
        return value
    return None
