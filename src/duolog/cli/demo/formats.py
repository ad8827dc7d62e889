"""The format of the demo's values: JSON, or Avro with a schema registry.

    flights, airlines, airports, planes      JSON of the data set ─▶ encode ─▶ topic
    flights-by-airline, …-by-destination     topic ─▶ decode ─▶ row

In Avro, every topic has a schema in the registry, all fields may be null, and keys are text as in
JSON.
"""

import io
import json
from collections.abc import Callable
from typing import Any, Final, Protocol, cast

from duolog.cli.demo.topics import AIRLINES, AIRPORTS, FLIGHTS, PLANES, RESULTS
from duolog.cli.demo.topology import FLIGHT_COLUMNS
from duolog.core.types import Column, parse_columns
from duolog.plan.formats import JSON, REGISTRY, SCHEMA, SCHEMA_ID, Format
from duolog.schemas.source import SchemaSource, provide

Row = dict[str, Any]

_RESULT_COLUMNS: Final = (
    "name STRING, flights BIGINT, delay_count BIGINT, delay_sum BIGINT, delay_mean DOUBLE, "
    "delay_max BIGINT, last_produced_at BIGINT"
)
_COLUMNS: Final = {
    FLIGHTS: FLIGHT_COLUMNS,
    AIRLINES: "name STRING",
    AIRPORTS: "name STRING, lat DOUBLE, lon DOUBLE",
    PLANES: "year BIGINT, type STRING, manufacturer STRING, model STRING, engines BIGINT, "
    "seats BIGINT",
    **dict.fromkeys(RESULTS, _RESULT_COLUMNS),
}


class DemoFormat(Protocol):
    """The format of the values of the demo's topics."""

    def of(self, topic: str) -> Format:
        """Return the format for the topology."""

    def encode(self, topic: str, text: str) -> bytes:
        """Return the bytes of a row in JSON."""

    def decode(self, topic: str, data: bytes) -> Row:
        """Return the row that bytes contain."""


class JsonFormat:
    """Values in JSON."""

    def of(self, topic: str) -> Format:
        """Return the format; see `DemoFormat`."""
        del topic
        return JSON

    def encode(self, topic: str, text: str) -> bytes:
        """Return the bytes of a row; see `DemoFormat`."""
        del topic
        return text.encode()

    def decode(self, topic: str, data: bytes) -> Row:
        """Return the row; see `DemoFormat`."""
        del topic
        return cast("Row", json.loads(data))


class AvroFormat:
    """Values in Avro; registers the schemas of all topics.

    Args:
        registry: the URL of the schema registry.
        source: the registry.

    Raises:
        RegistryError: the registry does not answer, or has other schemas of these names.
    """

    def __init__(self, registry: str, source: SchemaSource) -> None:
        # The libraries are loaded for this format only.
        from duolog.schemas.columns import text_of  # noqa: PLC0415
        from duolog.schemas.schema import Language  # noqa: PLC0415

        provide(registry, source)
        self._formats: dict[str, Format] = {}
        self._encoders: dict[str, Callable[[object], bytes]] = {}
        self._decoders: dict[str, Callable[[bytes], Row]] = {}
        for topic, declared in _COLUMNS.items():
            columns = parse_columns(declared)
            name = f"duolog.demo.{topic.title().replace('-', '')}"
            schema = text_of(Language.AVRO, columns, name=name, bare=False)
            schema_id = source.register(f"{topic}-value", schema)
            options = {REGISTRY: registry, SCHEMA: schema.text, SCHEMA_ID: str(schema_id)}
            self._formats[topic] = Format("AVRO", tuple(sorted(options.items())))
            self._encoders[topic] = _encoder(schema.text, schema_id)
            self._decoders[topic] = _decoder(columns, source)

    def of(self, topic: str) -> Format:
        """Return the format; see `DemoFormat`."""
        return self._formats[topic]

    def encode(self, topic: str, text: str) -> bytes:
        """Return the bytes of a row; see `DemoFormat`."""
        return self._encoders[topic](json.loads(text))

    def decode(self, topic: str, data: bytes) -> Row:
        """Return the row; see `DemoFormat`."""
        return self._decoders[topic](data)


def _encoder(schema: str, schema_id: int) -> Callable[[object], bytes]:
    import fastavro  # noqa: PLC0415 - as above

    from duolog.serde.wire_format import framed  # noqa: PLC0415 - as above

    parsed = fastavro.parse_schema(json.loads(schema))

    def encode(row: object) -> bytes:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, parsed, row)
        return framed(schema_id, out.getvalue())

    return encode


def _decoder(columns: tuple[Column, ...], source: SchemaSource) -> Callable[[bytes], Row]:
    from duolog.serde.avro import AvroSerde  # noqa: PLC0415 - as above

    serde = AvroSerde(columns, source)
    names = [column.name for column in columns]

    def decode(data: bytes) -> Row:
        row = serde.deserialize(data)
        assert row is not None, "a tombstone is not decoded"
        return dict(zip(names, row, strict=True))

    return decode
