"""Run PRINT: the records of a topic as they arrive, with guessed formats.

Statements that show new records share one read of the topic, see `fanout/print_feeds.py`. Records
that start with the id of a schema are shown in JSON, if a schema registry is configured.

Source: ksqlDB's PRINT; rows have the fields of its lines.
"""

import datetime as dt
import json
import struct
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from confluent_kafka import KafkaError as ClientError
from confluent_kafka import Message

from duolog.core.errors import DuologError, KafkaError
from duolog.ksql.catalog.schemas import registry_in_force
from duolog.ksql.errors import SqlError
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.nodes import place_of
from duolog.runtime.broker_probe import ensure_reachable
from duolog.runtime.sql.answers import Rows
from duolog.runtime.sql.fanout.print_feeds import PrintedRecords, PrintFeeds
from duolog.runtime.sql.reply.row_source import PushedRows
from duolog.schemas.schema import Language
from duolog.serde.times import MILLISECONDS_MAX, MILLISECONDS_MIN
from duolog.serde.wire_format import ID_BYTES, MAGIC_OF_ID

if TYPE_CHECKING:
    from duolog.serde.readable import SchemaReader

COLUMNS: Final = (
    ("rowtime", "STRING"),
    ("key", "STRING"),
    ("value", "STRING"),
    ("partition", "INTEGER"),
    ("key format", "STRING"),
    ("value format", "STRING"),
)
_MISSING: Final = frozenset(
    {
        ClientError.UNKNOWN_TOPIC_OR_PART,
        ClientError.TOPIC_EXCEPTION,
        ClientError.TOPIC_AUTHORIZATION_FAILED,
    }
)
"""Codes of a topic that does not exist, cannot exist, or that this server may not describe."""
Guess = Callable[[bytes | None], tuple[str, str]]
"""Returns bytes as text, with their probable format."""
_PACKED: Final = {4: (">i", "KAFKA_INT"), 8: (">q", "KAFKA_BIGINT")}


def printed(feeds: PrintFeeds, node: nodes.PrintTopic, registry: str | None = None) -> Rows:
    """Return the new records of a topic, or all of them with FROM BEGINNING.

    Args:
        feeds: the readers of the cluster's topics.
        node: the statement.
        registry: the address of the schema registry, if there is one.

    Raises:
        SqlError: there is no such topic.
        BrokerUnavailable: no broker answers.
        KafkaError: the topic cannot be read.
    """
    ensure_reachable(feeds.brokers)
    topic = node.this.name
    try:
        records = feeds.records(topic, from_beginning=bool(node.args.get("from_beginning")))
    except KafkaError as error:
        if error.code not in _MISSING:
            raise
        raise SqlError(
            f"Could not find topic '{topic}', or the KSQL user does not have permissions to list "
            "the topic. Topic names are case-sensitive.",
            at=place_of(node),
        ) from error
    every = int(node.args["interval"].name) if node.args.get("interval") else 1
    limit = int(node.args["limit"].name) if node.args.get("limit") else None
    guess: Guess = (
        guessed if registry is None else partial(guessed_by_schema, schema_reader(registry))
    )
    source = _Lines(records, max(1, every), guess)
    return Rows(COLUMNS, PushedRows(source, limit), unbounded=True)


class _Lines:
    """The rows of every nth record."""

    def __init__(self, records: PrintedRecords, every: int, guess: Guess) -> None:
        self._records = records
        self._every = every
        self._guess = guess
        self._seen = 0

    def next_rows(self, timeout_s: float) -> list[tuple[object, ...]]:
        """Return the rows of the next records that are shown; see `RowSource`."""
        records = self._records.take(timeout_s)
        first = -self._seen % self._every
        self._seen += len(records)
        return [_row(one, self._guess) for one in records[first :: self._every]]

    def close(self) -> None:
        self._records.close()


def _row(message: Message, guess: Guess) -> tuple[object, ...]:
    key, key_format = guess(message.key())
    value, value_format = guess(message.value())
    return (
        _moment(message.timestamp()[1]),
        key,
        value,
        message.partition(),
        key_format,
        value_format,
    )


def schema_reader(registry: str) -> "SchemaReader":
    """Return a reader with the schemas of the registry at an address, as statements see it."""
    """Return a reader with the schemas of the registry at an address, as statements see it."""
    # The formats are loaded for PRINT only.
    from duolog.serde.readable import SchemaReader  # noqa: PLC0415

    return SchemaReader(registry_in_force(registry))


def guessed_by_schema(reader: "SchemaReader", data: bytes | None) -> tuple[str, str]:
    """Return bytes as text; those that start with a known id are read with its schema.

    A BIGINT can start like an id, therefore 8 bytes are a BIGINT.
    """
    may_have_id = data is not None and len(data) >= ID_BYTES and data[0] == MAGIC_OF_ID
    if data is None or not may_have_id or len(data) in _PACKED:
        return guessed(data)
    try:
        found = reader.read(data)
    except DuologError:
        return guessed(data)
    return found.text, "JSON_SR" if found.language == Language.JSON else found.language.value


def guessed(data: bytes | None) -> tuple[str, str]:
    """Return bytes as text, with their probable format.

    Example:
        >>> guessed(b'{"a":1}'), guessed(bytes(7) + bytes([5])), guessed(b"bob"), guessed(None)
        (('{"a":1}', 'JSON'), ('5', 'KAFKA_BIGINT'), ('bob', 'KAFKA_STRING'), ('<null>', ''))
    """
    if data is None:
        return "<null>", ""
    text = _text(data)
    if text is not None:
        try:
            is_json = isinstance(json.loads(text), dict | list)
        except (ValueError, RecursionError):
            is_json = False
        return text, "JSON" if is_json else "KAFKA_STRING"
    if len(data) in _PACKED:
        packing, name = _PACKED[len(data)]
        return str(struct.unpack(packing, data)[0]), name
    return data.hex(), "KAFKA_BYTES"


def _text(data: bytes) -> str | None:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return text if all(letter.isprintable() or letter.isspace() for letter in text) else None


def _moment(ms: int) -> str:
    if not MILLISECONDS_MIN <= ms <= MILLISECONDS_MAX:
        return f"{ms} ms"
    at = dt.datetime.fromtimestamp(ms / 1000, dt.UTC)
    return f"{at:%Y/%m/%d %H:%M:%S}.{ms % 1000:03d} Z"
