"""Decode keys and values as PRINT does: by the schema registry if the server has one.

Any bytes can start like the id of a schema. So a registry that does not answer is not asked again
for the same answer, nor is an id that it does not know, and no more ids after many unknown ones.
"""

from functools import partial
from typing import TYPE_CHECKING, Final

from duolog.core.errors import DuologError, RegistryError
from duolog.ksql import settings
from duolog.runtime.sql.reply.printing import guessed, guessed_by_schema
from duolog.schemas.source import RegistryAwayError, source_at

if TYPE_CHECKING:
    from duolog.runtime.sql.service import SqlService
    from duolog.schemas.schema import Schema
    from duolog.serde.readable import Schemas
    from duolog.server.dead_letters.shown import Guess

FAILED_MAX: Final = 100


def guess_of(service: "SqlService") -> "Guess":
    """Return the function that decodes the bytes of one answer."""
    registry = service.session().state.settings[settings.REGISTRY]
    if registry is None:
        return guessed
    # The formats are loaded for records with schemas only.
    from duolog.serde.readable import SchemaReader  # noqa: PLC0415

    return partial(guessed_by_schema, SchemaReader(PatientSchemas(source_at(registry))))


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
