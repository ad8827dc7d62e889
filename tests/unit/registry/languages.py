"""The languages of the tests of the registry: Avro, and a small language in the place of JSON.

In the small language every change is incompatible, unless the policy is LENIENT; it refers to
other schemas without looking at them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.languages import parse
from duolog.schemas.schema import Incompatibility, Language, Policy, Schema


@dataclass(frozen=True)
class SmallSchema:
    """A schema of the small language: any JSON."""

    document: object
    references: Mapping[str, str] = field(default_factory=dict)
    language: Language = Language.JSON
    name: str | None = None

    @property
    def canonical(self) -> str:
        return json.dumps(self.document, ensure_ascii=False, separators=(",", ":"))

    def normalized(self) -> str:
        return json.dumps(self.document, ensure_ascii=False, separators=(",", ":"), sort_keys=True)

    def formatted(self, form: str) -> str:
        return json.dumps(self.references) if form == "resolved" else self.canonical

    def incompatibilities(
        self, writer: Self, policy: Policy = Policy.STRICT
    ) -> tuple[Incompatibility, ...]:
        if self.canonical == writer.canonical or policy is Policy.LENIENT:
            return ()
        return (Incompatibility("CHANGED", "The {reader} schema is not the {writer} one"),)


def parse_small(
    language: Language, text: str, references: Mapping[str, str], *, strict: bool = True
) -> Schema:
    """Parse a schema of Avro or of the small language."""
    if language is Language.AVRO:
        return parse(language, text, references, strict=strict)
    try:
        return SmallSchema(json.loads(text), references)
    except ValueError:
        raise InvalidSchemaError("the text is not JSON") from None
