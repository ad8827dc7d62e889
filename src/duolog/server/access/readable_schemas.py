"""The schemas of a registry that a client may read, for decoding records.

A record names its schema by an id or a GUID, and who may write a topic may write any of them. The
registry knows the login of the server only, so a schema that the client may not read counts as
unknown: it needs READ on a subject that has the schema, as `GET /schemas/ids/{id}` does.

Threads: one.
Source: ADR 0151; `duolog.registry.operations.rights`.
"""

from typing import TYPE_CHECKING, Protocol

from duolog.registry.names import normalized
from duolog.schemas.source import UnknownSchemaError, source_at
from duolog.security.authorization.operations import Operation, ResourceType
from duolog.server.access.checks import Checks

if TYPE_CHECKING:
    from duolog.schemas.schema import Schema
    from duolog.schemas.subjects import SchemaKey
    from duolog.serde.readable import Schemas


class Subjects(Protocol):
    """Knows which subjects have a schema; see `SubjectsSource`."""

    def subjects_of(self, key: "SchemaKey") -> frozenset[str]:
        """Return the subjects of a schema."""


class ReadableSchemas:
    """The schemas that one client may read.

    Args:
        schemas: all schemas.
        subjects: knows their subjects.
        checks: the rights of the client.
    """

    def __init__(self, schemas: "Schemas", subjects: Subjects, checks: Checks) -> None:
        self._schemas = schemas
        self._subjects = subjects
        self._checks = checks
        self._readable: dict[SchemaKey, bool] = {}

    def by_id(self, schema_id: int) -> "Schema":
        """Return the schema of an id.

        Raises:
            UnknownSchemaError: there is none, or the client may not read it.
            RegistryError: the registry does not answer.
        """
        self._ensure(schema_id, f"id {schema_id}")
        return self._schemas.by_id(schema_id)

    def by_guid(self, guid: str) -> "Schema":
        """Return the schema of a GUID; raises as `by_id`."""
        self._ensure(guid, f'GUID "{guid}"')
        return self._schemas.by_guid(guid)

    def _ensure(self, key: "SchemaKey", named: str) -> None:
        readable = self._readable.get(key)
        if readable is None:
            names = [normalized(one) for one in self._subjects.subjects_of(key)]
            seen = self._checks.allowed(Operation.READ, ResourceType.SUBJECT, names)
            readable = self._readable[key] = bool(seen)
        if not readable:
            # The words of a registry that does not know it.
            raise UnknownSchemaError(f"the schema registry has no schema of {named}")


def readable_by(checks: Checks, address: str) -> "Schemas":
    """Return the schemas of the registry at an address that a client may read.

    Raises:
        RegistryError, ConfigError: the address is not one of a registry.
    """
    schemas = source_at(address)
    if not checks.decide:
        return schemas
    # Only servers with users need it.
    from duolog.registry.client.subjects import HttpSubjects  # noqa: PLC0415

    return ReadableSchemas(schemas, HttpSubjects(address), checks)
