"""Convert Python annotations to SQL types.

    str    STRING    bool   BOOLEAN    Decimal     DECIMAL      list[T]     ARRAY<T>
    int    BIGINT    bytes  BYTES      datetime    TIMESTAMP    dict[K, V]  MAP<K, V>
    float  DOUBLE                      date, time  DATE, TIME   a dataclass STRUCT, upper-case names

    T | None                             T, which may be null
    a TypeVar                            any type, the same in the whole signature
    object                               any type, only of a parameter; also a null
    Annotated[Decimal, "DECIMAL(10,2)"]  the type in the text

A Decimal parameter accepts any size, also as the element of a list or dict. A Decimal result has
the annotated size, by default DECIMAL(38, 18).
"""

import datetime as dt
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from decimal import Decimal as PythonDecimal
from types import NoneType, UnionType
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

from duolog.core.errors import DuologError
from duolog.plan.sql.signatures import ANY, AnyDecimal, Generic
from duolog.plan.sql.user_values import field_name, without_none
from duolog.plan.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Column,
    Decimal,
    Map,
    Struct,
    Type,
    parse_type,
)

PLAIN: Final[Mapping[object, Type]] = {
    bool: BOOLEAN,
    int: BIGINT,
    float: DOUBLE,
    str: STRING,
    bytes: BYTES,
    dt.date: DATE,
    dt.datetime: TIMESTAMP,
    dt.time: TIME,
}
_GIVEN_DECIMAL: Final = Decimal(38, 18)
_KNOWN: Final = (
    "Use str, int, float, bool, bytes, Decimal, datetime, date, time, list[…], dict[…, …] or a "
    "dataclass, optionally | None."
)
_ROWS: Final = (list, Iterable, Iterator, Generator, Sequence, Collection)


class NoType(Exception):
    """An annotation has no SQL type; the message names it, the hint lists what is allowed."""

    def __init__(self, message: str, hint: str = _KNOWN) -> None:
        super().__init__(message)
        self.hint = hint


def type_of_parameter(annotation: object) -> Type:
    """Return the type of a parameter.

    Raises:
        NoType: the annotation has no SQL type.
    """
    if without_none(annotation) is object:
        return ANY
    if _is_any_decimal(annotation):
        return AnyDecimal("DECIMAL")
    if _named_type(annotation) is None:
        plain = without_none(annotation)
        origin, args = get_origin(plain), get_args(plain)
        if origin is list and args:
            return Array(type_of_parameter(args[0]))
        if origin is dict and args:
            return Map(type_of_parameter(args[0]), type_of_parameter(args[1]))
    return type_of_result(annotation)


def type_of_result(annotation: object) -> Type:
    """Return the type of a result.

    Raises:
        NoType: the annotation has no SQL type.

    Example:
        >>> print(type_of_result(dict[str, list[float | None]]))
        MAP<STRING, ARRAY<DOUBLE>>
    """
    return _type(annotation, ())


def type_of_rows(annotation: object) -> Type:
    """Return the row type of a table function: T of list[T], Iterator[T], Generator[T, None, None].

    Raises:
        NoType: the annotation is not a collection of rows.
    """
    plain = without_none(annotation)
    if (get_origin(plain) or plain) not in _ROWS or not get_args(plain):
        raise NoType(
            f"{shown(annotation)} is not a collection of rows",
            "Annotate the rows: list[str], Iterator[Point].",
        )
    return _type(get_args(plain)[0], ())


def may_be_none(annotation: object) -> bool:
    """Return true if None is allowed."""
    if annotation is object:
        return True
    if get_origin(annotation) is Annotated:
        return may_be_none(get_args(annotation)[0])
    return get_origin(annotation) in {Union, UnionType} and NoneType in get_args(annotation)


def shown(annotation: object) -> str:
    """Return an annotation as source text, approximately."""
    return annotation.__name__ if type(annotation) is type else str(annotation)


def _is_any_decimal(annotation: object) -> bool:
    type_text = _named_type(annotation)
    return type_text is None and without_none(annotation) is PythonDecimal


def _named_type(annotation: object) -> str | None:
    """Return the type text in an `Annotated`, or None."""
    if get_origin(annotation) in {Union, UnionType}:
        found = (_named_type(one) for one in get_args(annotation))
        return next((one for one in found if one is not None), None)
    if get_origin(annotation) is not Annotated:
        return None
    return next((one for one in get_args(annotation)[1:] if isinstance(one, str)), None)


def _type(  # noqa: PLR0911 - a table of cases
    annotation: object, around: tuple[type, ...]
) -> Type:
    if (type_text := _named_type(annotation)) is not None:
        try:
            return parse_type(type_text)
        except DuologError as error:
            raise NoType(f'"{type_text}" is not a type: {error.message}') from error
    plain = without_none(annotation)
    origin, args = get_origin(plain), get_args(plain)
    if origin is list and args:
        return Array(_type(args[0], around))
    if origin is dict and args:
        return Map(_type(args[0], around), _type(args[1], around))
    if isinstance(plain, TypeVar):
        if len(plain.__name__) > 1:
            raise NoType(
                f"the name of TypeVar {plain.__name__} is too long", "Use a single letter: T."
            )
        return Generic(plain.__name__)
    if is_dataclass(plain) and isinstance(plain, type):
        return _struct(plain, around)
    if plain is PythonDecimal:
        return _GIVEN_DECIMAL
    try:
        return PLAIN[plain]
    except (KeyError, TypeError):
        raise _no_type(plain) from None


def _struct(of: type, around: tuple[type, ...]) -> Struct:
    if of in around:
        raise NoType(f"{of.__name__} contains itself", "Use types that are not recursive.")
    try:
        hints = get_type_hints(of, include_extras=True)
    except (NameError, TypeError) as error:
        raise NoType(
            f"the annotations of {of.__name__} cannot be read: {error}",
            "Define the names they use at the top level of the module.",
        ) from error
    columns = tuple(
        Column(field_name(one.name), _type(hints[one.name], (*around, of))) for one in fields(of)
    )
    if len({column.name for column in columns}) < len(columns):
        raise NoType(
            f"two fields of {of.__name__} have the same name in upper case",
            "Rename one of them.",
        )
    return Struct(columns)


def _no_type(annotation: object) -> NoType:
    hints: Mapping[object, str] = {
        list: "Annotate the elements: list[str].",
        dict: "Annotate keys and values: dict[str, int].",
        Any: "Use a specific type, or a TypeVar for any type.",
        object: "Only a parameter can be of any type; use a specific type or a TypeVar.",
    }
    message = f"there is no SQL type for {shown(annotation)}"
    try:
        return NoType(message, hints.get(annotation, _KNOWN))
    except TypeError:
        return NoType(message)
