"""Sources of schemas for serdes and SQL: a registry, without its HTTP interface.

    http://…  an HTTP client over a registry
    mock://…  the registry's rules in this process, for tests

A plan names its registry by address, so that it stays a value. `provide` sets the source that an
address stands for in this process; `source_at` returns it. One lock-free table per process:
`provide` replaces one entry, which is atomic.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from duolog.core.errors import RegistryError
from duolog.schemas.languages import parse
from duolog.schemas.schema import Language, Reference, Schema


@dataclass(frozen=True, slots=True)
class SchemaText:
    """A schema as it is sent to a registry and returned by it."""

    language: Language
    text: str
    references: tuple[Reference, ...] = ()


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a subject."""

    subject: str
    number: int
    schema_id: int
    schema: SchemaText


class RegistryAwayError(RegistryError):
    """A registry does not answer, so that nothing is known about a schema."""


class RegistryLoginError(RegistryError):
    """A registry refuses the user of a request, so that nothing is known about a schema."""


class UnknownSchemaError(RegistryError):
    """A registry has no schema of an id, or no version of a subject."""


class SchemaSource(Protocol):
    """A registry. Any thread may call it.

    Every method raises a RegistryError if the registry refuses or does not answer.
    """

    def by_id(self, schema_id: int) -> Schema:
        """Return the schema of an id.

        Raises:
            UnknownSchemaError: there is none.
        """

    def by_guid(self, guid: str) -> Schema:
        """Return the schema of a GUID.

        Raises:
            UnknownSchemaError: there is none.
        """

    def text_of(self, schema_id: int) -> SchemaText:
        """Return the text of the schema of an id.

        Raises:
            UnknownSchemaError: there is none.
        """

    def latest(self, subject: str) -> Version | None:
        """Return the last version of a subject; None if the subject has none."""

    def id_of(self, subject: str, schema: SchemaText) -> int | None:
        """Return the id under which a subject has a schema; None if it has not."""

    def register(self, subject: str, schema: SchemaText) -> int:
        """Return the id of a schema, which becomes the last version of its subject if it is new.

        Raises:
            RegistryError: the schema is invalid or incompatible with earlier versions.
        """

    def check(self, subject: str, schema: SchemaText) -> tuple[str, ...]:
        """Return why a subject does not accept a schema; empty if it does."""


def resolved(schema: SchemaText, of: Callable[[Reference], SchemaText]) -> Schema:
    """Return a parsed schema, with everything that it refers to.

    Args:
        schema: the schema.
        of: returns the text of a reference.

    Raises:
        RegistryError: a schema is invalid, or a reference leads to nothing.
    """
    texts: dict[str, str] = {}
    entered: set[Reference] = set()
    # A reference is entered twice: first for those that it needs, then for itself.
    waiting: list[tuple[Reference, SchemaText | None]] = [
        (one, None) for one in reversed(schema.references)
    ]
    while waiting:
        reference, found = waiting.pop()
        if found is not None:
            texts.setdefault(reference.name, found.text)
        elif reference not in entered:
            entered.add(reference)
            found = of(reference)
            waiting.append((reference, found))
            waiting += [(one, None) for one in reversed(found.references)]
    return parse(schema.language, schema.text, texts, strict=False)


_Open = Callable[[str], SchemaSource]
_SOURCES: Final[dict[str, SchemaSource]] = {}
_SCHEMES: Final[dict[str, _Open]] = {}


def provide(address: str, source: SchemaSource) -> None:
    """Let an address stand for a source in this process."""
    _SOURCES[address] = source


def withdraw(address: str) -> None:
    """Forget the source of an address."""
    _SOURCES.pop(address, None)


def provide_scheme(scheme: str, open_source: _Open) -> None:
    """Let `open_source` make the source of each address that starts with `scheme`, once."""
    _SCHEMES[scheme] = open_source


def source_at(address: str) -> SchemaSource:
    """Return the source that an address stands for.

    Raises:
        RegistryError: no source is known for the address.
    """
    found = _SOURCES.get(address)
    if found is not None:
        return found
    open_source = _SCHEMES.get(address.partition("://")[0])
    if open_source is None:
        raise RegistryError(
            f'cannot reach the schema registry "{address}"',
            detail="No client is known for addresses of this kind.",
            hint="Set ksql.schema.registry.url to an address that starts with http://.",
        )
    return _SOURCES.setdefault(address, open_source(address))


class CachedSchemas:
    """Parsed schemas by id, kept for ever: a registry never changes the schema of an id."""

    def __init__(self, read: Callable[[int], Schema]) -> None:
        self._read = read
        self._known: dict[int, Schema] = {}

    def __getitem__(self, schema_id: int) -> Schema:
        """Return the schema of an id, read once."""
        found = self._known.get(schema_id)
        if found is None:
            found = self._known[schema_id] = self._read(schema_id)
        return found
