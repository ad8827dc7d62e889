"""Format JSON_SR: ksqlDB's JSON after the id of a JSON Schema in a registry.

The schema is not needed for reading: JSON has the names of its fields, and columns have the types.
A MAP is an array of entries, unless the schema to write with describes maps as objects; both forms
are read.

Source: ksqlDB's documentation of JSON_SR; Kafka Connect's JSON Schema converter.
"""

from duolog.core.errors import SerdeError
from duolog.core.types import Column
from duolog.schemas.json_schema import parse
from duolog.schemas.json_schema.columns import has_object_maps
from duolog.serde.ksql_json import KsqlJsonSerde
from duolog.serde.row import Row
from duolog.serde.wire_format import framed, unframed


class JsonSrSerde:
    """Reads and writes rows as JSON after the id of its schema.

    Args:
        columns: the columns of a row.
        schema_id: the id of the schema to write with; None if the serde only reads.
        schema: the text of this schema.
        bare: the single column is not inside an object.
    """

    def __init__(
        self,
        columns: tuple[Column, ...],
        *,
        schema_id: int | None = None,
        schema: str | None = None,
        bare: bool = False,
    ) -> None:
        objects = schema is not None and has_object_maps(parse(schema, {}, strict=False).documents)
        self._schema_id = schema_id
        self._json = KsqlJsonSerde(columns, bare=bare, maps="objects" if objects else "entries")

    def serialize(self, row: Row | None) -> bytes | None:
        """Return the bytes of a row; see `Serde`."""
        data = self._json.serialize(row)
        if data is None:
            return None
        if self._schema_id is None:
            raise SerdeError(
                "no JSON Schema to write with",
                detail="The schema of the topic is not in the registry yet.",
            )
        return framed(self._schema_id, data)

    def deserialize(self, data: bytes | None) -> Row | None:
        """Return the row that bytes contain; see `Serde`."""
        return None if data is None else self._json.deserialize(unframed(data).payload)
