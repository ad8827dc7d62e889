"""Payloads in Avro: written with the schema of a class, read with those of writer and class.

fastavro resolves the two schemas: fields that the writer did not have get their defaults, and
aliases are followed. The class and the writer's record may have different names.
"""

import io
from collections.abc import Callable
from typing import Any, cast

import fastavro

from duolog.core.errors import SerdeError
from duolog.schemas.avro import AvroSchema, parse
from duolog.schemas.avro.columns import without_null
from duolog.schemas.classes.avro_values import FromAvro, ToAvro
from duolog.schemas.classes.shapes import RecordOf
from duolog.schemas.schema import Schema
from duolog.serde.avro_bounds import bounded_reader


class AvroPayloads:
    """Writes instances in Avro, and reads them."""

    def __init__(self, shape: RecordOf, text: str) -> None:
        self._schema = parse(text, {})
        self._parsed = fastavro.parse_schema(cast("Any", self._schema.plain(logical=False)))
        self._write = ToAvro(shape.namespace).of(shape, "")
        self._read = FromAvro().of(shape, "")

    def encode(self, value: object) -> bytes:
        """Return the payload of an instance."""
        out = io.BytesIO()
        fastavro.schemaless_writer(out, self._parsed, self._write(value))
        return out.getvalue()

    def decoder(self, writer: Schema | None) -> Callable[[bytes], object]:
        """Return the function that reads payloads which were written with a schema."""
        if not isinstance(writer, AvroSchema):
            raise SerdeError("the record was not written in Avro")
        written = fastavro.parse_schema(cast("Any", writer.plain(logical=False)))
        wanted: Any = self._schema.plain(logical=False)
        name = without_null(writer.root).full_name
        if name != wanted["name"]:
            wanted = {**wanted, "aliases": [*wanted.get("aliases", []), name]}
        wanted = fastavro.parse_schema(wanted)
        reads = bounded_reader(writer.root, written, wanted)

        def decode(payload: bytes) -> object:
            found = reads(payload)
            return self._read(found)

        return decode
