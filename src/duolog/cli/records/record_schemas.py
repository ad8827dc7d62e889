"""Read and write keys and values with the schemas of a registry; see `serde.readable` for the text.

JSON to be written must have exactly the fields of the schema, see `serde.schema_writing`.
"""

from typing import Final

from duolog.cli.records.field_forms import JsonForm
from duolog.cli.records.schema_form import SchemaForm
from duolog.cli.text.json_text import JsonText
from duolog.core.errors import SerdeError
from duolog.schemas.schema import Language, Schema
from duolog.schemas.source import SchemaSource
from duolog.serde.readable import SchemaReader, Schemas
from duolog.serde.schema_writing import schema_writer

_JSON: Final = JsonForm()


class RecordSchemas:
    """Decodes keys and values of any schema of a registry."""

    def __init__(self, schemas: Schemas) -> None:
        self._reader = SchemaReader(schemas)

    def decoded(self, data: bytes, header: bytes | None, language: Language | None) -> object:
        """Return the JSON value of a key or value; see `SchemaReader.read`."""
        found = self._reader.read(data, header, language)
        if found.is_string:
            return found.text
        if found.language != Language.JSON:
            return JsonText(found.text)
        try:
            return _JSON.decode(found.text.encode())
        except ValueError as error:
            raise SerdeError(str(error)) from error


def writing_form(schema: Schema, schema_id: int, source: SchemaSource) -> SchemaForm:
    """Return the form that writes with a schema; see `schema_writer`.

    Raises:
        DuologError: the schema has types that are not supported.
    """
    schemas = RecordSchemas(source)
    writer = schema_writer(schema, schema_id, source)

    def decode(data: bytes) -> object:
        return schemas.decoded(data, None, schema.language)

    def encode(text: str) -> bytes:
        try:
            return writer.encode(text)
        except SerdeError as error:
            if error.message == "is null":
                error.hint = "Write null with -Z, or as null in a line of -i jsonl."
            raise

    return SchemaForm(decode, encode, is_text=writer.is_string)
