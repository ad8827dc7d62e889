"""The schemas of this registry for other threads.

Each question is answered on the event loop, with texts. They are parsed on the thread that asks: a
large schema takes a second, in which the loop must answer others.
"""

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

from duolog.core.errors import RegistryError
from duolog.registry.in_process import InProcessRegistry
from duolog.registry.rules.registry import Registry
from duolog.schemas.schema import Reference, Schema
from duolog.schemas.source import CachedSchemas, SchemaText, Version, resolved

T = TypeVar("T")
_ANSWER_S: Final = 30.0


class SchemasOnLoop:
    """A `SchemaSource` over the rules of this registry, which only the loop may touch.

    Its methods block; the loop itself must not call them.
    """

    def __init__(self, rules: Registry, loop: asyncio.AbstractEventLoop) -> None:
        self._registry = InProcessRegistry(rules)
        self._loop = loop
        self._schemas = CachedSchemas(lambda one: self.parsed(self.text_of(one)))
        self._by_guid: dict[str, Schema] = {}

    def parsed(self, schema: SchemaText) -> Schema:
        """Return a schema that is not registered, parsed with what it refers to."""
        return resolved(schema, self._referenced)

    def by_id(self, schema_id: int) -> Schema:
        """Return the schema of an id; see `SchemaSource`."""
        return self._schemas[schema_id]

    def by_guid(self, guid: str) -> Schema:
        """Return the schema of a GUID; see `SchemaSource`."""
        if guid not in self._by_guid:
            text = self._on_loop(lambda: self._registry.text_of_guid(guid))
            self._by_guid[guid] = self.parsed(text)
        return self._by_guid[guid]

    def text_of(self, schema_id: int) -> SchemaText:
        """Return the text of the schema of an id; see `SchemaSource`."""
        return self._on_loop(lambda: self._registry.text_of(schema_id))

    def latest(self, subject: str) -> Version | None:
        """Return the last version of a subject; see `SchemaSource`."""
        return self._on_loop(lambda: self._registry.latest(subject))

    def id_of(self, subject: str, schema: SchemaText) -> int | None:
        """Return the id of a schema in a subject; see `SchemaSource`."""
        return self._on_loop(lambda: self._registry.id_of(subject, schema))

    def register(self, subject: str, schema: SchemaText) -> int:
        """Refuse: only a request changes a registry."""
        del schema
        raise RegistryError(f'subject "{subject}" can only be read here')

    def check(self, subject: str, schema: SchemaText) -> tuple[str, ...]:
        """Return why a subject does not accept a schema; see `SchemaSource`."""
        return self._on_loop(lambda: self._registry.check(subject, schema))

    def _referenced(self, reference: Reference) -> SchemaText:
        return self._on_loop(lambda: self._registry.referenced(reference))

    def _on_loop(self, call: Callable[[], T]) -> T:
        async def answer() -> T:
            return call()

        return asyncio.run_coroutine_threadsafe(answer(), self._loop).result(_ANSWER_S)
