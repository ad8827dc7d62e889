"""Find the subjects that have a schema: what the broker asks about the ids of records."""

from typing import Protocol

from duolog.schemas.schema import Schema

SchemaKey = int | str
"""The id of a schema, or its GUID in the usual text form."""


class SubjectsSource(Protocol):
    """A registry, asked by the id or the GUID that a record carries. Any thread may call it.

    Every method raises a RegistryError if the registry refuses or does not answer.
    """

    def subjects_of(self, key: SchemaKey) -> frozenset[str]:
        """Return the subjects of which some version has this schema; empty if there are none."""

    def schema_of(self, key: SchemaKey) -> Schema:
        """Return the parsed schema.

        Raises:
            UnknownSchemaError: there is none.
        """
