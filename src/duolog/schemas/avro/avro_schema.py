"""An Avro schema as the registry and the serdes see it."""

from collections.abc import Mapping
from functools import cached_property
from typing import Final

from duolog.schemas.avro.equality import equal
from duolog.schemas.avro.json_text import check_depth
from duolog.schemas.avro.parsing import Parser
from duolog.schemas.avro.plain import plain_schema
from duolog.schemas.avro.resolution import incompatibilities
from duolog.schemas.avro.texts import canonical_text, fingerprint, parsing_form
from duolog.schemas.avro.types import Json, Named, Record, Type, reachable
from duolog.schemas.schema import Incompatibility, Language, Policy


def parse(text: str, references: Mapping[str, str], *, strict: bool = True) -> "AvroSchema":
    """Parse an Avro schema; see `Parse` in `duolog.schemas.schema`.

    Example:
        >>> order = parse('{"type": "record", "name": "a.Order", "fields": []}', {})
        >>> order.name, order.canonical
        ('a.Order', '{"type":"record","name":"Order","namespace":"a","fields":[]}')
    """
    parser = Parser(strict=strict)
    known = [parser.parse(reference).full_name for reference in references.values()]
    schema = AvroSchema(parser.parse(text), known)
    if parser.reordered:
        check_depth(schema.canonical)
        check_depth(schema.resolved)
    return schema


class AvroSchema:
    """A parsed schema, equal to another one if their canonical texts are.

    Attributes:
        root: its type.
    """

    language: Final = Language.AVRO

    def __init__(self, root: Type, known: list[str]) -> None:
        self.root = root
        self._known = known

    @cached_property
    def canonical(self) -> str:
        """The text that a registry stores; types of other schemas are names in it."""
        return canonical_text(self.root, self._known)

    @cached_property
    def resolved(self) -> str:
        """The canonical text with the types of other schemas written out."""
        return canonical_text(self.root)

    @cached_property
    def name(self) -> str | None:
        """The full name of the record; None if the schema is of another type."""
        return self.root.name.full if isinstance(self.root, Record) else None

    @cached_property
    def named_types(self) -> Mapping[str, Named]:
        """The records, enums and fixeds by full name, a type before those that it contains."""
        types: dict[str, Named] = {}
        for node in reachable(self.root):
            if isinstance(node, Named):
                types.setdefault(node.name.full, node)
        return types

    @property
    def parsing_form(self) -> str:
        """The parsing canonical form of Avro's specification."""
        return parsing_form(self.root)

    @property
    def fingerprint(self) -> int:
        """The 64-bit fingerprint of the parsing form, as single-object encoding writes it."""
        return fingerprint(self.root)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AvroSchema) and self.canonical == other.canonical

    def __hash__(self) -> int:
        return hash(self.canonical)

    def __repr__(self) -> str:
        return f"AvroSchema({self.canonical})"

    def normalized(self) -> str:
        """Return the canonical text with sorted attributes and uniform defaults."""
        return canonical_text(self.root, self._known, normalize=True)

    def formatted(self, form: str) -> str:
        """Return the text in the form "resolved"; the canonical text for any other form."""
        return self.resolved if form.strip().lower() == "resolved" else self.canonical

    def incompatibilities(
        self,
        writer: "AvroSchema",
        policy: Policy = Policy.STRICT,
    ) -> tuple[Incompatibility, ...]:
        """Return why this schema cannot read what `writer` wrote; the policy has no effect."""
        return incompatibilities(self.root, writer.root)

    def equivalent(self, other: "AvroSchema") -> bool:
        """Tell whether two schemas are the same, with docs, aliases and unknown attributes.

        Unlike equal canonical texts, the order of unknown attributes and the place of a definition,
        in this schema or in one that it refers to, may differ.
        """
        return equal(self.root, other.root, meta=True)

    def plain(self, *, logical: bool = True) -> Json:
        """Return the schema as JSON values for libraries that read Avro, such as fastavro.

        All types are written out, names are full, and what has no meaning for the bytes is left
        out: docs, unknown attributes, logical types that break a rule of theirs; and all logical
        types if `logical` is False.
        """
        return plain_schema(self.root, logical=logical)
