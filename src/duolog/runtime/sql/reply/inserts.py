"""Write the rows of INSERT INTO … VALUES, and the tombstones of DELETE.

Constants are serialized here (`constants.py`). Other expressions, such as functions, are evaluated
by the kernel, as in queries, which starts the JVM.
"""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple
from uuid import uuid4

from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException, Producer
from confluent_kafka import Message as Delivered

from duolog.core.errors import KafkaError, SerdeError
from duolog.ksql.catalog.catalog import SqlColumn
from duolog.ksql.catalog.formats import plan_format
from duolog.ksql.errors import SqlError
from duolog.ksql.statements.inserted_rows import TRIGGER_TOPIC, TRIGGER_VALUE, plan_of_row
from duolog.ksql.statements.state import InsertedRow
from duolog.plan.types import Column
from duolog.runtime.sql.command_log.reserved_topics import ensure_writable
from duolog.runtime.sql.reply.constants import Constant, constant_of
from duolog.security.clients.brokers import Brokers
from duolog.serde.row import Row
from duolog.serde.serde import key_serde, value_serde

_TIMEOUT_S: Final = 15.0
_REPORT_S: Final = 3.0
"""Time in which the client reports that a record has not been written in time."""
_POLL_S: Final = 0.05
_FAILED: Final = {
    ClientError.REQUEST_TIMED_OUT,
    ClientError._MSG_TIMED_OUT,  # noqa: SLF001 - it has no other name
    ClientError._FATAL,  # noqa: SLF001 - as above
}
"""Errors after which a producer is replaced."""
_PRODUCER: Final = {
    "enable.idempotence": True,
    "acks": "all",
    "linger.ms": 0,
    # A record whose statement has failed must not be written later.
    "message.timeout.ms": int(_TIMEOUT_S * 1000),
    "log_level": 0,
    "partitioner": "murmur2_random",
}


Headers = tuple[tuple[str, bytes | None], ...]


Addressed = tuple[str, "Inserted"]
"""A record with its topic."""


class Inserted(NamedTuple):
    """A record to write; without a timestamp, the broker sets it."""

    key: bytes | None
    value: bytes | None
    timestamp_ms: int | None
    headers: Headers = ()


def insert(
    writer: "InsertWriter", rows: Sequence[InsertedRow], warm_up: Callable[[], None]
) -> None:
    """Write rows and return once they are durable; `warm_up` starts the JVM if it is needed.

    Raises:
        SqlError: a value does not match its column.
        KafkaError: the broker does not answer, or refuses.
    """
    # Evaluate all rows before the first is written, so that an error writes none.
    writer.write([record_of(row, warm_up) for row in rows])


def record_of(row: InsertedRow, warm_up: Callable[[], None]) -> "Addressed":
    """Return the record of a row with its topic; `warm_up` starts the JVM if it is needed.

    Raises:
        SqlError: a value does not match its column, or the topic is reserved.
    """
    ensure_writable(row.source.topic)
    return row.source.topic, constant_record(row) or _computed(row, warm_up)


def constant_record(row: InsertedRow) -> Inserted | None:
    """Return the record of a row, or None if it has to be evaluated.

    Raises:
        SqlError: a value does not match its column.
    """
    source = row.source
    folded = {name: constant_of(value) for name, value in row.values}
    beside = {name: constant_of(value) for name, value in row.headers}
    at = constant_of(row.timestamp) if row.timestamp is not None else None
    parts = (*folded.values(), *beside.values())
    if None in parts or (at is None and row.timestamp is not None):
        return None
    given = {name: one.value for name, one in folded.items() if one is not None}

    def columns(of: Iterable[SqlColumn]) -> tuple[Column, ...]:
        return tuple(Column(one.name, one.type) for one in of)

    def row_of(of: Iterable[SqlColumn]) -> Row:
        return tuple(given.get(one.name) for one in of)

    key_format, value_format = plan_format(source.key_format), plan_format(source.value_format)
    try:
        key = None
        if source.key and any(part is not None for part in row_of(source.key)):
            keys = key_serde(key_format.name, columns(source.key), options=key_format.options)
            key = keys.serialize(row_of(source.key))
        value = None
        if not row.tombstone:
            serde = value_serde(value_format.name, columns(source.value), value_format.options)
            value = serde.serialize(row_of(source.value))
    except SerdeError as error:
        raise SqlError(f"Failed to insert values into '{source.name}'. {error.message}") from error
    timestamp = at.value if at is not None else None
    assert timestamp is None or isinstance(timestamp, int), timestamp
    headers = tuple((name, _header_bytes(one)) for name, one in beside.items() if one is not None)
    return Inserted(key, value, timestamp, headers)


def _header_bytes(of: Constant) -> bytes | None:
    """Return the bytes of a header; strings are encoded in UTF-8."""
    assert of.value is None or isinstance(of.value, str | bytes), of
    return of.value.encode() if isinstance(of.value, str) else of.value


def _computed(row: InsertedRow, warm_up: Callable[[], None]) -> Inserted:
    from duolog.engine.evaluate_record import evaluate_record  # noqa: PLC0415 - needs pyspark

    warm_up()
    name = f"duolog-insert-{uuid4().hex}"
    made = evaluate_record(plan_of_row(row), name, TRIGGER_TOPIC, TRIGGER_VALUE)
    value = None if row.tombstone else made.value
    at_ms = made.timestamp_ms if row.timestamp is not None else None
    return Inserted(made.key, value, at_ms, made.headers)


class InsertWriter:
    """Writes records to topics; its producer connects with the first record and stays open.

    A producer that has failed is replaced for the next call. Calls that still use it keep it: their
    records may belong to other topics, which work.

    Threads: any.
    """

    def __init__(self, bootstrap: Brokers | str) -> None:
        self._brokers = Brokers.of(bootstrap)
        self._lock = threading.Lock()
        self._shared: _Shared | None = None

    def write(self, records: Sequence[Addressed]) -> None:
        """Write each record to its topic, and return once all are durable.

        Raises:
            KafkaError: the broker does not answer, or refuses a record.
        """
        for error in self.write_each(records):
            if error is not None:
                raise error

    def write_each(self, records: Sequence[Addressed]) -> list[KafkaError | None]:
        """Write each record to its topic; return its error once it is known, None if it is durable.

        Records after a failed one may be durable, too: those of another partition, for example.
        """
        shared = self._taken()
        try:
            errors = _written(shared.producer, records)
            if any(one is not None and (one.fatal() or one.code() in _FAILED) for one in errors):
                self._retire(shared)
        finally:
            self._give(shared)
        return [
            None if one is None else _failed(topic, one)
            for one, (topic, _) in zip(errors, records, strict=True)
        ]

    def close(self) -> None:
        """Disconnect. Does nothing if closed; a later record connects again."""
        with self._lock:
            shared, self._shared = self._shared, None
        if shared is not None:
            shared.producer.flush(_TIMEOUT_S)

    def _taken(self) -> "_Shared":
        with self._lock:
            if self._shared is None:
                self._shared = _Shared(Producer(self._brokers.client(_PRODUCER)))
            self._shared.users += 1
            return self._shared

    def _retire(self, shared: "_Shared") -> None:
        """Connect again for the next call: an idempotent producer may fail for good."""
        with self._lock:
            shared.retired = True
            if self._shared is shared:
                self._shared = None

    def _give(self, shared: "_Shared") -> None:
        with self._lock:
            shared.users -= 1
            unused = shared.retired and shared.users == 0
        if unused:
            # What is left belongs to calls that have failed. Records of other calls would fail.
            shared.producer.purge()


@dataclass(slots=True)
class _Shared:
    """A producer with the number of calls that use it."""

    producer: Producer
    users: int = 0
    retired: bool = False


def _written(producer: Producer, records: Sequence[Addressed]) -> "list[ClientError | None]":
    """Write records; return the error of each once it is known."""
    pending = _Pending(len(records))
    for at, (topic, record) in enumerate(records):
        try:
            producer.produce(
                topic,
                record.value,
                record.key,
                on_delivery=partial(pending.delivered, at),
                timestamp=record.timestamp_ms or 0,  # 0 means now in librdkafka.
                headers=list(record.headers),
            )
        except (KafkaException, BufferError) as raised:
            pending.refuse(_refusal(raised), range(at, len(records)))
            break
    deadline = time.monotonic() + _TIMEOUT_S + _REPORT_S
    while not pending.is_complete and time.monotonic() < deadline:
        producer.poll(_POLL_S)
    return pending.errors()


def _failed(topic: str, error: ClientError) -> KafkaError:
    return KafkaError(
        f'cannot write to topic "{topic}"', code=error.code(), detail=f"{error.str()}."
    )


def _refusal(error: KafkaException | BufferError) -> ClientError:
    """Return the error of a record that the client itself refuses."""
    if isinstance(error, KafkaException):
        refusal = error.args[0]
        assert isinstance(refusal, ClientError)
        return refusal
    return ClientError(ClientError._QUEUE_FULL)  # noqa: SLF001 - it has no other name


class _Pending:
    """The deliveries of one call; another thread may report them."""

    def __init__(self, count: int) -> None:
        self._lock = threading.Lock()
        late = ClientError(ClientError.REQUEST_TIMED_OUT)
        self._outcomes: list[ClientError | None] = [late] * count
        self._left = count

    @property
    def is_complete(self) -> bool:
        """True if each record was written or refused."""
        with self._lock:
            return self._left == 0

    def errors(self) -> list[ClientError | None]:
        """Return the error of each record; a timeout if it is not known yet."""
        with self._lock:
            return list(self._outcomes)

    def refuse(self, error: ClientError, places: Iterable[int]) -> None:
        """Note that the client refuses records, so that they are not written."""
        for at in places:
            self.delivered(at, error, None)

    def delivered(self, at: int, error: ClientError | None, _message: Delivered | None) -> None:
        with self._lock:
            self._outcomes[at] = error
            self._left -= 1
