"""The drafts of JSON Schema: their names, and where a schema contains other schemas.

A schema without `$schema`, or with an unknown one, is of draft 7, as in Confluent's registry.

Source: the specifications and meta-schemas of drafts 4, 6, 7, 2019-09 and 2020-12.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import jsonschema
from jsonschema_specifications import REGISTRY as META_SCHEMAS

from duolog.schemas.json_schema.json_text import JsonValue

_LISTS = frozenset({"allOf", "anyOf", "oneOf"})
_STRINGS_4 = frozenset({"minLength", "maxLength", "pattern", "format"})
_STRINGS_2019 = _STRINGS_4 - {"format"}
_NUMBERS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
_ARRAYS_4 = frozenset({"items", "additionalItems", "minItems", "maxItems", "uniqueItems"})
_ARRAYS_6 = _ARRAYS_4 | {"contains"}
_ARRAYS_2019 = _ARRAYS_6 | {"unevaluatedItems"}
_ARRAYS_2020 = _ARRAYS_2019 - {"additionalItems"} | {"prefixItems"}
_OBJECTS_4 = frozenset(
    {
        "properties", "required", "minProperties", "maxProperties", "dependencies",
        "patternProperties", "additionalProperties",
    }
)  # fmt: skip
_OBJECTS_6 = _OBJECTS_4 | {"propertyNames"}
_OBJECTS_2019 = _OBJECTS_6 - {"dependencies"} | {
    "dependentRequired", "dependentSchemas", "unevaluatedProperties",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Draft:
    """One version of the language.

    Attributes:
        name: its name in messages.
        number: its place in the order of drafts.
        uri: the URI of its meta-schema.
        validator: the class of the library `jsonschema` that implements it.
        one: keywords whose value is a schema.
        several: keywords whose value is a list of schemas.
        named: keywords whose value is an object of schemas.
        strings: keywords that restrict strings only; likewise `numbers`, `arrays`, `objects`.
    """

    name: str
    number: int
    uri: str
    validator: type[jsonschema.protocols.Validator]
    one: frozenset[str]
    several: frozenset[str]
    named: frozenset[str]
    strings: frozenset[str]
    arrays: frozenset[str]
    objects: frozenset[str]
    numbers: frozenset[str] = _NUMBERS

    @property
    def id_keyword(self) -> str:
        return "id" if self.number == 4 else "$id"

    @property
    def modern(self) -> bool:
        """True from 2019-09: `$ref` has siblings, `$defs` and `$anchor` exist."""
        return self.number >= 8

    @cached_property
    def in_place(self) -> frozenset[str]:
        """Keywords whose schemas apply to the same value as the schema that contains them."""
        return frozenset({"not", "if", "then", "else", "dependentSchemas", "dependencies"}) | _LISTS

    @cached_property
    def containers(self) -> frozenset[str]:
        """Keywords whose values contain schemas."""
        return self.one | self.several | self.named

    @cached_property
    def applicators(self) -> frozenset[str]:
        """Keywords whose schemas can apply to a value.

        Before 2019-09, a definition that nothing refers to is never looked at, so a broken `$ref`
        in it is not an error.
        """
        return self.containers if self.modern else self.containers - {"definitions"}

    @cached_property
    def known(self) -> frozenset[str]:
        """Keywords that the meta-schema restricts."""
        meta_schemas = [self.validator.META_SCHEMA]
        if self.modern:
            base = self.uri.removesuffix("schema")
            meta_schemas += [
                META_SCHEMAS.contents(f"{base}meta/{name}") for name in self._vocabularies
            ]
        return frozenset(name for meta in meta_schemas for name in meta.get("properties", {}))

    @property
    def _vocabularies(self) -> tuple[str, ...]:
        return tuple(
            part["$ref"].removeprefix("meta/") for part in self.validator.META_SCHEMA["allOf"]
        )

    def subschemas(self, schema: dict[str, JsonValue]) -> Iterator[tuple[str, JsonValue]]:
        """Yield the way to each schema directly below `schema`, and its value.

        The value may have any type: a later check refuses what is not a schema. A long name is
        cut, because the way is for messages only.
        """
        for keyword, value in schema.items():
            yield from self.subschemas_of(keyword, value)

    def subschemas_of(self, keyword: str, value: JsonValue) -> Iterator[tuple[str, JsonValue]]:
        """Yield what `subschemas` yields for one keyword."""
        # 2020-12 has no list in `items`, but an unchecked schema may have one.
        listed = keyword in self.several or keyword == "items"
        if isinstance(value, list) and listed:
            yield from ((f"{keyword}/{index}", item) for index, item in enumerate(value))
        elif keyword in self.one:
            yield keyword, value
        elif keyword in self.named and isinstance(value, dict):
            for name, item in value.items():
                if keyword != "dependencies" or not isinstance(item, list):
                    yield f"{keyword}/{name[:60]}", item


_ONE_4 = frozenset({"items", "additionalItems", "additionalProperties", "not"})
_ONE_6 = _ONE_4 | {"contains", "propertyNames"}
_ONE_7 = _ONE_6 | {"if", "then", "else"}
_ONE_2019 = _ONE_7 | {"unevaluatedItems", "unevaluatedProperties", "contentSchema"}
_NAMED_4 = frozenset({"properties", "patternProperties", "definitions", "dependencies"})
_NAMED_2019 = _NAMED_4 | {"$defs", "dependentSchemas"}

DRAFT_4 = Draft(
    "draft 4", 4, "http://json-schema.org/draft-04/schema", jsonschema.Draft4Validator,
    _ONE_4, _LISTS, _NAMED_4, _STRINGS_4, _ARRAYS_4, _OBJECTS_4,
)  # fmt: skip
DRAFT_6 = Draft(
    "draft 6", 6, "http://json-schema.org/draft-06/schema", jsonschema.Draft6Validator,
    _ONE_6, _LISTS, _NAMED_4, _STRINGS_4, _ARRAYS_6, _OBJECTS_6,
)  # fmt: skip
DRAFT_7 = Draft(
    "draft 7", 7, "http://json-schema.org/draft-07/schema", jsonschema.Draft7Validator,
    _ONE_7, _LISTS, _NAMED_4, _STRINGS_4, _ARRAYS_6, _OBJECTS_6,
)  # fmt: skip
DRAFT_2019 = Draft(
    "draft 2019-09", 8, "https://json-schema.org/draft/2019-09/schema",
    jsonschema.Draft201909Validator,
    _ONE_2019, _LISTS, _NAMED_2019, _STRINGS_2019, _ARRAYS_2019, _OBJECTS_2019,
)  # fmt: skip
DRAFT_2020 = Draft(
    "draft 2020-12", 9, "https://json-schema.org/draft/2020-12/schema",
    jsonschema.Draft202012Validator,
    _ONE_2019 - {"additionalItems"}, _LISTS | {"prefixItems"}, _NAMED_2019,
    _STRINGS_2019, _ARRAYS_2020, _OBJECTS_2019,
)  # fmt: skip
DRAFTS: Final = (DRAFT_4, DRAFT_6, DRAFT_7, DRAFT_2019, DRAFT_2020)

_BY_URI: Final = {
    uri: draft
    for draft in DRAFTS
    for uri in (
        draft.uri,
        draft.uri.replace("http:", "https:"),
        draft.uri.replace("https:", "http:"),
    )
} | {f"{scheme}://json-schema.org/schema": DRAFT_4 for scheme in ("http", "https")}


def draft_of(schema: JsonValue, default: Draft = DRAFT_7) -> Draft:
    """Return the draft that a schema names in `$schema`, or `default`."""
    uri = schema.get("$schema") if isinstance(schema, dict) else None
    return _BY_URI.get(uri.removesuffix("#"), default) if isinstance(uri, str) else default
