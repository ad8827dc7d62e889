"""Read and write the command topic: the accepted statements of one service id, in order.

`_duolog-ksql-<service id>_command_topic` has one partition, no compaction and unlimited retention.
Replaying its records in order gives the catalog. Source: ksqlDB's `_confluent-ksql-<service
id>_command_topic`.

Threads: one at a time.
"""

import time
from collections.abc import Iterator
from typing import Final

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka import KafkaError as ClientError
from confluent_kafka.admin import NewTopic

from duolog.core.counts import counted
from duolog.core.errors import KafkaError
from duolog.runtime.sql.command_log.commands import FIRST, Command, decode, encode
from duolog.runtime.sql.errors import CommandDamaged
from duolog.runtime.topics import admin_of, create
from duolog.security.clients.brokers import Brokers

TOPIC_CONFIG: Final = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
_TIMEOUT_S: Final = 15.0
_AGAIN_S: Final = 0.05
_RECORDS_PER_POLL: Final = 5_000
_CONSUMER: Final = {
    # The consumer does not join the group or commit offsets.
    "group.id": "duolog-commands",
    "enable.auto.commit": False,
    "allow.auto.create.topics": False,
    "auto.offset.reset": "error",
    "fetch.wait.max.ms": 10,
    "log_level": 0,
}
_PRODUCER: Final = {"enable.idempotence": True, "acks": "all", "linger.ms": 0, "log_level": 0}
_NO_TOPIC: Final = (
    ClientError.UNKNOWN_TOPIC_OR_PART,
    ClientError._UNKNOWN_TOPIC,  # noqa: SLF001
    ClientError._UNKNOWN_PARTITION,  # noqa: SLF001
)


def command_topic_of(service_id: str) -> str:
    """Return the name of a service's command topic.

    Example:
        >>> command_topic_of("flights")
        '_duolog-ksql-flights_command_topic'
    """
    return f"_duolog-ksql-{service_id}_command_topic"


class CommandTopic:
    """Reads and appends the commands of one service id."""

    def __init__(self, bootstrap: Brokers | str, service_id: str) -> None:
        self.name = command_topic_of(service_id)
        self._brokers = Brokers.of(bootstrap)
        self._partition = TopicPartition(self.name, 0)
        self._consumer: Consumer | None = None
        self._producer: Producer | None = None
        self._end = 0
        """Offset after the last record that was read."""

    @property
    def last(self) -> int:
        """Offset of the last record that was read; `FIRST` before any."""
        return self._end - 1 if self._end else FIRST

    def read(self) -> Iterator[tuple[int, Command]]:
        """Yield new commands with their offsets, without void ones.

        Raises:
            CommandDamaged: a record cannot be read, or is missing.
            KafkaError: the broker does not answer, or refuses.
        """
        try:
            end = self._ensure_complete()
            while self._end < end:
                for message in self._reader().consume(min(_RECORDS_PER_POLL, end - self._end), 1.0):
                    if (found := self._take(message)) is not None:
                        yield found
        except KafkaException as error:
            raise self._failed("read", error.args[0]) from error
        finally:
            if self._consumer is not None:
                self._consumer.unassign()

    def make(self) -> None:
        """Create the topic unless it exists.

        Raises:
            KafkaError: the broker does not answer, or refuses.
        """
        topic = NewTopic(self.name, 1, config=dict(TOPIC_CONFIG))
        create(admin_of(self._brokers), [topic])

    def append(self, command: Command) -> int:
        """Write a command, and return its offset once it is durable.

        The first one creates the topic.

        Raises:
            KafkaError: the broker does not answer, or refuses.
        """
        if self.last == FIRST:
            self.make()
        if self._producer is None:
            self._producer = Producer(self._brokers.client(_PRODUCER))
        written: list[int] = []
        refused: list[ClientError] = []

        def delivered(error: ClientError | None, message: Message) -> None:
            if error is not None:
                refused.append(error)
            else:
                written.append(message.offset() or 0)

        key, value = command.query.encode(), encode(command)
        try:
            self._producer.produce(self.name, value, key, partition=0, on_delivery=delivered)
        except KafkaException as error:  # Of the client: the record is too large.
            raise self._failed("write to", error.args[0]) from error
        self._producer.flush(_TIMEOUT_S)
        if not written:
            self._producer.purge()
            timed_out = ClientError(ClientError.REQUEST_TIMED_OUT)
            raise self._failed("write to", refused[0] if refused else timed_out)
        return written[0]

    def unread(self, offset: int) -> KafkaError:
        """Return the error of a written record that cannot be read in time."""
        timed_out = ClientError(ClientError.REQUEST_TIMED_OUT)
        return self._failed(f"read offset {offset} of", timed_out)

    def close(self) -> None:
        """Close the clients. Does nothing if closed."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close()
        self._producer = None

    def _reader(self) -> Consumer:
        if self._consumer is None:
            self._consumer = Consumer(self._brokers.client(_CONSUMER))
        return self._consumer

    def _ensure_complete(self) -> int:
        """Return the end of the topic and start reading it; check that no record is missing.

        Raises:
            CommandDamaged: records are missing.
        """
        reader = self._reader()
        low, end = self._bounds(reader)
        if low > self._end:
            reason = f"The records from {self._end} to {low - 1} are missing."
            raise CommandDamaged(self.name, self._end, reason)
        if end < self._end:
            raise CommandDamaged(
                self.name, end, f"It had {counted(self._end, 'record')}, and now has {end}."
            )
        if end > self._end:
            reader.assign([TopicPartition(self.name, 0, self._end)])
        return end

    def _bounds(self, reader: Consumer) -> tuple[int, int]:
        """Return first offset and end; zeros if there is no topic, or none any more.

        While its broker is unavailable, a client may not know an existing topic, so unknown topics
        are retried.
        """
        deadline = time.monotonic() + _TIMEOUT_S
        while True:
            try:
                return reader.get_watermark_offsets(self._partition, timeout=_TIMEOUT_S)
            except KafkaException as error:
                if error.args[0].code() not in _NO_TOPIC:
                    raise
                listed = self.name in reader.list_topics(timeout=_TIMEOUT_S).topics
                is_late = time.monotonic() > deadline
                if not listed and (is_late or not self._end):
                    return 0, 0
                if is_late:
                    raise
            time.sleep(_AGAIN_S)

    def _take(self, message: Message) -> tuple[int, Command] | None:
        if (error := message.error()) is not None:
            raise KafkaException(error)
        offset = message.offset() or 0
        if offset != self._end:
            reason = f"The records from {self._end} to {offset - 1} are missing."
            raise CommandDamaged(self.name, self._end, reason)
        command = decode(message.value(), self.name, offset)
        self._end = offset + 1
        return (offset, command) if command.after == offset - 1 else None

    def _failed(self, verb: str, error: ClientError) -> KafkaError:
        reason = f'cannot {verb} command topic "{self.name}"'
        return KafkaError(reason, code=error.code(), detail=f"{error.str()}.")
