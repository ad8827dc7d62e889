"""A registry that statements may write to while they are analysed; nothing reaches the real one."""

from itertools import count
from typing import Final

from duolog.schemas.schema import Schema
from duolog.schemas.source import SchemaSource, SchemaText, Version, resolved

_FIRST: Final = 2**31
"""Ids from here on are not ids of a registry, whose ids have 31 bits."""


class TrialRegistry:
    """A `SchemaSource` that keeps new schemas to itself.

    Args:
        source: the real registry, which is only read.
    """

    def __init__(self, source: SchemaSource) -> None:
        self._source = source
        self._numbers = count(_FIRST)
        self._own: dict[int, SchemaText] = {}
        self._latest: dict[str, Version] = {}

    def by_id(self, schema_id: int) -> Schema:
        """Return the schema of an id; see `SchemaSource`."""
        own = self._own.get(schema_id)
        if own is None:
            return self._source.by_id(schema_id)
        # Statements register schemas without references.
        return resolved(own, lambda one: self._source.text_of(int(one.version)))

    def by_guid(self, guid: str) -> Schema:
        """Return the schema of a GUID; see `SchemaSource`."""
        return self._source.by_guid(guid)

    def text_of(self, schema_id: int) -> SchemaText:
        """Return the text of the schema of an id; see `SchemaSource`."""
        return self._own.get(schema_id) or self._source.text_of(schema_id)

    def latest(self, subject: str) -> Version | None:
        """Return the last version of a subject; see `SchemaSource`."""
        return self._latest.get(subject) or self._source.latest(subject)

    def id_of(self, subject: str, schema: SchemaText) -> int | None:
        """Return the id of a schema in a subject; see `SchemaSource`."""
        own = self._latest.get(subject)
        if own is not None and own.schema == schema:
            return own.schema_id
        return self._source.id_of(subject, schema)

    def register(self, subject: str, schema: SchemaText) -> int:
        """Return the id of a schema; a new one is kept here."""
        found = self.id_of(subject, schema)
        if found is not None:
            return found
        number = next(self._numbers)
        self._own[number] = schema
        self._latest[subject] = Version(subject, 1, number, schema)
        return number

    def check(self, subject: str, schema: SchemaText) -> tuple[str, ...]:
        """Return why a subject does not accept a schema; see `SchemaSource`."""
        return self._source.check(subject, schema)
