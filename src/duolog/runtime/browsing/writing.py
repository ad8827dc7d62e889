"""Write one record: key and value as text, in a format or by the schema of a subject.

    STRING, JSON, INT, BIGINT, DOUBLE   text
    BASE64, HEX                         bytes
    AVRO, PROTOBUF, JSON_SR             JSON that fits the latest schema of `<topic>-<part>`
    NULL                                null: as a value, a tombstone

Threads: any.
"""

import base64
import binascii
import json
import struct
import threading
from collections.abc import Sequence
from typing import Final, NamedTuple

from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException, Message, Producer

from duolog.core.errors import KafkaError, RegistryError, SerdeError
from duolog.runtime.broker_probe import ensure_reachable
from duolog.runtime.browsing.decoding import LANGUAGES
from duolog.runtime.browsing.json_texts import parse_json
from duolog.runtime.topics import client_error
from duolog.schemas.source import SchemaSource, Version
from duolog.security.clients.brokers import Brokers

FORMATS: Final = (
    *("STRING", "JSON", "AVRO", "PROTOBUF", "JSON_SR"),
    *("INT", "BIGINT", "DOUBLE", "BASE64", "HEX", "NULL"),
)
_WRITE_S: Final = 30.0
_OPTIONS: Final = {
    "linger.ms": 0,
    "message.timeout.ms": int(_WRITE_S * 1000),
    "message.max.bytes": 100_000_000,
    "log_level": 0,
}
_PACKED: Final = {"INT": ">i", "BIGINT": ">q"}


class PartText(NamedTuple):
    """A key or value to be written.

    Attributes:
        form: one of `FORMATS`.
        text: see the module.
        subject: of the schema; empty for that of the topic.
    """

    form: str
    text: str = ""
    subject: str = ""


class NewRecord(NamedTuple):
    """A record to be written; the partition and the time are chosen if they are None."""

    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]] = ()
    partition: int | None = None
    timestamp_ms: int | None = None


class Written(NamedTuple):
    """The place of a record that was written."""

    partition: int
    offset: int
    timestamp_ms: int


def encoded(which: str, part: PartText, topic: str, source: SchemaSource | None) -> bytes | None:
    """Return the bytes of a key or value.

    Raises:
        SerdeError: the text is not of its format.
        RegistryError: there is no such schema, or the registry does not answer.
    """
    match part.form:
        case "NULL":
            return None
        case "STRING":
            return _utf8(which, part.text)
        case "JSON":
            return _json(which, part.text)
        case "INT" | "BIGINT" | "DOUBLE":
            return _number(which, part)
        case "BASE64" | "HEX":
            return _bytes(which, part)
        case _:
            return _by_schema(which, part, topic, source)


def latest_of(source: SchemaSource | None, subject: str) -> Version:
    """Return the latest version of a subject.

    Raises:
        RegistryError: there is none, or there is no registry.
    """
    if source is None:
        raise RegistryError(
            "the server has no schema registry",
            hint="Start the server with --registry, or use another format.",
        )
    found = source.latest(subject)
    if found is None:
        raise RegistryError(
            f'subject "{subject}" does not exist',
            hint="Register a schema for it, or use another format.",
        )
    return found


def write(brokers: Brokers, topic: str, record: NewRecord) -> Written:
    """Write a record, and wait until the broker has it.

    Raises:
        BrokerUnavailable: no broker answers.
        KafkaError: the broker refuses it, or does not answer in time.
    """
    ensure_reachable(brokers)
    done = threading.Event()
    result: list[tuple[ClientError | None, Message]] = []

    def delivered(error: ClientError | None, message: Message) -> None:
        result.append((error, message))
        done.set()

    doing = f'write to topic "{topic}"'
    producer = Producer(brokers.client(_OPTIONS))
    try:
        producer.produce(
            topic,
            key=record.key,
            value=record.value,
            headers=list(record.headers),
            partition=-1 if record.partition is None else record.partition,
            timestamp=record.timestamp_ms or 0,
            on_delivery=delivered,
        )
        producer.flush(_WRITE_S)
    except (KafkaException, BufferError) as error:
        raise _refused(doing, error) from error
    if not done.is_set():
        raise _refused(doing, TimeoutError())
    refusal, message = result[0]
    if refusal is not None:
        raise _refused(doing, KafkaException(refusal))
    return Written(message.partition() or 0, message.offset() or 0, message.timestamp()[1])


def _refused(doing: str, error: KafkaException | BufferError | TimeoutError) -> KafkaError:
    found = client_error(error if isinstance(error, KafkaException) else TimeoutError())
    return KafkaError(
        f"could not {doing}",
        code=found.code(),
        retriable=bool(found.retriable()),
        detail=f"{found.name()}: {found.str()}",
    )


def _utf8(which: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise SerdeError(f"the {which} is not valid Unicode") from error


def _json(which: str, text: str) -> bytes:
    try:
        parse_json(text)
    except (ValueError, RecursionError) as error:
        raise SerdeError(
            f"the {which} is not JSON", detail=str(error), hint="Correct it, or use STRING."
        ) from error
    return _utf8(which, text)


def _number(which: str, part: PartText) -> bytes:
    try:
        if part.form == "DOUBLE":
            return struct.pack(">d", float(part.text))
        return struct.pack(_PACKED[part.form], int(part.text))
    except (ValueError, struct.error, OverflowError) as error:
        raise SerdeError(f"the {which} is not of type {part.form}", detail=str(error)) from error


def _bytes(which: str, part: PartText) -> bytes:
    try:
        if part.form == "HEX":
            return bytes.fromhex(part.text)
        return base64.b64decode(part.text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise SerdeError(f"the {which} is not {part.form.lower()}", detail=str(error)) from error


def _by_schema(which: str, part: PartText, topic: str, source: SchemaSource | None) -> bytes:
    # The formats are loaded for schemas only.
    from duolog.serde.schema_writing import schema_writer  # noqa: PLC0415

    version = latest_of(source, part.subject or f"{topic}-{which}")
    assert source is not None
    if version.schema.language != LANGUAGES[part.form]:
        raise SerdeError(
            f'subject "{version.subject}" has a schema in {version.schema.language.value}',
            hint=f"Use that format, not {part.form}.",
        )
    writer = schema_writer(source.by_id(version.schema_id), version.schema_id, source)
    text = json.dumps(part.text) if writer.is_string else part.text
    try:
        return writer.encode(text)
    except SerdeError as error:
        raise SerdeError(
            f"the {which} {error.message}", detail=error.detail, hint=error.hint
        ) from error
