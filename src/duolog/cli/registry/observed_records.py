"""Observe the values of records: JSON, or bytes with the id of a schema in a registry."""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Final, cast

import fastavro

from duolog.core.errors import DuologError, RegistryError, SerdeError
from duolog.schemas.avro import AvroSchema
from duolog.schemas.columns import fields_of, type_of
from duolog.schemas.inference import Observed
from duolog.schemas.nesting import is_deeper
from duolog.schemas.protobuf import ProtobufSchema, decode_indexes
from duolog.schemas.schema import Schema
from duolog.schemas.source import SchemaSource
from duolog.serde.avro_bounds import bounded_reader
from duolog.serde.protobuf import decoder
from duolog.serde.wire_format import (
    MAGIC_OF_GUID,
    MAGIC_OF_ID,
    SchemaKey,
    SchemaUnavailableError,
    named,
    schema_of,
    unframed,
)

_Decode = Callable[[bytes], object]
_DEPTH_MAX: Final = 60
NOT_JSON: Final = "not JSON"
NOT_OBJECT: Final = "not an object"
TOMBSTONE: Final = "without a value"


class ObservedRecords:
    """Counts the values of records.

    Attributes:
        values: the values that are objects.
        used: how many there were.
        skipped: how many records were not used, by reason.
    """

    def __init__(self, source: SchemaSource | None) -> None:
        self._source = source
        self._decoders: dict[SchemaKey, _Decode] = {}
        self.values = Observed()
        self.used = 0
        self.skipped: Counter[str] = Counter()

    def add_all(self, values: Iterable[bytes | None]) -> None:
        """Count the values of records."""
        for value in values:
            self.add(value)

    def add(self, data: bytes | None) -> None:
        """Count the value of one record.

        Raises:
            SchemaUnavailableError: the registry does not answer, or refuses the user.
        """
        if data is None:
            self.skipped[TOMBSTONE] += 1
            return
        try:
            value = self._value(data)
            if not isinstance(value, dict):
                self.skipped[NOT_OBJECT] += 1
                return
            self.values.add(value)
        except SchemaUnavailableError:
            raise
        except DuologError as error:
            self.skipped[error.message] += 1
        except (ValueError, RecursionError):
            self.skipped[NOT_JSON] += 1
        else:
            self.used += 1

    def _value(self, data: bytes) -> object:
        # No JSON starts with these bytes.
        if data[:1] not in {bytes((MAGIC_OF_ID,)), bytes((MAGIC_OF_GUID,))}:
            return _json(data)
        if self._source is None:
            raise RegistryError("with the id of a schema, but without a registry")
        key, payload = unframed(data)
        if key not in self._decoders:
            self._decoders[key] = _decoder(_schema(self._source, key))
        try:
            return self._decoders[key](payload)
        except Exception as error:  # damaged bytes raise errors of every kind in the libraries
            raise RegistryError(f"not of their schema ({named(key)})") from error


def _json(data: bytes) -> object:
    text = data.decode()
    if is_deeper(text, _DEPTH_MAX):
        raise ValueError(f"the record is nested deeper than {_DEPTH_MAX} levels")
    return json.loads(text)


def _schema(source: SchemaSource, key: SchemaKey) -> Schema:
    try:
        return schema_of(source, key)
    except SerdeError as error:
        raise RegistryError(f"without a schema: {error.detail or error.message}") from error


def _decoder(schema: Schema) -> _Decode:
    if isinstance(schema, AvroSchema):
        parsed = fastavro.parse_schema(cast("Any", schema.plain()))
        return bounded_reader(schema.root, parsed, named=False)
    if isinstance(schema, ProtobufSchema):
        return lambda payload: _message(schema, payload)
    return _json


def _message(schema: ProtobufSchema, payload: bytes) -> object:
    indexes, at = decode_indexes(payload)
    name = schema.message_name(indexes)
    columns = fields_of(type_of(schema, upper=False, name=name))
    assert columns is not None, name
    row = decoder(schema, name, columns)(payload[at:])
    return {column.name: value for column, value in zip(columns, row, strict=True)}
