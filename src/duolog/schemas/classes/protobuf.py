"""Write a shape as a Protobuf schema (proto3).

    str, UUID    string              Decimal   confluent.type.Decimal
    int          int64, or int32     Enum      enum; names start with the name of the enum
    float        double              list      repeated
    bool, bytes  bool, bytes         dict      map
    datetime     Timestamp           T | None  optional
    date         google.type.Date    A | B     oneof, with a field for each type
    time         TimeOfDay           class     message

Fields are numbered in order unless `Meta(number=…)` says otherwise. Protobuf has no defaults: a
field with a default is `optional`, and gets the default of its class when it is not there. A field
of type `T | None` that is not there is None.
"""

import re
from collections.abc import Iterator
from typing import Final

from duolog.schemas.classes.protobuf_names import branch_name, has_presence, is_oneof, value_name
from duolog.schemas.classes.reading import refused
from duolog.schemas.classes.shapes import (
    NO_DEFAULT,
    ChoiceOf,
    DecimalOf,
    FieldOf,
    ListOf,
    MapOf,
    RecordOf,
    Scalar,
    Shape,
    UnionOf,
    without_none,
)
from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.protobuf import parse

_SCALARS: Final = {
    Scalar.TEXT: "string",
    Scalar.UUID: "string",
    Scalar.INT: "int32",
    Scalar.LONG: "int64",
    Scalar.DOUBLE: "double",
    Scalar.BOOLEAN: "bool",
    Scalar.BYTES: "bytes",
    Scalar.DATE: "google.type.Date",
    Scalar.TIME: "google.type.TimeOfDay",
    Scalar.DATETIME: "google.protobuf.Timestamp",
}
_DECIMAL: Final = "confluent.type.Decimal"
_IMPORTS: Final = {
    "google.protobuf.Timestamp": "google/protobuf/timestamp.proto",
    "google.type.Date": "google/type/date.proto",
    "google.type.TimeOfDay": "google/type/timeofday.proto",
    _DECIMAL: "confluent/type/decimal.proto",
}
_META: Final = "confluent/meta.proto"


def schema_text(root: RecordOf) -> str:
    """Return the Protobuf schema of a class.

    Raises:
        InvalidSchemaError: Protobuf cannot express a type.
    """
    text = _Writer(root).text()
    try:
        parse(text, {})
    except InvalidSchemaError as error:
        raise InvalidSchemaError(
            f"cannot make a schema of {root.of.__name__}: {error.message}", hint=error.hint
        ) from error
    return text


class _Writer:
    def __init__(self, root: RecordOf) -> None:
        self._root = root
        self._imports: set[str] = set()
        self._waiting: list[tuple[RecordOf | ChoiceOf, str]] = [(root, "")]
        self._names = {root.name}

    def text(self) -> str:
        """Return the text of the whole schema."""
        definitions = []
        while self._waiting:
            shape, path = self._waiting.pop(0)
            if isinstance(shape, ChoiceOf):
                definitions.append(self._enum(shape, path))
            else:
                definitions.append(self._message(shape, path))
        head = ['syntax = "proto3";']
        if self._root.namespace:
            head.append(f"package {self._root.namespace};")
        head += [f'import "{name}";' for name in sorted(self._imports)]
        return "\n\n".join(["\n".join(head), *definitions]) + "\n"

    def _enum(self, shape: ChoiceOf, path: str) -> str:
        wrong = [one for one in shape.symbols if not re.fullmatch(r"\w+", one, re.ASCII)]
        if wrong:
            raise self._refused(path, f'has the choice "{wrong[0]}", which is not a name')
        values = [f"  {value_name(shape, one)} = {n};" for n, one in enumerate(shape.symbols)]
        return "\n".join([f"enum {shape.name} {{", *values, "}"])

    def _message(self, shape: RecordOf, path: str) -> str:
        lines = [*_comment(shape.doc, ""), f"message {shape.name} {{"]
        number = 0
        for field in shape.fields:
            number = field.number or number + 1
            below = f"{path}.{field.attribute}" if path else field.attribute
            lines += _comment(field.doc, "  ")
            if is_oneof(field.shape):
                assert isinstance(field.shape, UnionOf)
                parts = list(self._oneof(field, field.shape, number, below))
                number += len(field.shape.branches) - 1
                lines += [f"  oneof {field.name} {{", *parts, "  }"]
            else:
                lines.append(self._field(field, number, below))
        return "\n".join([*lines, "}"])

    def _oneof(self, field: FieldOf, shape: UnionOf, first: int, path: str) -> Iterator[str]:
        if field.default is not NO_DEFAULT and field.default is not None:
            raise self._refused(
                path, "is a union with a default, which Protobuf does not have", "Use None."
            )
        for number, branch in enumerate(shape.branches, first):
            if isinstance(branch, ListOf | MapOf):
                raise self._refused(
                    path, "is a union with a list or a dict", "Put it into a class of its own."
                )
            kind = self._type(branch, path)
            yield f"    {kind} {branch_name(field, branch)} = {number}{_options(branch)};"

    def _field(self, field: FieldOf, number: int, path: str) -> str:
        shape = without_none(field.shape)
        if shape is not field.shape and isinstance(shape, ListOf | MapOf):
            raise self._refused(
                path,
                "is a list or dict that may be None, which Protobuf does not have",
                "Use an empty list or dict for None.",
            )
        if isinstance(shape, ListOf | MapOf) and field.default not in (
            NO_DEFAULT,
            [],
            {},
            set(),
            (),
        ):
            raise self._refused(path, "has a default that is not empty", "Protobuf has none.")
        end = f"{field.name} = {number}{_options(shape)};"
        match shape:
            case ListOf(item=item):
                return f"  repeated {self._inner(item, f'{path}[]')} {end}"
            case MapOf(key=key, value=value):
                assert isinstance(key, Scalar), key
                kinds = f"{_SCALARS[key]}, {self._inner(value, f'{path}{{}}')}"
                return f"  map<{kinds}> {end}"
            case _:
                word = "optional " if has_presence(field) else ""
                return f"  {word}{self._type(shape, path)} {end}"

    def _inner(self, shape: Shape, path: str) -> str:
        if isinstance(shape, ListOf | MapOf | UnionOf):
            what = {ListOf: "a list", MapOf: "a dict"}.get(type(shape), "a union or may be None")
            raise self._refused(
                path,
                f"is {what} inside a list or dict, which Protobuf does not have",
                "Put it into a class of its own.",
            )
        return self._type(shape, path)

    def _type(self, shape: Shape, path: str) -> str:
        match shape:
            case Scalar():
                name = _SCALARS[shape]
            case DecimalOf():
                name = _DECIMAL
                self._imports.add(_META)
            case ChoiceOf() | RecordOf():
                name = shape.name
                if name not in self._names:
                    self._names.add(name)
                    self._waiting.append((shape, path))
            case _:
                raise AssertionError(shape)
        if name in _IMPORTS:
            self._imports.add(_IMPORTS[name])
        return name

    def _refused(self, path: str, why: str, hint: str = "") -> InvalidSchemaError:
        return refused(self._root.of, path, why, hint)


def _comment(doc: str | None, indent: str) -> list[str]:
    return [f"{indent}// {line}".rstrip() for line in (doc or "").splitlines()]


def _options(shape: Shape) -> str:
    inner = shape.item if isinstance(shape, ListOf) else shape
    if not isinstance(inner, DecimalOf):
        return ""
    return (
        ' [(confluent.field_meta) = {params: [{key: "precision", value: '
        f'"{inner.precision}"}}, {{key: "scale", value: "{inner.scale}"}}]}}]'
    )
