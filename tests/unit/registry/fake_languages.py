"""Small languages in the place of the real ones: the rules are tested, not the languages.

AVRO  records of primitive types; a name that is not primitive must be defined or referred to.
JSON  any JSON object; every change is incompatible unless the texts are equal.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.schema import Incompatibility, Language, Policy

_PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")


@dataclass(frozen=True)
class FakeSchema:
    """A schema of one of the small languages."""

    language: Language
    document: object
    references: Mapping[str, str] = field(default_factory=dict)

    @property
    def canonical(self) -> str:
        return json.dumps(self.document, ensure_ascii=False, separators=(",", ":"))

    @property
    def name(self) -> str | None:
        return self.document.get("name") if isinstance(self.document, dict) else None

    def normalized(self) -> str:
        return json.dumps(self.document, ensure_ascii=False, separators=(",", ":"), sort_keys=True)

    def formatted(self, form: str) -> str:
        if form != "resolved":
            return self.canonical
        written: set[str] = set()

        def resolved(node: object) -> object:
            if isinstance(node, str) and node in self.references and node not in written:
                written.add(node)
                return resolved(json.loads(self.references[node]))
            if isinstance(node, list):
                return [resolved(part) for part in node]
            if isinstance(node, dict):
                return {
                    key: resolved(part) if key in {"fields", "type"} else part
                    for key, part in node.items()
                }
            return node

        return json.dumps(resolved(self.document), separators=(",", ":"))

    def incompatibilities(
        self, writer: Self, policy: Policy = Policy.STRICT
    ) -> tuple[Incompatibility, ...]:
        if self.language is Language.JSON:
            if self.canonical == writer.canonical or policy is Policy.LENIENT:
                return ()
            return (Incompatibility("CHANGED", "The {reader} schema is not the {writer} one"),)
        mine, theirs = _fields(self.document), _fields(writer.document)
        if (mine is None) != (theirs is None) or (mine is None and self != writer):
            text = "The type (path '/') of a field in the {reader} schema does not match with the {writer} schema"
            return (Incompatibility("TYPE_MISMATCH", text, "reader type: x"),)
        return tuple(
            Incompatibility(
                "READER_FIELD_MISSING_DEFAULT_VALUE",
                f"The field '{name}' at path '/fields/{index}' in the {{reader}} schema has no "
                "default value and is missing in the {writer} schema",
                name,
            )
            for index, (name, part) in enumerate((mine or {}).items())
            if name not in (theirs or {}) and "default" not in part
        )


def _fields(document: object) -> dict[str, dict[str, object]] | None:
    if not isinstance(document, dict):
        return None
    return {part["name"]: part for part in document["fields"]}


def parse_fake(
    language: Language, text: str, references: Mapping[str, str], *, strict: bool = True
) -> FakeSchema:
    """Parse a schema; a default of the wrong type is refused only if `strict`."""
    try:
        document = json.loads(text)
    except ValueError:
        raise InvalidSchemaError("the text is not JSON") from None
    if language is Language.AVRO:
        known = {*_PRIMITIVES, *references}
        if isinstance(document, str):
            _ensure_known(document, known)
        elif not isinstance(document, dict) or document.get("type") != "record":
            raise InvalidSchemaError("no type")
        else:
            for part in document["fields"]:
                kind = part["type"]
                _ensure_known(kind["name"] if isinstance(kind, dict) else kind, {*known, "T"})
                if strict and kind == "string" and not isinstance(part.get("default", ""), str):
                    raise InvalidSchemaError(f"Invalid default for field {part['name']}")
    return FakeSchema(language, document, references)


def _ensure_known(name: str, known: set[str]) -> None:
    if name not in known:
        raise InvalidSchemaError(f'"{name}" is not a defined name')
