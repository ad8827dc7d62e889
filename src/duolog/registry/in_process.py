"""A registry in this process: the rules and nothing else, as a source of schemas for tests.

It has no topic and no address; what it holds is gone with the object.
"""

import time
from collections.abc import Callable
from threading import RLock
from typing import Final, TypeVar

from duolog.registry.errors import RequestError
from duolog.registry.json_text import Json
from duolog.registry.records import encode
from duolog.registry.rules import ConfigRequest, Decision, ModeRequest, RegisterRequest, Registry
from duolog.registry.rules.answers import SchemaAnswer, SchemaTextAnswer
from duolog.schemas.schema import Language, Reference, Schema
from duolog.schemas.source import (
    CachedSchemas,
    SchemaText,
    UnknownSchemaError,
    Version,
    resolved,
)

T = TypeVar("T")
_NOT_FOUND: Final = 404


class InProcessRegistry:
    """The rules of a registry, protected by a lock; a `SchemaSource`.

    Example:
        >>> registry = InProcessRegistry()
        >>> registry.register("names-value", SchemaText(Language.AVRO, '"string"'))
        1
        >>> registry.by_id(1).canonical
        '"string"'
    """

    def __init__(self, rules: Registry | None = None) -> None:
        self.rules = rules or Registry()
        self._lock = RLock()
        self._schemas = CachedSchemas(self._resolved)
        self._by_guid: dict[str, Schema] = {}

    def by_id(self, schema_id: int) -> Schema:
        """Return the schema of an id; see `SchemaSource`."""
        return self._schemas[schema_id]

    def by_guid(self, guid: str) -> Schema:
        """Return the schema of a GUID; see `SchemaSource`."""
        if guid not in self._by_guid:
            self._by_guid[guid] = resolved(self.text_of_guid(guid), self.referenced)
        return self._by_guid[guid]

    def text_of(self, schema_id: int) -> SchemaText:
        """Return the text of the schema of an id; see `SchemaSource`."""
        with self._lock:
            return _text(_found(lambda: self.rules.schema_by_id(schema_id), f"id {schema_id}"))

    def text_of_guid(self, guid: str) -> SchemaText:
        """Return the text of the schema of a GUID.

        Raises:
            UnknownSchemaError: there is none.
        """
        with self._lock:
            return _text(_found(lambda: self.rules.schema_by_guid(guid), f'GUID "{guid}"'))

    def latest(self, subject: str) -> Version | None:
        """Return the last version of a subject; see `SchemaSource`."""
        with self._lock:
            try:
                found = self.rules.version(subject, "latest")
            except RequestError as error:
                if error.status == _NOT_FOUND:
                    return None
                raise
        return Version(found.subject, found.version, found.id, _text(found))

    def id_of(self, subject: str, schema: SchemaText) -> int | None:
        """Return the id of a schema in a subject; see `SchemaSource`."""
        with self._lock:
            try:
                return self.rules.look_up(subject, _request(schema)).id
            except RequestError as error:
                if error.status == _NOT_FOUND:
                    return None
                raise

    def register(self, subject: str, schema: SchemaText, *, schema_id: int | None = None) -> int:
        """Return the id of a schema; see `SchemaSource`.

        Args:
            subject: the subject.
            schema: the schema.
            schema_id: an id to give it, as a registry does that imports the schemas of another.
        """
        with self._lock:
            if schema_id is None:
                decision = self.rules.register(subject, _request(schema))
                return self._done(decision).schema.id
            return self._imported(subject, schema, schema_id)

    def check(self, subject: str, schema: SchemaText) -> tuple[str, ...]:
        """Return why a subject does not accept a schema; see `SchemaSource`."""
        with self._lock:
            if self.latest(subject) is None:
                return ()
            answer = self.rules.compatibility(subject, None, _request(schema), verbose=True)
        return () if answer.is_compatible else tuple(answer.messages or ())

    def referenced(self, reference: Reference) -> SchemaText:
        """Return the schema that a reference names.

        Raises:
            RequestError: there is none.
        """
        with self._lock:
            return _text(self.rules.version(reference.subject, str(reference.version)))

    def answer_by_id(self, schema_id: int, form: str = "") -> dict[str, Json]:
        """Return the answer to `GET /schemas/ids/{schema_id}?format={form}`.

        Raises:
            RequestError: there is no such schema.
        """
        with self._lock:
            return self.rules.schema_by_id(schema_id, form=form).to_json()

    def answer_subjects(self, schema_id: int) -> list[str]:
        """Return the answer to `GET /schemas/ids/{schema_id}/subjects`.

        Raises:
            RequestError: there is no such schema.
        """
        with self._lock:
            return list(self.rules.subjects_of_id(schema_id))

    def answer_by_guid(self, guid: str, form: str = "") -> dict[str, Json]:
        """Return the answer to `GET /schemas/guids/{guid}?format={form}`.

        Raises:
            RequestError: there is no such schema.
        """
        with self._lock:
            return self.rules.schema_by_guid(guid, form=form).to_json()

    def answer_by_version(self, subject: str, version: str, form: str = "") -> dict[str, Json]:
        """Return the answer to `GET /subjects/{subject}/versions/{version}?format={form}`.

        Raises:
            RequestError: there is no such version.
        """
        with self._lock:
            return self.rules.version(subject, version, form=form).to_json()

    def set_compatibility(self, level: str) -> None:
        """Set the level by which versions of a subject must be compatible, such as `NONE`."""
        with self._lock:
            request = ConfigRequest({"compatibility_level": level})
            self._done(self.rules.change_config(None, request))

    def _imported(self, subject: str, schema: SchemaText, schema_id: int) -> int:
        versions = [] if self.latest(subject) is None else list(self.rules.versions(subject))
        request = _request(schema, schema_id=schema_id, version=max(versions, default=0) + 1)
        self._done(self.rules.change_mode(subject, ModeRequest("IMPORT"), force=True))
        try:
            return self._done(self.rules.register(subject, request)).schema.id
        finally:
            self._done(self.rules.delete_mode(subject))

    def _done(self, decision: Decision[T]) -> T:
        for record in decision.records:
            key, value = encode(record)
            self.rules.replay(key, value, timestamp=time.time_ns() // 1_000_000)
        return decision.answer

    def _resolved(self, schema_id: int) -> Schema:
        return resolved(self.text_of(schema_id), self.referenced)


def _found(read: Callable[[], SchemaTextAnswer], what: str) -> SchemaTextAnswer:
    try:
        return read()
    except RequestError as error:
        if error.status == _NOT_FOUND:
            raise UnknownSchemaError(f"the schema registry has no schema of {what}") from error
        raise


def _text(answer: SchemaAnswer | SchemaTextAnswer) -> SchemaText:
    return SchemaText(Language(answer.schema_type), answer.schema, tuple(answer.references))


def _request(
    schema: SchemaText, *, schema_id: int | None = None, version: int | None = None
) -> RegisterRequest:
    return RegisterRequest(
        schema.text,
        schema.language.value,
        schema.references,
        schema_id=schema_id,
        version=version,
    )
