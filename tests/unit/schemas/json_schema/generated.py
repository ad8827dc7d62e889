"""Random JSON Schemas, schemas that evolve from them, and values near their limits.

The comparison of schemas is tested with what a person changes: a property more, a bound moved, a
branch of a combination dropped. Values are made from the same few names and numbers, so that many
of them are valid.
"""

import copy
from typing import TYPE_CHECKING, Final

from duolog.schemas.json_schema.json_text import JsonValue

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

Raw = dict[str, JsonValue]

URIS: Final = {
    4: "http://json-schema.org/draft-04/schema#",
    6: "http://json-schema.org/draft-06/schema#",
    7: "http://json-schema.org/draft-07/schema#",
    2019: "https://json-schema.org/draft/2019-09/schema",
    2020: "https://json-schema.org/draft/2020-12/schema",
}
_NAMES: Final = ("a", "b", "c", "ab", "x1")
_TYPES: Final = ("string", "integer", "number", "boolean", "null", "object", "array")
_PATTERNS: Final = ("^a", "b$", "[0-9]", "^x")
_SCALARS: Final[tuple[JsonValue, ...]] = (
    None,
    True,
    False,
    0,
    1,
    2,
    3,
    4,
    6,
    "",
    "a",
    "ab",
    "b1",
    "xyz",
)


class SchemaMaker:
    """Makes random schemas of one draft.

    Args:
        rng: the source of chance.
        draft: 4, 6, 7, 2019 or 2020.
        sound: leave out all that the registry is known to compare leniently.
    """

    def __init__(self, rng: "random.Random", draft: int, *, sound: bool = False) -> None:
        self.rng = rng
        self.draft = draft
        self.sound = sound
        self.definitions: list[str] = []

    def document(self) -> Raw:
        """Return a schema with `$schema` and, sometimes, definitions that refer to each other."""
        bucket = "$defs" if self.draft >= 2019 else "definitions"
        self.definitions = [f"#/{bucket}/{name}" for name in "PQ"][: self.rng.choice((0, 0, 1, 2))]
        document = self.object(3) if self.rng.random() < 0.5 else self.schema(3)
        document = document if isinstance(document, dict) else {"type": "object"}
        if self.definitions:
            document[bucket] = {
                name: self.object(1) for name, _ in zip("PQ", self.definitions, strict=False)
            }
        return {"$schema": URIS[self.draft], **document}

    def schema(self, depth: int) -> JsonValue:
        rng = self.rng
        if self.draft >= 6 and rng.random() < 0.06:
            return rng.random() < 0.6
        makers: list[Callable[[int], Raw]] = [self.scalar, self.scalar, self.enum]
        if depth > 0:
            makers += [
                self.object,
                self.object,
                self.array,
                self.combination,
                self.types,
                self.other,
            ]
        if self.definitions:
            makers.append(lambda _: {"$ref": rng.choice(self.definitions)})
        made = rng.choice(makers)(depth)
        if rng.random() < 0.1:
            made["title"] = rng.choice("TU")
        if rng.random() < 0.1 and not self.sound:
            made["default"] = rng.choice(_SCALARS)
        return made

    def scalar(self, _depth: int) -> Raw:
        rng = self.rng
        kind = rng.choice(_TYPES[:5])
        made: Raw = {"type": kind}
        if kind == "string":
            made.update(self._some({
                "minLength": rng.randrange(3), "maxLength": rng.randrange(1, 4),
                "pattern": rng.choice(_PATTERNS),
            }))  # fmt: skip
        elif kind in {"integer", "number"}:
            bounds: Raw = {
                "minimum": rng.randrange(3), "maximum": rng.randrange(2, 6),
                "multipleOf": rng.choice((1, 2, 3, 4)),
            }  # fmt: skip
            if self.draft > 4:
                bounds |= {
                    "exclusiveMinimum": rng.randrange(3),
                    "exclusiveMaximum": rng.randrange(2, 6),
                }
            made.update(self._some(bounds))
        if rng.random() < 0.1 and not self.sound:
            del made["type"]
        return made

    def enum(self, _depth: int) -> Raw:
        if self.draft > 4 and self.rng.random() < 0.3:
            return {"const": self.rng.choice(_SCALARS[1:])}
        values: list[JsonValue] = list(
            self.rng.sample(("a", "ab", 7, "b1", "xyz"), self.rng.randrange(1, 4))
        )
        made: Raw = {"enum": values}
        return made if self.rng.random() < 0.6 else {"type": "string", **made}

    def types(self, depth: int) -> Raw:
        kinds: list[JsonValue] = list(self.rng.sample(_TYPES, self.rng.choice((1, 2, 2, 3))))
        made: Raw = {"type": kinds}
        if "string" in kinds or (self.rng.random() < 0.1 and not self.sound):
            made |= self._some({"minLength": self.rng.randrange(3)})
        if "object" in kinds:
            made |= {key: value for key, value in self.object(depth - 1).items() if key != "type"}
        return made

    def object(self, depth: int) -> Raw:
        rng = self.rng
        names = rng.sample(_NAMES, rng.randrange(4))
        made: Raw = {
            "type": "object",
            "properties": {name: self.schema(depth - 1) for name in names},
        }
        extra: Raw = {
            "additionalProperties": rng.choice((True, False, False, self.object_or_scalar(depth))),
            "minProperties": rng.randrange(2), "maxProperties": rng.randrange(1, 4),
            "patternProperties": {rng.choice(_PATTERNS): self.schema(depth - 1)},
        }  # fmt: skip
        required: list[JsonValue] = [name for name in names if rng.random() < 0.4]
        if required:
            made["required"] = required
        lists: list[JsonValue] = list(rng.sample(_NAMES, rng.randrange(1, 3)))
        if self.draft < 2019:
            dependency = lists if self.sound else rng.choice((lists, self.required(lists)))
            extra["dependencies"] = {rng.choice(_NAMES): dependency}
        else:
            extra["dependentRequired"] = {rng.choice(_NAMES): lists}
            extra["dependentSchemas"] = {rng.choice(_NAMES): self.required(lists)}
            extra["unevaluatedProperties"] = self.strings_only()
        if self.sound:
            for keyword in ("patternProperties", "dependentSchemas", "unevaluatedProperties"):
                extra.pop(keyword, None)
        made |= self._some(extra, 0.15)
        if rng.random() < 0.1 and not self.sound:
            del made["type"]
        return made

    def strings_only(self) -> JsonValue:
        strings: Raw = {"type": "string"}
        return self.rng.choice((True, False, strings))

    def required(self, names: list[JsonValue]) -> Raw:
        return {"required": names, "properties": {self.rng.choice(_NAMES): self.scalar(0)}}

    def object_or_scalar(self, depth: int) -> JsonValue:
        return self.object(depth - 1) if depth > 1 and self.rng.random() < 0.3 else self.scalar(0)

    def array(self, depth: int) -> Raw:
        rng = self.rng
        made: Raw = {"type": "array"}
        extra: Raw = {
            "minItems": rng.randrange(3), "maxItems": rng.randrange(1, 4), "uniqueItems": rng.random() < 0.5,
        }  # fmt: skip
        if rng.random() < 0.5:
            made["items"] = self.schema(depth - 1)
        else:
            places: list[JsonValue] = [self.schema(depth - 1) for _ in range(rng.randrange(1, 3))]
            made["prefixItems" if self.draft == 2020 else "items"] = places
            rest = "items" if self.draft == 2020 else "additionalItems"
            extra[rest] = rng.choice((False, True, self.scalar(0)))
        if self.draft >= 2019 and not self.sound:
            extra["unevaluatedItems"] = self.strings_only()
            extra["contains"] = self.scalar(0)
            extra["minContains"], extra["maxContains"] = rng.randrange(2), rng.randrange(1, 3)
        made |= self._some(extra, 0.25)
        return made

    def combination(self, depth: int) -> Raw:
        criterion = self.rng.choice(
            ("anyOf", "allOf") if self.sound else ("oneOf", "anyOf", "allOf")
        )
        parts: list[JsonValue] = [self.schema(depth - 1) for _ in range(self.rng.randrange(1, 4))]
        made: Raw = {criterion: parts}
        return made if self.rng.random() < 0.8 else {"type": "object", **made}

    def other(self, depth: int) -> Raw:
        return {"not": self.schema(depth - 1)}

    def _some(self, keywords: Raw, chance: float = 0.35) -> Raw:
        return {key: value for key, value in keywords.items() if self.rng.random() < chance}


def evolved(maker: SchemaMaker, schema: Raw, changes: int = 1) -> Raw:
    """Return a copy of a schema with a few changes of the kinds that people make."""
    document = copy.deepcopy(schema)
    for _ in range(changes):
        places = [place for place in _places(document) if place is not document] or [document]
        _change(maker, maker.rng.choice(places))
    return document


_MAPS: Final = frozenset(
    {"properties", "patternProperties", "definitions", "$defs", "dependencies", "dependentSchemas"}
)
_VALUES: Final = frozenset({"enum", "const", "default", "required", "type", "dependentRequired"})


def _places(document: Raw) -> list[Raw]:
    """Return every schema in a document."""
    found: list[Raw] = []
    stack: list[JsonValue] = [document]
    while stack:
        item = stack.pop()
        if isinstance(item, list):
            stack += item
        elif isinstance(item, dict):
            found.append(item)
            for key, value in item.items():
                if key in _MAPS and isinstance(value, dict):
                    stack += value.values()
                elif key not in _VALUES:
                    stack.append(value)
    return found


_ADDED: Final[Raw] = {
    "title": "V", "minLength": 2, "maxProperties": 2, "default": 1, "minimum": 2,
    "additionalProperties": False,
}  # fmt: skip

_RESTRICTS: Final = {
    "minLength": ("string",), "maxProperties": ("object",), "additionalProperties": ("object",),
    "minimum": ("integer", "number"),
}  # fmt: skip


def _change(maker: SchemaMaker, place: Raw) -> None:
    rng = maker.rng
    if not place or rng.random() < 0.15:
        added = rng.choice(list(_ADDED))
        if not maker.sound or place.get("type") in _RESTRICTS.get(added, ()):
            place[added] = _ADDED[added]
        return
    keyword = rng.choice(list(place))
    if keyword.startswith(("$schema", "$ref", "$defs", "definitions")):
        return
    if maker.sound and keyword in {"type", "required", "items", "prefixItems"}:
        if keyword == "type":
            kept = {key: place[key] for key in place if key.startswith(("$", "def"))}
            place.clear()
            place.update(kept)
            place["type"] = rng.choice(_TYPES)
        elif isinstance(names := place[keyword], list) and len(names) > 1:
            place[keyword] = names[1:]
        return
    if rng.random() < 0.2:
        del place[keyword]
    else:
        place[keyword] = _changed(maker, keyword, place[keyword])


def _changed(maker: SchemaMaker, keyword: str, value: JsonValue) -> JsonValue:
    rng = maker.rng
    changed = value
    match value:
        case _ if keyword == "type":
            several: list[JsonValue] = [rng.choice(("string", "integer")), "null"]
            changed = rng.choice((*_TYPES, several))
        case bool():
            changed = not value
        case int():
            step = max(0, value + rng.choice((-1, 1)))
            changed = rng.choice((1, 2, 4, 6)) if keyword == "multipleOf" else step
        case list() if len(value) > 1 and rng.random() < 0.4:
            changed = value[1:]
        case list():
            schemas = keyword in {"allOf", "anyOf", "oneOf", "items", "prefixItems"}
            added = [maker.schema(1)] if schemas else [*sorted({"q", "b"} - set(map(str, value)))]
            changed = [*value, *added]
        case dict() if keyword in {"properties", "patternProperties"}:
            name = rng.choice(_NAMES if keyword == "properties" else _PATTERNS)
            changed = value | {name: maker.schema(1)}
        case dict() if keyword in {"items", "not", "additionalProperties", "contains"}:
            changed = maker.schema(1)
    return changed


def value_near(rng: "random.Random", depth: int = 3) -> JsonValue:
    """Return a random value of the names and numbers that the schemas use."""
    kind = rng.random()
    if depth > 0 and kind < 0.45:
        return {name: value_near(rng, depth - 1) for name in rng.sample(_NAMES, rng.randrange(4))}
    if depth > 0 and kind < 0.6:
        return [value_near(rng, depth - 1) for _ in range(rng.randrange(4))]
    return rng.choice(_SCALARS)
