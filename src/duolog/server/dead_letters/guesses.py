"""Decode keys and values as PRINT does: by the schema registry if the server has one."""

from functools import partial
from typing import TYPE_CHECKING

from duolog.ksql import settings
from duolog.runtime.sql.reply.printing import guessed, guessed_by_schema
from duolog.serde.patient_schemas import PatientSchemas
from duolog.server.access.checks import Checks
from duolog.server.access.readable_schemas import readable_by

if TYPE_CHECKING:
    from duolog.runtime.sql.service import SqlService
    from duolog.server.dead_letters.shown import Guess


def guess_of(service: "SqlService", checks: Checks) -> "Guess":
    """Return the function that decodes the bytes of one answer for a client."""
    registry = service.session().state.settings[settings.REGISTRY]
    if registry is None:
        return guessed
    # The formats are loaded for records with schemas only.
    from duolog.serde.readable import SchemaReader  # noqa: PLC0415

    schemas = readable_by(checks, registry)
    return partial(guessed_by_schema, SchemaReader(PatientSchemas(schemas)))
