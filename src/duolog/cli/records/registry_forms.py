"""Choose the forms of each record's key and value by a schema registry.

    00 | id, 4 bytes | …             in the key or value, see `duolog.serde.wire_format`
    01 | GUID, 16 bytes | …          in the header __key_schema_id or __value_schema_id, which
                                     may also have the first form

Without a format from the user, bytes of such a form are decoded if the registry knows the schema.
Others are shown as without a registry. A BIGINT from 2^24 on has the same form. Therefore 8 bytes,
in a key also with a window, are decoded only if the schema's subject belongs to the topic.

A registry that does not answer is not asked again for five seconds: each record would wait for it.
"""

import time
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from duolog.cli.records.field_forms import PLAIN, FieldForm, Forms, UnreadForm
from duolog.cli.records.form_options import RAW
from duolog.cli.records.schema_form import LANGUAGES, SchemaForm
from duolog.cli.records.text_record import TextRecord
from duolog.cli.registry.options import RegistryAddress
from duolog.core.errors import DuologError, RegistryError
from duolog.registry.client.requests import Unanswered
from duolog.schemas.schema import Language, Schema
from duolog.serde.wire_format import (
    GUID_BYTES,
    ID_BYTES,
    KEY_HEADER,
    MAGIC_OF_GUID,
    MAGIC_OF_ID,
    VALUE_HEADER,
)

if TYPE_CHECKING:
    from duolog.cli.records.record_schemas import RecordSchemas

T = TypeVar("T")
RETRY_S: Final = 5.0
_LIKE_A_BIGINT: Final = {"key": frozenset({8, 16, 24}), "value": frozenset({8})}
"""Lengths of a BIGINT, and as a key also with the bounds of a window."""
_ALL: Final = "all"
_HEADERS: Final = {"key": KEY_HEADER, "value": VALUE_HEADER}


class Choices(NamedTuple):
    """The formats that the user names for keys and values; None to detect them."""

    key: str | None = None
    value: str | None = None


class RegistryForms:
    """The forms of a topic's records.

    Args:
        topic: the topic.
        given: the forms that other options specify; they win unless a format is named.
        choices: the formats that the user names.
        registry: the registry; None if none is known.
    """

    def __init__(
        self,
        topic: str,
        given: Forms,
        choices: Choices,
        registry: RegistryAddress | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._topic = topic
        self._given = given
        self._choices = choices
        self._known = None if registry is None else _KnownSchemas(registry, clock)

    def of(self, record: TextRecord) -> Forms:
        """Return the forms of a record's key and value."""
        headers = dict(record.headers)
        return Forms(
            self._form("key", self._given.key, self._choices.key, record.key, headers),
            self._form("value", self._given.value, self._choices.value, record.value, headers),
        )

    def _form(
        self,
        part: str,
        given: FieldForm,
        choice: str | None,
        data: bytes | None,
        headers: dict[str, bytes | None],
    ) -> FieldForm:
        if data is None or choice == RAW:
            return given
        header = headers.get(_HEADERS[part])
        header = header if header is not None and _is_frame(header) else None
        if choice is not None:
            return self._named(LANGUAGES[choice], header)
        schema_id = int.from_bytes(data[1:ID_BYTES], "big") if _is_framed(data) else 0
        if given is not PLAIN or (header is None and not schema_id):
            return given
        return self._detected(part, data, header, schema_id)

    def _named(self, language: Language, header: bytes | None) -> FieldForm:
        known = self._known
        assert known is not None, "a format needs a registry"
        return SchemaForm(lambda data: known.records.decoded(data, header, language))

    def _detected(self, part: str, data: bytes, header: bytes | None, schema_id: int) -> FieldForm:
        ambiguous = header is None and len(data) in _LIKE_A_BIGINT[part]
        if self._known is None:
            return PLAIN if ambiguous else UnreadForm(_unnamed(schema_id))
        if ambiguous and not self._known.is_of(schema_id, f"{self._topic}-{part}"):
            return PLAIN
        try:
            value = self._known.records.decoded(data, header, None)
        except DuologError as error:
            return UnreadForm(error.one_line())
        return SchemaForm(lambda _: value)


class _KnownSchemas:
    """The schemas of a registry, which is not asked again for a while after a failure."""

    def __init__(self, registry: RegistryAddress, clock: Callable[[], float]) -> None:
        self._source = registry.source()
        self._admin = registry.admin()
        self._clock = clock
        self._failures: dict[object, tuple[float, RegistryError]] = {}
        self._subjects: dict[int, frozenset[str]] = {}

    @cached_property
    def records(self) -> "RecordSchemas":
        """The decoders; their libraries are loaded for the first record with a schema."""
        from duolog.cli.records.record_schemas import RecordSchemas  # noqa: PLC0415

        return RecordSchemas(self)

    def by_id(self, schema_id: int) -> Schema:
        """Return the schema of an id; see `SchemaSource`."""
        return self._ask(schema_id, lambda: self._source.by_id(schema_id))

    def by_guid(self, guid: str) -> Schema:
        """Return the schema of a GUID; see `SchemaSource`."""
        return self._ask(guid, lambda: self._source.by_guid(guid))

    def is_of(self, schema_id: int, subject: str) -> bool:
        """Return whether an id is known to belong to a subject, in any context."""
        if schema_id not in self._subjects:
            try:
                found = self._ask(
                    ("subjects", schema_id),
                    lambda: self._admin.versions_of_id(schema_id, deleted=True),
                )
            except RegistryError:
                return False
            self._subjects[schema_id] = frozenset(name for name, _ in found)
        names = self._subjects[schema_id]
        return any(name == subject or name.endswith(f":{subject}") for name in names)

    def _ask(self, what: object, ask: Callable[[], T]) -> T:
        """Return an answer; repeat the last failure while it is recent."""
        for key in (what, _ALL):
            until, failure = self._failures.get(key, (0.0, None))
            if failure is not None and self._clock() < until:
                raise failure
        try:
            return ask()
        except RegistryError as error:
            key = _ALL if isinstance(error, Unanswered) else what
            self._failures[key] = (self._clock() + RETRY_S, error)
            raise


def _is_framed(data: bytes) -> bool:
    return len(data) >= ID_BYTES and data[0] == MAGIC_OF_ID


def _is_frame(header: bytes) -> bool:
    return _is_framed(header) or (len(header) >= GUID_BYTES and header[0] == MAGIC_OF_GUID)


def _unnamed(schema_id: int) -> str:
    return (
        f"it starts like a record with the schema of id {schema_id} of a registry; name the "
        "registry with --registry"
    )
