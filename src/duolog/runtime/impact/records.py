"""Read the last records with a new schema, as a consumer does that has it.

    Avro          resolved from the writer's schema to the new one; depends on the values, as a
                  union may have lost only branches that the record does not use
    JSON Schema   the value is validated
    Protobuf      the message is parsed; a change that breaks the rules of Protobuf counts, too, as
                  a parser does not notice it

A record without a schema id was not written for the subject, and is counted as not tried. A record
that cannot be read with its own schema is unreadable before and after: no new schema breaks it.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from duolog.core.errors import DuologError, SerdeError
from duolog.runtime.impact.report import BrokenRecord
from duolog.schemas.schema import Incompatibility, Language, Schema
from duolog.schemas.source import SchemaSource
from duolog.serde.wire_format import KEY_HEADER, VALUE_HEADER, schema_of, unframed

if TYPE_CHECKING:
    # The package of a language takes a tenth of a second to load.
    from duolog.schemas.avro import AvroSchema
    from duolog.schemas.json_schema import JsonSchema
    from duolog.schemas.protobuf import ProtobufSchema

Read = Callable[[bytes], None]
"""Reads the payload of a record. Raises SerdeError if it does not fit."""


class StoredRecord(NamedTuple):
    """A record of a topic, with its place."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Tried:
    """The result for the records of a topic.

    Attributes:
        count: number of records that can be read with the schema that they were written with.
        broken: those of them that cannot be read with the new schema.
        unreadable: number of records that cannot be read with their own schema either.
    """

    count: int
    broken: tuple[BrokenRecord, ...]
    unreadable: int = 0


class RecordTrial:
    """Reads records with a schema that is not registered yet.

    Args:
        schema: the new schema.
        source: the registry, which knows the schemas that the records were written with.
    """

    def __init__(self, schema: Schema, source: SchemaSource) -> None:
        self._schema = schema
        self._source = source
        self._readers: dict[int | str, Read] = {}
        self._writers: dict[int | str, Schema | SerdeError] = {}

    def read(self, topic: str, records: Iterable[StoredRecord], *, is_key: bool) -> Tried:
        """Try records of a topic.

        Raises:
            SchemaUnavailableError: the registry does not answer, or refuses the user.
        """
        count = unreadable = 0
        broken: list[BrokenRecord] = []
        for record in records:
            data = record.key if is_key else record.value
            if data is None:
                continue
            try:
                key, payload = _framed(record, data, is_key=is_key)
            except SerdeError:
                continue
            try:
                self._reader(key)(payload)
            except SerdeError as error:
                if self._is_unreadable(key, payload):
                    unreadable += 1
                    continue
                reason = f"{error.message}. {error.detail}" if error.detail else error.message
                broken.append(BrokenRecord(topic, record.partition, record.offset, reason))
            count += 1
        return Tried(count, tuple(broken), unreadable)

    def _reader(self, key: int | str) -> Read:
        found = self._readers.get(key)
        if found is None:
            found = self._readers[key] = reader_of(self._schema, self._writer(key))
        return found

    def _writer(self, key: int | str) -> Schema:
        known = self._writers.get(key)
        if known is None:
            try:
                known = schema_of(self._source, key)
            except SerdeError as error:  # kept as well: a request for each record takes long
                known = error
            self._writers[key] = known
        if isinstance(known, SerdeError):
            raise known
        return known

    def _is_unreadable(self, key: int | str, payload: bytes) -> bool:
        """Return whether a record cannot be read with the schema that it was written with."""
        try:
            writer = self._writer(key)
            reader_of(writer, writer)(payload)
        except SerdeError:
            return True
        return False


def _framed(record: StoredRecord, data: bytes, *, is_key: bool) -> tuple[int | str, bytes]:
    frame = dict(record.headers).get(KEY_HEADER if is_key else VALUE_HEADER)
    return unframed(data if frame is None else frame + data)


def reader_of(schema: Schema, writer: Schema) -> Read:
    """Return the function that reads, with a schema, what was written with another one.

    Raises:
        SerdeError: the two are of different languages.
    """
    if schema.language is not writer.language:
        raise SerdeError(
            f"the record is written in {writer.language.value}, "
            f"and the schema is {schema.language.value}"
        )
    if schema.language is Language.AVRO:
        return _avro_reader(cast("AvroSchema", schema), cast("AvroSchema", writer))
    if schema.language is Language.PROTOBUF:
        return _protobuf_reader(cast("ProtobufSchema", schema), cast("ProtobufSchema", writer))
    return _json_reader(cast("JsonSchema", schema))


def _avro_reader(schema: "AvroSchema", writer: "AvroSchema") -> Read:
    import fastavro  # noqa: PLC0415 - not needed for the other languages

    from duolog.serde.avro_bounds import bounded_reader  # noqa: PLC0415 - not needed for others

    # Any: fastavro's own type of schemas.
    written: Any = fastavro.parse_schema(cast("Any", writer.plain(logical=False)))
    wanted: Any = fastavro.parse_schema(cast("Any", schema.plain(logical=False)))
    refused = schema.incompatibilities(writer)
    reads = bounded_reader(writer.root, written, wanted)

    def read(payload: bytes) -> None:
        try:
            reads(payload)
        except Exception as error:  # damaged bytes raise errors of every kind in fastavro
            raise SerdeError(_first(refused) or str(error) or type(error).__name__) from error

    return read


def _first(refused: Sequence[Incompatibility]) -> str:
    if not refused:
        return ""
    return refused[0].description.replace("{reader}", "new").replace("{writer}", "old")


def _json_reader(schema: "JsonSchema") -> Read:
    def read(payload: bytes) -> None:
        try:
            value = json.loads(payload)
        except (ValueError, RecursionError) as error:
            raise SerdeError("the value is not JSON") from error
        problem = schema.problem(value)
        if problem is not None:
            raise SerdeError(str(problem.message), detail="/".join(reversed(problem.steps)))

    return read


def _protobuf_reader(schema: "ProtobufSchema", writer: "ProtobufSchema") -> Read:
    from google.protobuf.message import DecodeError  # noqa: PLC0415 - not needed for others

    from duolog.schemas.protobuf.indexes import decode_indexes  # noqa: PLC0415

    refused = schema.incompatibilities(writer)

    def read(payload: bytes) -> None:
        try:
            indexes, start = decode_indexes(payload)
            made = schema.message_class(writer.message_name(indexes))
            made.FromString(payload[start:])
        except (DecodeError, ValueError, DuologError) as error:
            raise SerdeError(str(error)) from error
        if refused:
            raise SerdeError(_first(refused))

    return read
