"""A language for tests of references: any JSON is a schema, and it shows what it was parsed with."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from duolog.schemas.schema import Incompatibility, Language, Policy


@dataclass(frozen=True)
class SmallSchema:
    """A schema of the small language."""

    document: object
    references: Mapping[str, str] = field(default_factory=dict)
    language: Language = Language.JSON
    name: str | None = None

    @property
    def canonical(self) -> str:
        return json.dumps(self.document, separators=(",", ":"))

    def normalized(self) -> str:
        return self.canonical

    def formatted(self, form: str) -> str:
        """Return the references instead of the schema for the form `references`."""
        return json.dumps(self.references) if form == "references" else self.canonical

    def incompatibilities(
        self, writer: Self, policy: Policy = Policy.STRICT
    ) -> tuple[Incompatibility, ...]:
        same = self.canonical == writer.canonical and policy is Policy.STRICT
        return () if same else (Incompatibility("CHANGED", "changed"),)


def parse_small(
    language: Language, text: str, references: Mapping[str, str], *, strict: bool = True
) -> SmallSchema:
    """Parse a schema; the language and strictness make no difference."""
    del language, strict
    return SmallSchema(json.loads(text), references)
