"""The types that a schema can describe, read from Python annotations, without a schema language.

Scalar      str, int, float, bool, bytes, date, time, datetime, UUID
DecimalOf   Decimal, with precision and scale
ChoiceOf    an Enum, or a Literal of texts
ListOf      list, tuple[T, ...], set, frozenset
MapOf       dict
UnionOf     T | None, A | B, A | B | None
RecordOf    a class with fields; it may contain itself
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Any, Final


class Scalar(StrEnum):
    """A type without parameters."""

    TEXT = "str"
    INT = "int (32 bits)"
    LONG = "int"
    DOUBLE = "float"
    BOOLEAN = "bool"
    BYTES = "bytes"
    DATE = "date"
    TIME = "time"
    DATETIME = "datetime"
    UUID = "UUID"


class Missing(Enum):
    """The default of a field that has none."""

    NO_DEFAULT = "no default"


NO_DEFAULT: Final = Missing.NO_DEFAULT


@dataclass(frozen=True, slots=True)
class DecimalOf:
    """A decimal number of a fixed number of digits."""

    precision: int
    scale: int


@dataclass(frozen=True, slots=True)
class ChoiceOf:
    """One of several symbols.

    Attributes:
        name: the name of the choice.
        of: the Enum; None for a Literal of texts.
        symbols: its names: those of an Enum's members, in order, or the texts of a Literal.
        texts: the texts that JSON has for them: the values of an Enum whose values are texts,
            otherwise the names.
    """

    name: str
    of: type[Enum] | None
    symbols: tuple[str, ...]
    texts: tuple[str, ...]

    def value(self, symbol: str) -> object:
        """Return the Python value of a symbol."""
        return symbol if self.of is None else self.of[symbol]

    def symbol(self, value: Any) -> str:
        """Return the symbol of a Python value, which `holds`."""
        return str(value) if self.of is None else str(value.name)

    def holds(self, value: object) -> bool:
        """Return True for a value of this choice."""
        if self.of is not None:
            return isinstance(value, self.of)
        return type(value) is str and value in self.symbols


@dataclass(frozen=True, slots=True)
class ListOf:
    """Values of one type in order; `made` is the Python type that holds them."""

    item: "Shape"
    made: type


@dataclass(frozen=True, slots=True)
class MapOf:
    """Values of one type by keys of one type."""

    key: "Shape"
    value: "Shape"


@dataclass(frozen=True, slots=True)
class UnionOf:
    """A value of one of several types, or None."""

    branches: "tuple[Shape, ...]"
    nullable: bool


@dataclass(slots=True)
class FieldOf:
    """A field of a class.

    Attributes:
        attribute: its name in Python.
        name: its name in schemas.
        shape: its type.
        default: its value in an instance that does not give one; `NO_DEFAULT` if it has to.
        may_be_missing: True for a key that a TypedDict does not require; None stands for it.
        has_factory: True if its default is made by a function, which no schema can express.
    """

    attribute: str
    name: str
    shape: "Shape"
    default: object = NO_DEFAULT
    doc: str | None = None
    aliases: tuple[str, ...] = ()
    number: int | None = None
    may_be_missing: bool = False
    has_factory: bool = False


@dataclass(slots=True, eq=False)
class RecordOf:
    """A class with fields, equal only to itself: it may contain itself.

    Attributes:
        of: the class.
        name: its name in schemas, without namespace.
        values: returns the values of an instance, by attribute.
        make: returns an instance with these values, by attribute; a missing one has its default.
    """

    of: type
    name: str
    namespace: str | None
    values: Callable[[Any], Mapping[str, Any]]
    make: Callable[[Mapping[str, Any]], Any]
    doc: str | None = None
    aliases: tuple[str, ...] = ()
    fields: list[FieldOf] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"RecordOf({self.name})"


Shape = Scalar | DecimalOf | ChoiceOf | ListOf | MapOf | UnionOf | RecordOf


def nullable(shape: Shape) -> bool:
    """Return True for a type that includes None."""
    return isinstance(shape, UnionOf) and shape.nullable


def without_none(shape: Shape) -> Shape:
    """Return T for `T | None`; any other type as it is."""
    if isinstance(shape, UnionOf) and len(shape.branches) == 1:
        return shape.branches[0]
    return shape


def called(shape: Shape) -> str:
    """Return the name of a type for an error message."""
    match shape:
        case Scalar():
            return shape.value
        case DecimalOf():
            return "Decimal"
        case ChoiceOf() | RecordOf():
            return shape.name
        case ListOf(item=item, made=made):
            return f"{made.__name__}[{called(item)}]"
        case MapOf(key=key, value=value):
            return f"dict[{called(key)}, {called(value)}]"
        case UnionOf(branches=branches, nullable=null):
            return " | ".join([*map(called, branches), *(["None"] if null else [])])


def records_in(root: Shape) -> list[RecordOf]:
    """Return the classes in a type, each once, a class before those that it contains."""
    found: dict[int, RecordOf] = {}
    waiting: list[Shape] = [root]
    while waiting:
        shape = waiting.pop()
        if isinstance(shape, RecordOf):
            if id(shape) in found:
                continue
            found[id(shape)] = shape
        waiting += reversed(parts_of(shape))
    return list(found.values())


def parts_of(shape: Shape) -> "list[Shape]":
    """Return the types directly inside a type."""
    match shape:
        case ListOf(item=item):
            return [item]
        case MapOf(key=key, value=value):
            return [key, value]
        case UnionOf(branches=branches):
            return list(branches)
        case RecordOf(fields=fields):
            return [one.shape for one in fields]
        case _:
            return []
