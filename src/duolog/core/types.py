"""Column types and their syntax.

    carrier STRING, dep_delay BIGINT, fare DECIMAL(10, 2), stops ARRAY<STRUCT<faa STRING>>

The type names are ksqlDB's. A column name is a word, or any text between backquotes. Types compare
by value. `NULL` is the type of the literal null only: it is compatible with every type, and no
column has it.

Python values of the types (reference implementation, serdes): bool, int, int, float, str, bytes,
date, datetime (aware, UTC), Decimal, list, dict, and for STRUCT a dict by field name.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, NamedTuple

from duolog.core.errors import StatementError

DECIMAL_PRECISION_MAX: Final = 38
DECIMAL_SCALE_DEFAULT: Final = 0
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


@dataclass(frozen=True, slots=True)
class Type:
    """A type without parameters, and the base class of parameterized types."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Decimal(Type):
    """A decimal number of up to 38 digits, `scale` of them after the decimal point."""

    precision: int
    scale: int

    def __init__(self, precision: int, scale: int = DECIMAL_SCALE_DEFAULT) -> None:
        if not (1 <= precision <= DECIMAL_PRECISION_MAX and 0 <= scale <= precision):
            raise StatementError(
                f"no type DECIMAL({precision},{scale})",
                detail=f"The precision is 1 to {DECIMAL_PRECISION_MAX}, the scale 0 to that.",
            )
        object.__setattr__(self, "name", "DECIMAL")
        object.__setattr__(self, "precision", precision)
        object.__setattr__(self, "scale", scale)

    def __str__(self) -> str:
        return f"DECIMAL({self.precision},{self.scale})"


@dataclass(frozen=True, slots=True)
class Array(Type):
    """An array with elements of one type."""

    element: Type

    def __init__(self, element: Type) -> None:
        object.__setattr__(self, "name", "ARRAY")
        object.__setattr__(self, "element", element)

    def __str__(self) -> str:
        return f"ARRAY<{self.element}>"


@dataclass(frozen=True, slots=True)
class Map(Type):
    """A map from keys of one type to values of another."""

    key: Type
    value: Type

    def __init__(self, key: Type, value: Type) -> None:
        object.__setattr__(self, "name", "MAP")
        object.__setattr__(self, "key", key)
        object.__setattr__(self, "value", value)

    def __str__(self) -> str:
        return f"MAP<{self.key}, {self.value}>"


class Column(NamedTuple):
    """A named and typed column of a key or value, or a field of a STRUCT."""

    name: str
    type: Type

    def __str__(self) -> str:
        return f"{quote(self.name)} {self.type}"


def repeated_name(columns: Iterable[Column]) -> str | None:
    """Return the first name that two columns have; None if all names differ.

    Example:
        >>> repeated_name((*parse_columns("A INT, B INT"), *parse_columns("A STRING")))
        'A'
    """
    seen: set[str] = set()
    for column in columns:
        if column.name in seen:
            return column.name
        seen.add(column.name)
    return None


@dataclass(frozen=True, slots=True)
class Struct(Type):
    """A structure of named and typed fields."""

    fields: tuple[Column, ...]

    def __init__(self, fields: tuple[Column, ...]) -> None:
        object.__setattr__(self, "name", "STRUCT")
        object.__setattr__(self, "fields", fields)

    def __str__(self) -> str:
        return f"STRUCT<{render_columns(self.fields)}>"


BOOLEAN: Final = Type("BOOLEAN")
INT: Final = Type("INT")
BIGINT: Final = Type("BIGINT")
DOUBLE: Final = Type("DOUBLE")
STRING: Final = Type("STRING")
BYTES: Final = Type("BYTES")
DATE: Final = Type("DATE")
TIME: Final = Type("TIME")
"""A time of day in milliseconds; supported in SQL but not in the DSL."""
TIMESTAMP: Final = Type("TIMESTAMP")
NULL: Final = Type("NULL")

_PLAIN: Final = {
    **{t.name: t for t in (BOOLEAN, INT, BIGINT, DOUBLE, STRING, BYTES, DATE, TIMESTAMP)},
    "INTEGER": INT,
    "VARCHAR": STRING,
}
_WITH_PARAMETERS: Final = ("DECIMAL", "ARRAY", "MAP", "STRUCT")


def numeric(of: Type) -> bool:
    return of in {INT, BIGINT, DOUBLE} or isinstance(of, Decimal)


def parts_of(of: Type) -> Iterator[Type]:
    """Yield the type itself, then all nested types."""
    yield of
    match of:
        case Map(key=key, value=value):
            yield from parts_of(key)
            yield from parts_of(value)
        case Array(element=element):
            yield from parts_of(element)
        case Struct(fields=fields):
            for field in fields:
                yield from parts_of(field.type)
        case _:
            pass


def map_in(of: Type) -> bool:
    """Return whether a type is or contains a MAP."""
    return any(isinstance(part, Map) for part in parts_of(of))


def quote(name: str) -> str:
    """Return a column name in declaration syntax: in backquotes unless it is a word."""
    return name if _WORD.match(name) else "`" + name.replace("`", "``") + "`"


def render_columns(columns: tuple[Column, ...]) -> str:
    return ", ".join(str(column) for column in columns)


def parse_type(text: str) -> Type:
    """Parse a type.

    Raises:
        StatementError: the type is unknown or malformed.

    Example:
        >>> print(parse_type("map<string, array<decimal(10, 2)>>"))
        MAP<STRING, ARRAY<DECIMAL(10,2)>>
    """
    tokens = _Tokens(text)
    found = _type(tokens)
    tokens.expect("")
    return found


def parse_columns(text: str) -> tuple[Column, ...]:
    """Parse a comma-separated list of column declarations.

    Raises:
        StatementError: the text is malformed, or declares a name twice.

    Example:
        >>> print(*parse_columns("carrier STRING, `Delay (min)` bigint"), sep=" | ")
        carrier STRING | `Delay (min)` BIGINT
    """
    if not text.strip():
        return ()
    tokens = _Tokens(text)
    columns = _columns(tokens, closing="")
    ensure_distinct([column.name for column in columns])
    return columns


def ensure_distinct(names: list[str]) -> None:
    """Raise a StatementError if `names` contains a duplicate."""
    for name in names:
        if names.count(name) > 1:
            raise StatementError(
                f'column "{name}" is declared twice',
                detail="The columns of a record's key and value share one set of names.",
                hint="Rename one, or leave out of the value what the key holds already.",
            )


class _Tokens:
    """Tokenizer for types with one token of lookahead: words, quoted names and signs."""

    _PATTERN = re.compile(r"\s*(`(?:[^`]|``)*`|\w+|\S)")

    def __init__(self, text: str) -> None:
        self._text = text
        self._rest = iter(self._PATTERN.findall(text))
        self.next = next(self._rest, "")

    def take(self) -> str:
        token, self.next = self.next, next(self._rest, "")
        return token

    def expect(self, sign: str) -> None:
        token = self.take()
        if token != sign:
            found = f'"{token}"' if token else "the end"
            wanted = f'"{sign}"' if sign else "the end"
            raise StatementError(
                f'cannot read the type "{self._text.strip()}"',
                detail=f"Found {found} where {wanted} should be.",
                hint='Write columns as "carrier STRING, dep_delay BIGINT".',
            )

    def number(self) -> int:
        if not self.next.isdecimal():
            self.expect("a number")
        return int(self.take())

    def name(self) -> str:
        token = self.take()
        if token.startswith("`") and len(token) > 1:
            return token[1:-1].replace("``", "`")
        if not _WORD.match(token):
            raise StatementError(
                f'cannot read the columns "{self._text.strip()}"',
                detail=f'Found "{token}" where the name of a column should be.',
                hint='Write columns as "carrier STRING, dep_delay BIGINT".',
            )
        return token


def _columns(tokens: _Tokens, *, closing: str) -> tuple[Column, ...]:
    columns = [_column(tokens)]
    while tokens.next == ",":
        tokens.take()
        columns.append(_column(tokens))
    tokens.expect(closing)
    return tuple(columns)


def _column(tokens: _Tokens) -> Column:
    name = tokens.name()
    if tokens.next in {"", ",", ">"}:
        raise StatementError(
            f'column "{name}" has no type', hint=f'Write "{name} STRING", or {{"{name}": str}}.'
        )
    return Column(name, _type(tokens))


def _type(tokens: _Tokens) -> Type:
    word = tokens.take()
    match word.upper():
        case "DECIMAL":
            return _decimal(tokens)
        case "ARRAY":
            tokens.expect("<")
            element = _type(tokens)
            tokens.expect(">")
            return Array(element)
        case "MAP":
            tokens.expect("<")
            key = _type(tokens)
            tokens.expect(",")
            value = _type(tokens)
            tokens.expect(">")
            return Map(key, value)
        case "STRUCT":
            tokens.expect("<")
            return Struct(_columns(tokens, closing=">"))
        case name if name in _PLAIN:
            return _PLAIN[name]
        case _:
            raise _unknown_type(word)


def _decimal(tokens: _Tokens) -> Decimal:
    tokens.expect("(")
    precision = tokens.number()
    scale = DECIMAL_SCALE_DEFAULT
    if tokens.next == ",":
        tokens.take()
        scale = tokens.number()
    tokens.expect(")")
    return Decimal(precision, scale)


def _unknown_type(word: str) -> StatementError:
    known = (*_PLAIN, *_WITH_PARAMETERS)
    if word.upper() == "TIME":
        return StatementError(
            "there is no type TIME",
            detail="Spark cannot read a time of day from a topic yet.",
            hint='Keep it as STRING ("10:00:01"), which has the same order, '
            "or as INT milliseconds.",
        )
    meant = _ELSEWHERE.get(word.upper()) or _ELSEWHERE.get(word.upper().rstrip("0123456789"))
    nearest = [meant] if meant else get_close_matches(word.upper(), known, n=1, cutoff=0.5)
    return StatementError(
        f'unknown type "{word}"',
        detail=f"The types are {', '.join(known)}.",
        hint=f'Did you mean "{nearest[0]}"?' if nearest else "",
    )


_ELSEWHERE: Final = {
    **dict.fromkeys(("TEXT", "STR", "CHAR", "OBJECT", "UUID", "JSON", "UTF", "CATEGORY"), "STRING"),
    **dict.fromkeys(("LONG", "INT", "UINT"), "BIGINT"),
    **dict.fromkeys(("SHORT", "SMALLINT", "TINYINT", "INT32", "INT16", "INT8"), "INT"),
    **dict.fromkeys(("FLOAT", "REAL", "NUMBER"), "DOUBLE"),
    "NUMERIC": "DECIMAL(38,18)",
    **dict.fromkeys(("BINARY", "VARBINARY", "BLOB", "BYTEA"), "BYTES"),
    **dict.fromkeys(("DATETIME", "TIMESTAMPTZ"), "TIMESTAMP"),
    "LIST": "ARRAY",
    "DICT": "MAP",
}
"""Type names of Python, pandas, Polars and databases, without bit widths (`int64`, `text`)."""
