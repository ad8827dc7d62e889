"""Write a shape as an Avro schema.

    str       string                      Decimal   bytes, decimal
    int       long; int for 32 bits       Enum      enum of the members' names
    float     double                      list      array
    bytes     bytes                       dict      map; array of MapEntry if keys are not texts
    date      int, date                   T | None  [null, T]; the default's type is the first
    time      long, time-micros           class     record
    datetime  long, timestamp-micros      UUID      string, uuid

A default of a field is the default in the schema. It makes a field that is added later readable in
older records.
"""

import json
import re
from typing import Final

from duolog.schemas.avro import parse
from duolog.schemas.avro.types import Json
from duolog.schemas.classes import unions
from duolog.schemas.classes.avro_values import ToAvro, kind_of
from duolog.schemas.classes.checks import WrongValueError
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
)
from duolog.schemas.errors import InvalidSchemaError

_SCALARS: Final[dict[Scalar, Json]] = {
    Scalar.TEXT: "string",
    Scalar.INT: "int",
    Scalar.LONG: "long",
    Scalar.DOUBLE: "double",
    Scalar.BOOLEAN: "boolean",
    Scalar.BYTES: "bytes",
    Scalar.DATE: {"type": "int", "logicalType": "date"},
    Scalar.TIME: {"type": "long", "logicalType": "time-micros"},
    Scalar.DATETIME: {"type": "long", "logicalType": "timestamp-micros"},
    Scalar.UUID: {"type": "string", "logicalType": "uuid"},
}


def schema_text(root: RecordOf) -> str:
    """Return the Avro schema of a class.

    Raises:
        InvalidSchemaError: Avro cannot express a type or a default.
    """
    text = json.dumps(_Writer(root).of(root, ""), indent=2, ensure_ascii=False)
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
        self._known: set[str] = set()
        self._values = ToAvro(root.namespace, names_branches=False)

    def of(self, shape: Shape, path: str) -> Json:  # noqa: PLR0911 - a table of cases
        match shape:
            case Scalar():
                return _SCALARS[shape]
            case DecimalOf(precision=precision, scale=scale):
                return {
                    "type": "bytes",
                    "logicalType": "decimal",
                    "precision": precision,
                    "scale": scale,
                }
            case ChoiceOf():
                return self._enum(shape, path)
            case ListOf(item=item):
                return {"type": "array", "items": self.of(item, f"{path}[]")}
            case MapOf(key=key, value=value) if key == Scalar.TEXT:
                return {"type": "map", "values": self.of(value, f"{path}{{}}")}
            case MapOf():
                return self._entries(shape, path)
            case UnionOf(branches=branches, nullable=null):
                return self._union(branches, path, nullable=null)
            case RecordOf():
                return self._record(shape, path)

    def _record(self, shape: RecordOf, path: str) -> Json:
        if shape.name in self._known:
            return self._reference(shape.name)
        self._known.add(shape.name)
        return {
            **self._head("record", shape.name),
            **({"doc": shape.doc} if shape.doc else {}),
            **({"aliases": list(shape.aliases)} if shape.aliases else {}),
            "fields": [
                self._field(field, f"{path}.{field.attribute}" if path else field.attribute)
                for field in shape.fields
            ],
        }

    def _field(self, field: FieldOf, path: str) -> Json:
        shape = field.shape
        default: dict[str, Json] = {}
        if field.default is not NO_DEFAULT:
            shape = _default_first(shape, field.default)
            default = {"default": self._default(field.default, shape, path)}
        return {
            "name": field.name,
            "type": self.of(shape, path),
            **({"doc": field.doc} if field.doc else {}),
            **default,
            **({"aliases": list(field.aliases)} if field.aliases else {}),
        }

    def _enum(self, shape: ChoiceOf, path: str) -> Json:
        wrong = [one for one in shape.symbols if not one.isidentifier() or not one.isascii()]
        if wrong:
            raise refused(
                self._root.of,
                path,
                f'has the choice "{wrong[0]}", which is not a name in Avro',
                "Use an Enum whose members have names of letters, digits and underscores.",
            )
        if shape.name in self._known:
            return self._reference(shape.name)
        self._known.add(shape.name)
        return {**self._head("enum", shape.name), "symbols": list(shape.symbols)}

    def _entries(self, shape: MapOf, path: str) -> Json:
        # The form of Kafka Connect for maps that Avro does not have; see schemas.avro.columns.
        words = re.findall(r"[A-Za-z0-9]+", path)
        name = "".join(word[:1].upper() + word[1:] for word in [self._root.name, *words]) + "Entry"
        self._known.add(name)
        return {
            "type": "array",
            "items": {
                **self._head("record", name),
                "fields": [
                    {"name": "key", "type": self.of(shape.key, f"{path}{{key}}")},
                    {"name": "value", "type": self.of(shape.value, f"{path}{{}}")},
                ],
                "connect.internal.type": "MapEntry",
            },
        }

    def _union(self, branches: tuple[Shape, ...], path: str, *, nullable: bool) -> Json:
        clash = unions.clash(branches, kind_of)
        if clash is not None:
            raise refused(
                self._root.of, path, f"is a union in which Avro does not distinguish {clash}"
            )
        texts = [shape for shape in branches if kind_of(shape) == "string"]
        if texts and any(isinstance(shape, ChoiceOf) for shape in branches):
            raise refused(self._root.of, path, "is a union of texts and choices")
        if len(branches) == 1 and not nullable:
            return self.of(branches[0], path)
        written = [self.of(branch, path) for branch in branches]
        if not nullable:
            return written
        # A default that is not None is in the first branch; see `_default_first`.
        return [*written, "null"] if isinstance(branches, _DefaultFirst) else ["null", *written]

    def _default(self, value: object, shape: Shape, path: str) -> Json:
        try:
            return _as_json(self._values.of(shape, path)(value))
        except WrongValueError as error:
            raise refused(self._root.of, path, f"has a wrong default: {error}") from error

    def _head(self, kind: str, name: str) -> dict[str, Json]:
        space = self._root.namespace
        return {"type": kind, "name": name, **({"namespace": space} if space else {})}

    def _reference(self, name: str) -> str:
        return f"{self._root.namespace}.{name}" if self._root.namespace else name


class _DefaultFirst(tuple[Shape, ...]):
    """The branches of a union whose first one has the default."""

    __slots__ = ()


def _default_first(shape: Shape, default: object) -> Shape:
    """Return a union with the branch of a default at its start, as Avro demands."""
    if not isinstance(shape, UnionOf) or default is None:
        return shape
    number = unions.branch_of(shape.branches, default) or 0
    branches = shape.branches
    ordered = (branches[number], *branches[:number], *branches[number + 1 :])
    return UnionOf(_DefaultFirst(ordered), shape.nullable)


def _as_json(value: object) -> Json:
    """Return a default as JSON: bytes are texts of Latin-1 in Avro's schemas."""
    match value:
        case bytes():
            return value.decode("latin-1")
        case list():
            return [_as_json(one) for one in value]
        case dict():
            return {str(name): _as_json(one) for name, one in value.items()}
        case None | bool() | int() | float() | str():
            return value
        case _:
            raise AssertionError(value)
