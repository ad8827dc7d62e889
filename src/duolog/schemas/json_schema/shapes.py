"""Shapes: the form in which two JSON Schemas are compared.

A schema is a set of keywords; its shape says what kind of schema they make. Keywords for one type
make one shape. Keywords for several types make a `CombinedShape` of one part for each.

    {"type": "string", "maxLength": 5}       StringShape
    {"type": ["string", "null"]}             CombinedShape(anyOf: StringShape, NullShape)
    {"type": "string", "enum": ["a", "b"]}   CombinedShape(allOf: StringShape, EnumShape)
    {"$ref": "#/definitions/a"}              ReferenceShape
    {"title": "anything"}                    AnyShape

A shape is made at its first use, so a recursive schema needs no recursion here. Two calls for the
same schema return the same object: the comparison keeps its results by identity.

Source: the classes of everit-json-schema and the translation of newer drafts to them, both as
Confluent's registry uses them.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, TypeGuard

from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.json_schema.documents import Documents, Node
from duolog.schemas.json_schema.drafts import DRAFT_4, DRAFT_6, Draft
from duolog.schemas.json_schema.json_text import JsonValue, write

_REFERENCES_MAX: Final = 1000

Number = int | Decimal


@dataclass(eq=False, slots=True, kw_only=True)
class Shape:
    """The annotations of a schema, which every shape has."""

    id: JsonValue = None
    title: JsonValue = None
    description: JsonValue = None
    default: JsonValue = None
    connect_type: JsonValue = None


class AnyShape(Shape):
    """Accepts every value."""


class NoShape(Shape):
    """Accepts no value."""


class BooleanShape(Shape):
    """Accepts true and false."""


class NullShape(Shape):
    """Accepts null."""


@dataclass(eq=False, slots=True, kw_only=True)
class StringShape(Shape):
    """Restricts strings."""

    bounds: Mapping[str, Number] = field(default_factory=dict)
    pattern: str | None = None


@dataclass(eq=False, slots=True, kw_only=True)
class NumberShape(Shape):
    """Restricts numbers."""

    bounds: Mapping[str, Number] = field(default_factory=dict)
    multiple_of: Number | None = None
    integer: bool = False


@dataclass(eq=False, slots=True, kw_only=True)
class ObjectShape(Shape):
    """Restricts objects.

    Attributes:
        additional: the schema of properties without a schema of their own; True if there is none.
        unevaluated: the schema in `unevaluatedProperties`; None if there is none.
    """

    bounds: Mapping[str, Number] = field(default_factory=dict)
    properties: Mapping[str, "SchemaAt"] = field(default_factory=dict)
    patterns: Mapping[str, "SchemaAt"] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    additional: "SchemaAt | bool" = True
    unevaluated: "SchemaAt | None" = None
    property_dependencies: Mapping[str, frozenset[str]] = field(default_factory=dict)
    schema_dependencies: Mapping[str, "SchemaAt"] = field(default_factory=dict)


@dataclass(eq=False, slots=True, kw_only=True)
class ArrayShape(Shape):
    """Restricts arrays.

    Attributes:
        every: the schema of every item; None if the items have schemas by their place.
        items: the schemas of the first items.
        additional: the schema of the items after them; True if there is none.
        unevaluated: the schema in `unevaluatedItems`; None if there is none.
    """

    bounds: Mapping[str, Number] = field(default_factory=dict)
    unique: bool = False
    every: "SchemaAt | None" = None
    items: Sequence["SchemaAt"] = ()
    additional: "SchemaAt | bool" = True
    unevaluated: "SchemaAt | None" = None


@dataclass(eq=False, slots=True, kw_only=True)
class EnumShape(Shape):
    """Accepts the listed values."""

    values: Sequence[JsonValue]


@dataclass(eq=False, slots=True, kw_only=True)
class ConstShape(Shape):
    """Accepts one value."""

    value: JsonValue


@dataclass(eq=False, slots=True, kw_only=True)
class NotShape(Shape):
    """Accepts what another schema refuses."""

    refused: "SchemaAt"


class ConditionalShape(Shape):
    """`if`, `then` and `else`, which the registry does not compare."""


@dataclass(eq=False, slots=True, kw_only=True)
class CombinedShape(Shape):
    """`allOf`, `anyOf` or `oneOf`.

    Attributes:
        criterion: the keyword.
        parts: the branches.
        merges: True if it stands for the keywords of one schema: an `allOf` takes up its parts.
    """

    criterion: str
    parts: Sequence["SchemaAt | Shape"]
    merges: bool = False

    def branches(self) -> list["SchemaAt | Shape"]:
        """Return the branches, with those of parts that dissolve in this combination."""
        branches: list[SchemaAt | Shape] = []
        for part in self.parts:
            shape = part.shape() if isinstance(part, SchemaAt) else part
            above = self.criterion == "allOf"
            if above and isinstance(shape, CombinedShape) and shape.merges:
                branches += shape.parts
            else:
                branches.append(part)
        return branches


@dataclass(eq=False, slots=True, kw_only=True)
class ReferenceShape(Shape):
    """A reference to another schema."""

    target: "SchemaAt"


@dataclass(frozen=True, slots=True)
class SchemaAt:
    """A schema in a document, whose shape is made when it is needed.

    Attributes:
        node: the schema.
        shapes: the shapes of its document.
        start: the schema that a reference led to and this one is below; None below the root. The
            registry loads such a schema once more, so a recursive schema has one difference at
            one level more.
    """

    node: Node
    shapes: "Shapes"
    start: Node | None = None

    def shape(self) -> Shape:
        """Return its shape; a reference stays a reference."""
        return self.shapes.of(self)


def resolved(schema: SchemaAt | Shape) -> Shape:
    """Return the shape of a schema, or of the schema that it refers to in the end."""
    shape = schema.shape() if isinstance(schema, SchemaAt) else schema
    followed = 0
    while isinstance(shape, ReferenceShape):
        followed += 1
        if followed > _REFERENCES_MAX:
            raise InvalidSchemaError(
                "a $ref leads to too many others",
                detail=f"More than {_REFERENCES_MAX} in a row are followed, or they form a cycle.",
                hint="Refer to the schema itself.",
            )
        shape = shape.target.shape()
    return shape


_ANY, _NO = AnyShape(), NoShape()
_NULL: Final[JsonValue] = ["null"]
"""A default of null, which is a default up to draft 7 only, as in Confluent's registry."""


class Shapes:
    """The shapes of one schema and of what it refers to."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._made: dict[tuple[int, int], Shape] = {}
        self._digests: dict[int, bytes] = {}

    def root(self) -> SchemaAt:
        return SchemaAt(self._documents.root, self)

    def below(self, raw: JsonValue, parent: SchemaAt) -> SchemaAt:
        """Return a schema directly below another one."""
        return SchemaAt(self._documents.node(raw, parent.node), self, parent.start)

    def target(self, node: Node) -> SchemaAt | None:
        """Return the schema that a schema refers to, if it does."""
        target = self._documents.target(node)
        return None if target is None else SchemaAt(target, self, target)

    def of(self, schema: SchemaAt) -> Shape:
        raw = schema.node.raw
        if isinstance(raw, bool):
            return _ANY if raw else _NO
        key = id(raw), 0 if schema.start is None else id(schema.start.raw)
        if key not in self._made:
            self._made[key] = self._make(schema, raw)
        return self._made[key]

    def digest(self, node: Node) -> tuple[int, bytes]:
        """Return a value that is equal for equal schemas of one resource."""
        if isinstance(node.raw, bool):
            return 0, bytes([node.raw])
        if id(node.raw) not in self._digests:
            text = write(node.raw, ordered=True)
            self._digests[id(node.raw)] = hashlib.blake2b(text.encode(), digest_size=16).digest()
        # The same `$ref` can mean something else in another resource.
        return id(node.resource), self._digests[id(node.raw)]

    def _make(self, schema: SchemaAt, raw: dict[str, JsonValue]) -> Shape:
        parts = _Parts(schema, raw).parts()
        node = schema.node
        if not parts:
            shape: Shape = AnyShape()
        elif len(parts) == 1:
            shape = parts[0]
        else:
            shape = CombinedShape(criterion="allOf", parts=parts, merges=node.draft.modern)
        if not node.draft.modern:
            shape.id = raw.get(node.draft.id_keyword)
        shape.title, shape.description = raw.get("title"), raw.get("description")
        shape.default = raw.get("default")
        if not node.draft.modern and shape.default is None and "default" in raw:
            shape.default = _NULL
        shape.connect_type = raw.get("connect.type")
        return shape


class _Parts:
    """Makes the parts of the shape of one schema, in the order of its keywords."""

    def __init__(self, schema: SchemaAt, raw: dict[str, JsonValue]) -> None:
        self._schema, self._raw = schema, raw
        self._draft: Draft = schema.node.draft

    def parts(self) -> list[Shape]:
        raw, target = self._raw, self._schema.shapes.target(self._schema.node)
        if target is not None and not self._draft.modern:
            return [ReferenceShape(target=target)]
        parts: dict[str, Shape] = {}
        types = raw.get("type")
        single = types if isinstance(types, str) else None
        listed = (
            [name for name in types if isinstance(name, str)] if isinstance(types, list) else []
        )
        for keyword in raw:
            if keyword in {"$ref", "$dynamicRef", "$recursiveRef"} and target is not None:
                parts["$ref"] = ReferenceShape(target=target)
            elif keyword == "type":
                group = _GROUP_OF.get(single or "", "type")
                parts.setdefault(group, self._typed(single) if single else self._choice(listed))
            elif restricted := self._group(keyword, raw[keyword]):
                if not any(_GROUP_OF.get(name) == restricted for name in listed):
                    parts.setdefault(restricted, self._of_group(restricted, single))
            elif special := self._special(keyword):
                parts.setdefault("if" if keyword in {"then", "else"} else keyword, special)
        return list(parts.values())

    def _group(self, keyword: str, value: JsonValue) -> str | None:
        draft = self._draft
        if draft.modern and keyword in {"properties", "patternProperties"} and not value:
            return None  # The registry finds no property there, so no object either.
        if keyword in draft.objects:
            return "object"
        if keyword in draft.arrays:
            return "array"
        if keyword in draft.numbers:
            return "number"
        return "string" if keyword in draft.strings else None

    def _choice(self, types: Sequence[str]) -> Shape:
        return CombinedShape(criterion="anyOf", parts=[self._typed(name) for name in types])

    def _typed(self, name: str) -> Shape:
        if name == "boolean":
            return BooleanShape()
        if name == "null":
            return NullShape()
        if name not in _GROUP_OF:
            raise InvalidSchemaError(f'"{name[:100]}" is not a type of JSON Schema')
        return self._of_group(_GROUP_OF[name], name)

    def _of_group(self, group: str, type_name: str | None) -> Shape:
        match group:
            case "object":
                return self._object()
            case "array":
                return self._array()
            case "number":
                return self._number(integer=type_name == "integer")
            case _:
                pattern = self._raw.get("pattern")
                return StringShape(
                    bounds=self._bounds("minLength", "maxLength"),
                    pattern=pattern if isinstance(pattern, str) else None,
                )

    def _special(self, keyword: str) -> Shape | None:
        value = self._raw[keyword]
        if keyword in {"allOf", "anyOf", "oneOf"} and isinstance(value, list):
            return CombinedShape(criterion=keyword, parts=[self._at(part) for part in value])
        if keyword == "enum" and isinstance(value, list):
            return EnumShape(values=value)
        if keyword == "const" and self._draft is not DRAFT_4:
            return ConstShape(value=value)
        if keyword == "not":
            return NotShape(refused=self._at(value))
        if keyword in {"if", "then", "else"} and self._draft not in {DRAFT_4, DRAFT_6}:
            return ConditionalShape()
        return None

    def _number(self, *, integer: bool) -> NumberShape:
        bounds = dict(self._bounds("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"))
        for inclusive, exclusive in (
            ("minimum", "exclusiveMinimum"),
            ("maximum", "exclusiveMaximum"),
        ):
            # Draft 4 has one number and a flag.
            if self._raw.get(exclusive) is True and inclusive in bounds:
                bounds[exclusive] = bounds.pop(inclusive)
        multiple_of = self._raw.get("multipleOf")
        return NumberShape(
            bounds=bounds,
            multiple_of=multiple_of if _is_number(multiple_of) else None,
            integer=integer,
        )

    def _object(self) -> ObjectShape:
        raw = self._raw
        required = raw.get("required")
        additional = raw.get("additionalProperties", True)
        lists, schemas = self._dependencies()
        return ObjectShape(
            bounds=self._bounds("minProperties", "maxProperties"),
            properties=self._named("properties"),
            patterns=self._named("patternProperties"),
            required=frozenset(map(str, required)) if isinstance(required, list) else frozenset(),
            additional=additional if isinstance(additional, bool) else self._at(additional),
            unevaluated=self._unevaluated("unevaluatedProperties"),
            property_dependencies=lists,
            schema_dependencies=schemas,
        )

    def _dependencies(self) -> tuple[dict[str, frozenset[str]], dict[str, SchemaAt]]:
        if self._draft.modern:
            listed = self._raw.get("dependentRequired")
            lists = dict(listed) if isinstance(listed, dict) else {}
            schemas = self._named("dependentSchemas")
        else:
            listed = self._raw.get("dependencies")
            lists = dict(listed) if isinstance(listed, dict) else {}
            schemas = {
                name: self._at(value)
                for name, value in lists.items()
                if not isinstance(value, list)
            }
        return {
            name: frozenset(map(str, value))
            for name, value in lists.items()
            # An empty list requires nothing, and the registry does not keep it.
            if isinstance(value, list) and value
        }, schemas

    def _array(self) -> ArrayShape:
        raw = self._raw
        items, prefix = raw.get("items"), raw.get("prefixItems")
        every: JsonValue = None
        places: list[JsonValue] = []
        rest: JsonValue = True
        if isinstance(items, list):
            places, rest = items, raw.get("additionalItems", True)
        elif isinstance(prefix, list) and "prefixItems" in self._draft.arrays:
            places, rest = prefix, True if items is None else items
        elif isinstance(items, bool) and self._draft.modern:
            rest = items
        else:
            every = items
            if not self._draft.modern:
                rest = raw.get("additionalItems", True)
                # The specification ignores `additionalItems` without a list in `items`, the
                # registry only if it is false next to a schema.
                rest = True if items is not None and rest is False else rest
        return ArrayShape(
            bounds=self._bounds("minItems", "maxItems") | self._contains(),
            unique=raw.get("uniqueItems") is True,
            every=None if every is None else self._at(every),
            items=[self._at(item) for item in places],
            additional=rest if isinstance(rest, bool) else self._at(rest),
            unevaluated=self._unevaluated("unevaluatedItems"),
        )

    def _contains(self) -> dict[str, Number]:
        if not self._draft.modern or "contains" not in self._raw:
            return {}
        return {"minContains": 1} | self._bounds("minContains", "maxContains")

    def _unevaluated(self, keyword: str) -> SchemaAt | None:
        if not self._draft.modern or keyword not in self._raw:
            return None
        return self._at(self._raw[keyword])

    def _bounds(self, *keywords: str) -> dict[str, Number]:
        found = ((keyword, self._raw.get(keyword)) for keyword in keywords)
        return {keyword: value for keyword, value in found if _is_number(value)}

    def _named(self, keyword: str) -> dict[str, SchemaAt]:
        named = self._raw.get(keyword)
        return (
            {name: self._at(value) for name, value in named.items()}
            if isinstance(named, dict)
            else {}
        )

    def _at(self, raw: JsonValue) -> SchemaAt:
        return self._schema.shapes.below(raw, self._schema)


_GROUP_OF: Final = {
    "object": "object", "array": "array", "number": "number", "integer": "number",
    "string": "string",
}  # fmt: skip


def _is_number(value: JsonValue) -> TypeGuard[Number]:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)
