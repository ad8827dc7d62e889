"""Schemas of requests and versions, parsed when a rule needs them.

References are resolved here: a schema is parsed with the texts of everything that it refers to,
directly or through others, in the versions that the registry holds.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from duolog.registry.contracts import Metadata, RuleSet
from duolog.registry.errors import RequestError, invalid_schema
from duolog.registry.names import SubjectName
from duolog.registry.records.keys import SchemaKey
from duolog.registry.records.values import SchemaValue
from duolog.registry.state import State
from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.schema import Language, Reference, Schema

# References in all that a schema refers to; more are refused.
REFERENCES_MAX: Final = 10_000

# Shorter texts are parsed faster than a thread is asked to do it.
LARGE_CHARS: Final = 10_000

# Characters of texts whose canonical form is known. Versions hold most of these texts anyway.
CANONICAL_CHARS_MAX: Final = 32_000_000


class ParseLanguage(Protocol):
    """The function that parses a schema of any language."""

    def __call__(
        self,
        language: Language,
        text: str,
        references: Mapping[str, str],
        *,
        strict: bool = True,
    ) -> Schema:
        """See `duolog.schemas.schema.Parse`."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A schema of a request, on its way to become a version.

    Attributes:
        version: 0 for the next one, -1 for the next one with `confluent:version`.
        schema_id: negative if the registry chooses it.
    """

    subject: str
    schema: str
    schema_type: str = "AVRO"
    references: tuple[Reference, ...] = ()
    metadata: Metadata | None = None
    rule_set: RuleSet | None = None
    version: int = 0
    schema_id: int = -1

    @classmethod
    def of(cls, value: SchemaValue) -> "Draft":
        """Return the schema of a version."""
        return cls(
            value.subject,
            value.schema,
            value.schema_type,
            value.references,
            value.metadata,
            value.rule_set,
            value.version,
            -1 if value.schema_id is None else value.schema_id,
        )


@dataclass(frozen=True, slots=True)
class Parsed:
    """A parsed schema together with the draft or version that it belongs to."""

    schema: Schema
    draft: Draft


_Key = tuple[str, str, tuple[tuple[str, str], ...], bool]
"""Language, text, texts of references, and whether it is parsed strictly."""


@dataclass(slots=True)
class ParseAhead:
    """Large schemas that are parsed on another thread, before a rule needs them.

    `run` may be called on any thread. `SchemaParser.keep` takes the results for the rule, and
    `release` drops them after it.
    """

    parse: ParseLanguage
    keys: tuple[_Key, ...]
    found: dict[_Key, Schema | InvalidSchemaError] = field(default_factory=dict)

    def run(self) -> None:
        """Parse them; an error is a result, too."""
        for key in self.keys:
            language, text, references, strict = key
            try:
                schema = self.parse(Language[language], text, dict(references), strict=strict)
                _ = schema.canonical  # Some languages keep it when it was computed once.
            except InvalidSchemaError as error:
                self.found[key] = error
            else:
                self.found[key] = schema


class SchemaParser:
    """Parses schemas, and keeps those that were needed last."""

    def __init__(self, state: State, parse: ParseLanguage, chars_max: int) -> None:
        self._state = state
        self._parse = parse
        self._chars_max = chars_max
        self._chars = 0
        self._kept: OrderedDict[_Key, Schema] = OrderedDict()
        self._ahead: dict[_Key, Schema | InvalidSchemaError] = {}
        """Schemas that were parsed ahead, until the rules that need them are done."""
        self._canonical: dict[tuple[str, str], str] = {}
        self._canonical_chars = 0

    def canonical_text(self, value: SchemaValue) -> str:
        """Return the canonical text of a version, which older registries may not have stored.

        Raises:
            RequestError: 42201, if it can no longer be parsed.
        """
        key = (value.schema_type, value.schema)
        if key not in self._canonical:
            self._canonical_chars += len(value.schema)
            if self._canonical_chars > CANONICAL_CHARS_MAX:
                self._canonical.clear()
                self._canonical_chars = len(value.schema)
            text = self.version(value).schema.canonical
            self._canonical[key] = value.schema if text == value.schema else text
        return self._canonical[key]

    def version(self, value: SchemaValue) -> Parsed:
        """Parse a version.

        Raises:
            RequestError: 42201, if it can no longer be parsed.
        """
        return self.draft(Draft.of(value), strict=False)

    def draft(self, draft: Draft, *, strict: bool) -> Parsed:
        """Parse a draft; its references get the numbers of the versions that they mean.

        Args:
            draft: the schema.
            strict: refuse what only older registries accepted, and deleted references.

        Raises:
            RequestError: 42201.
        """
        if draft.schema_type not in Language.__members__:
            raise invalid_schema(f"Invalid schema type {draft.schema_type}")
        try:
            references, texts = self.resolve(draft, deleted=not strict)
            schema = self._parsed(Language[draft.schema_type], draft.schema, texts, strict=strict)
        except InvalidSchemaError as error:
            raise _invalid(draft.schema_type, error.one_line()) from error
        return Parsed(schema, replace(draft, references=references))

    def ahead(self, draft: Draft) -> ParseAhead | None:
        """Return what parses a draft on another thread, with the versions to compare it with.

        Returns None if the schema is short.

        Raises:
            RequestError: 42201, if a reference leads to nothing.
        """
        if len(draft.schema) < LARGE_CHARS or draft.schema_type not in Language.__members__:
            return None
        keys = []
        for strict in (True, False):
            _, texts = self.resolve(draft, deleted=not strict)
            key = (draft.schema_type, draft.schema, tuple(texts.items()), strict)
            keys.append(key)
        chars = 0
        for value in reversed(self._state.versions.active(draft.subject)):
            chars += len(value.schema)
            if keys[2:] and chars > self._chars_max:
                break
            if len(value.schema) >= LARGE_CHARS and value.schema_type in Language.__members__:
                _, texts = self.resolve(Draft.of(value), deleted=True)
                keys.append((value.schema_type, value.schema, tuple(texts.items()), False))
        missing = tuple(key for key in dict.fromkeys(keys) if key not in self._kept)
        return ParseAhead(self._parse, missing) if missing else None

    def keep(self, parsed: ParseAhead) -> None:
        """Keep what was parsed ahead, for the rule that needs it next."""
        self._ahead.update(parsed.found)

    def release(self, parsed: ParseAhead) -> None:
        """Drop what was parsed ahead."""
        for key in parsed.found:
            self._ahead.pop(key, None)

    def rendered(self, parsed: Parsed, render: Callable[[Schema], str]) -> str:
        """Return a text of a schema, such as its normalised form.

        Raises:
            RequestError: 42201, if the schema turns out to be invalid only now.
        """
        try:
            return render(parsed.schema)
        except InvalidSchemaError as error:
            raise _invalid(parsed.draft.schema_type, error.one_line()) from error

    def resolve(
        self, draft: Draft, *, deleted: bool
    ) -> tuple[tuple[Reference, ...], dict[str, str]]:
        """Return the references with their versions, and the texts of all that they lead to.

        Raises:
            RequestError: 42201, if there is no such version.
        """
        texts: dict[str, str] = {}
        seen: set[str] = set()
        own: list[Reference] = []
        # Entries are a reference to visit, or the text of one whose own references are done.
        todo: list[tuple[Reference, str, str | None]] = [
            (part, draft.subject, None) for part in reversed(draft.references)
        ]
        while todo:
            part, parent, text = todo.pop()
            if text is not None:
                texts[part.name] = text
                continue
            value = self._referred(part, parent, draft, deleted=deleted)
            if len(own) < len(draft.references) and part is draft.references[len(own)]:
                own.append(replace(part, version=value.version))
            if part.name in seen:
                continue
            seen.add(part.name)
            if len(seen) > REFERENCES_MAX:
                raise _invalid(draft.schema_type, f"more than {REFERENCES_MAX} references")
            todo.append((part, parent, value.schema))
            todo.extend((inner, value.subject, None) for inner in reversed(value.references))
        return tuple(own), texts

    def _referred(
        self, part: Reference, parent: str, draft: Draft, *, deleted: bool
    ) -> SchemaValue:
        subject = SubjectName.parse(parent).child(part.subject).text
        if part.version == -1:
            value = self._state.versions.latest(subject)
        else:
            value = self._state.versions.get(SchemaKey(subject, part.version))
        if value is None or (value.deleted and not deleted):
            detail = f'No schema reference found for subject "{subject}" and version {part.version}'
            raise _invalid(draft.schema_type, detail)
        return value

    def _parsed(
        self, language: Language, text: str, texts: dict[str, str], *, strict: bool
    ) -> Schema:
        key = (language.value, text, tuple(texts.items()), strict)
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        found = self._ahead.get(key)
        if isinstance(found, InvalidSchemaError):
            raise found
        schema = found or self._parse(language, text, texts, strict=strict)
        self._keep(key, schema)
        return schema

    def _keep(self, key: _Key, schema: Schema) -> None:
        if key in self._kept:
            return
        self._kept[key] = schema
        self._chars += _size(key)
        while self._chars > self._chars_max and len(self._kept) > 1:
            old, _ = self._kept.popitem(last=False)
            self._chars -= _size(old)


def _size(key: tuple[str, str, Iterable[tuple[str, str]], bool]) -> int:
    # Every parsed schema costs something, however short its text is.
    return 1000 + len(key[1]) + sum(len(text) for _, text in key[2])


def _invalid(schema_type: str, detail: str) -> RequestError:
    return invalid_schema(f"Invalid schema of type {schema_type}, details: {detail}")
