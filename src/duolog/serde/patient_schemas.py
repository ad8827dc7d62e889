"""Schemas of a registry, which is not asked again for what it did not answer.

Any bytes can start like the id of a schema. So a registry that does not answer is not asked again
for the same answer, nor is an id that it does not know, and no more ids after many unknown ones.

Threads: one.
"""

from typing import TYPE_CHECKING, Final

from duolog.core.errors import DuologError, RegistryError
from duolog.schemas.source import RegistryAwayError

if TYPE_CHECKING:
    from duolog.schemas.schema import Schema
    from duolog.serde.readable import Schemas

FAILED_MAX: Final = 100


class PatientSchemas:
    """Schemas of a registry, which is not asked again for what it did not answer."""

    def __init__(self, schemas: "Schemas") -> None:
        self._schemas = schemas
        self._failed: set[int | str] = set()
        self._is_away = False

    def by_id(self, schema_id: int) -> "Schema":
        """Return the schema of an id.

        Raises:
            RegistryError: it is unknown, or the registry does not answer.
        """
        self._ensure_asked(schema_id)
        try:
            return self._schemas.by_id(schema_id)
        except DuologError as error:
            self._note(schema_id, error)
            raise

    def by_guid(self, guid: str) -> "Schema":
        """Return the schema of a GUID; raises as `by_id`."""
        self._ensure_asked(guid)
        try:
            return self._schemas.by_guid(guid)
        except DuologError as error:
            self._note(guid, error)
            raise

    def _ensure_asked(self, schema_id: int | str) -> None:
        if self._is_away or schema_id in self._failed or len(self._failed) >= FAILED_MAX:
            raise RegistryError("the registry did not answer before")

    def _note(self, schema_id: int | str, error: DuologError) -> None:
        self._is_away |= isinstance(error, RegistryAwayError)
        self._failed.add(schema_id)
