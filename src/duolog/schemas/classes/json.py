"""Write a shape as a JSON Schema of draft 7.

    str, UUID              string, uuid         Decimal   number, with the title of Kafka Connect
    int                    integer              Enum      enum of texts
    float                  number               list      array
    bytes                  string, base64       dict      object with additionalProperties
    date, time, datetime   string, ISO 8601     T | None  oneOf null and T
                                                class     object in `definitions`

An object accepts no other properties, so that a field which is added later with a default is a
compatible change. Fields without a default are required. The attributes `connect.…` give SQL the
types of columns.
"""

import json
from typing import Final

from duolog.schemas.classes import unions
from duolog.schemas.classes.checks import WrongValueError
from duolog.schemas.classes.json_values import ToJson, kind_of
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
from duolog.schemas.json_schema import parse

_DRAFT: Final = "http://json-schema.org/draft-07/schema#"
_DECIMAL: Final = "org.apache.kafka.connect.data.Decimal"
_SCALARS: Final[dict[Scalar, dict[str, object]]] = {
    Scalar.TEXT: {"type": "string"},
    Scalar.INT: {
        "type": "integer",
        "connect.type": "int32",
        "minimum": -(2**31),
        "maximum": 2**31 - 1,
    },
    Scalar.LONG: {"type": "integer", "connect.type": "int64"},
    Scalar.DOUBLE: {"type": "number", "connect.type": "float64"},
    Scalar.BOOLEAN: {"type": "boolean"},
    Scalar.BYTES: {"type": "string", "contentEncoding": "base64", "connect.type": "bytes"},
    Scalar.DATE: {"type": "string", "format": "date"},
    # The format "time" of JSON Schema demands a time zone.
    Scalar.TIME: {"type": "string", "pattern": r"^\d\d:\d\d:\d\d(\.\d{6})?$"},
    Scalar.DATETIME: {"type": "string", "format": "date-time"},
    Scalar.UUID: {"type": "string", "format": "uuid"},
}


def schema_text(root: RecordOf) -> str:
    """Return the JSON Schema of a class.

    Raises:
        InvalidSchemaError: JSON cannot express a type or a default.
    """
    writer = _Writer(root)
    schema: dict[str, object] = {"$schema": _DRAFT, **writer.whole(root, "")}
    if writer.definitions:
        schema["definitions"] = dict(writer.definitions)
    text = json.dumps(schema, indent=2, ensure_ascii=False)
    parse(text, {})
    return text


class _Writer:
    def __init__(self, root: RecordOf) -> None:
        self._root = root
        self.definitions: dict[str, object] = {}
        self._values = ToJson()

    def of(  # noqa: PLR0911 - a table of cases
        self, shape: Shape, path: str
    ) -> dict[str, object]:
        """Return the schema of a type."""
        match shape:
            case Scalar():
                return dict(_SCALARS[shape])
            case DecimalOf(precision=precision, scale=scale):
                return _decimal(precision, scale)
            case ChoiceOf(texts=texts):
                return {"type": "string", "enum": list(texts)}
            case ListOf(item=item):
                return {"type": "array", "items": self.of(item, f"{path}[]")}
            case MapOf(key=key, value=value):
                if key != Scalar.TEXT:
                    raise refused(
                        self._root.of,
                        path,
                        "is a dict whose keys are not texts, which JSON does not have",
                        "Use dict[str, ...], or another format.",
                    )
                others = self.of(value, f"{path}{{}}")
                return {"type": "object", "connect.type": "map", "additionalProperties": others}
            case UnionOf():
                return self._union(shape, path)
            case RecordOf():
                return self._reference(shape, path)

    def whole(self, shape: RecordOf, path: str) -> dict[str, object]:
        """Return the schema of a class, written out."""
        required: list[object] = [
            field.name
            for field in shape.fields
            if field.default is NO_DEFAULT and not field.has_factory
        ]
        return {
            "title": f"{self._root.namespace}.{shape.name}" if self._root.namespace else shape.name,
            **({"description": shape.doc} if shape.doc else {}),
            "type": "object",
            "properties": {
                field.name: self._field(
                    field, f"{path}.{field.attribute}" if path else field.attribute
                )
                for field in shape.fields
            },
            **({"required": required} if required else {}),
            "additionalProperties": False,
        }

    def _field(self, field: FieldOf, path: str) -> dict[str, object]:
        schema = self.of(field.shape, path)
        more: dict[str, object] = {}
        if field.doc:
            more["description"] = field.doc
        if field.default is not NO_DEFAULT and not field.may_be_missing:
            try:
                default = self._values.of(field.shape, path)(field.default)
            except WrongValueError as error:
                raise refused(self._root.of, path, f"has a wrong default: {error}") from error
            more["default"] = _without_decimals(default)
        if more and "$ref" in schema:  # nothing counts next to $ref in draft 7
            return {"allOf": [schema], **more}
        return {**schema, **more}

    def _union(self, shape: UnionOf, path: str) -> dict[str, object]:
        records = [one for one in shape.branches if isinstance(one, RecordOf)]
        others = [one for one in shape.branches if not isinstance(one, RecordOf)]
        if len(records) > 1 and unions.tag_of(records) is None:
            raise refused(
                self._root.of,
                path,
                "is a union of classes that JSON does not distinguish",
                'Give each class a field of another Literal: kind: Literal["card"].',
            )
        clash = unions.clash([*others, *records[:1]], kind_of)
        if clash is not None:
            raise refused(
                self._root.of, path, f"is a union in which JSON does not distinguish {clash}"
            )
        written: list[object] = [self.of(branch, path) for branch in shape.branches]
        if shape.nullable:
            written.insert(0, {"type": "null"})
        if len(written) == 1:
            return self.of(shape.branches[0], path)
        return {"oneOf": written}

    def _reference(self, shape: RecordOf, path: str) -> dict[str, object]:
        if shape is self._root:
            return {"$ref": "#"}
        if shape.name not in self.definitions:
            self.definitions[shape.name] = {}
            self.definitions[shape.name] = self.whole(shape, path)
        return {"$ref": f"#/definitions/{shape.name}"}


def _decimal(precision: int, scale: int) -> dict[str, object]:
    return {
        "type": "number",
        "title": _DECIMAL,
        "connect.type": "bytes",
        "connect.parameters": {"scale": str(scale), "connect.decimal.precision": str(precision)},
    }


def _without_decimals(value: object) -> object:
    match value:
        case list():
            return [_without_decimals(one) for one in value]
        case dict():
            return {str(name): _without_decimals(one) for name, one in value.items()}
        case None | bool() | int() | float() | str():
            return value
        case _:
            return float(str(value))  # a Decimal: defaults are for people and other programs
