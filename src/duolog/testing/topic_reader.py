"""Read partitions to their present ends, from any offset, and compare a group's offsets with them.

Only committed records are read. Offsets without a record (markers of transactions, aborted or
compacted records) are passed over, so that they count neither as records nor as lag.
"""

import time
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Final, Self

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

TIMEOUT_S: Final = 15.0
_POLL_S: Final = 0.2
"""Ctrl-C is noticed after this time at the latest."""

_CONFIG: Final = {
    "enable.auto.commit": False,
    # The event for the end of a partition also comes if the last offsets have no records.
    "enable.partition.eof": True,
    # A fetch at the end of a partition waits for more records, which delays the next read.
    "fetch.wait.max.ms": 10,
}

Config = Mapping[str, str | int | float | bool]


class TopicReader:
    """A consumer that assigns partitions to itself. It never joins its group.

    Args:
        config: librdkafka's properties, with the address of the cluster.
        group: the consumer group whose committed offsets are compared.
        timeout_s: how long to wait for each response, and for the next record.
    """

    def __init__(
        self, config: Config, group: str = "duolog-testing", timeout_s: float = TIMEOUT_S
    ) -> None:
        self._consumer = Consumer({**_CONFIG, **config, "group.id": group})
        self.timeout_s = timeout_s

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._consumer.close()

    def exists(self, topic: str) -> bool:
        """Return whether the topic exists.

        Raises:
            KafkaException: there is no broker.
        """
        return bool(self.partitions(topic))

    def partitions(self, topic: str) -> list[TopicPartition]:
        """Return the partitions of a topic in order, from their first offsets.

        A missing topic has none.

        Raises:
            KafkaException: there is no broker.
        """
        numbers = self._consumer.list_topics(topic, self.timeout_s).topics[topic].partitions
        return [TopicPartition(topic, number, 0) for number in sorted(numbers)]

    def messages(self, partition: TopicPartition) -> Iterator[Message]:
        """Yield the committed records from the offset of `partition` to the present end.

        Raises:
            KafkaException: there is no broker, or it does not send the next record in time.
        """
        start, end = self._consumer.get_watermark_offsets(partition, timeout=self.timeout_s)
        at = max(partition.offset, start)
        self._consumer.assign([TopicPartition(partition.topic, partition.partition, at)])
        while at < end:
            message = self._next(partition, at, end)
            error = message.error()
            if error is None:
                offset = message.offset()
                assert offset is not None
                at = offset + 1
                if at <= end:
                    yield message
            elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001  Its public name.
                return
            else:
                raise KafkaException(error)

    def lag(self, topic: str) -> int:
        """Return the number of records of a topic that the group has not committed.

        A missing topic has no records.

        Raises:
            KafkaException: there is no broker.
        """
        return sum(1 for _ in self._uncommitted(topic))

    def consumed(self, topic: str) -> bool:
        """Return whether the group has committed all records of a topic; cheaper than `lag`.

        A missing topic has no records.

        Raises:
            KafkaException: there is no broker.
        """
        return next(self._uncommitted(topic), None) is None

    def _uncommitted(self, topic: str) -> Iterator[Message]:
        partitions = self._consumer.committed(self.partitions(topic), self.timeout_s)
        for partition in partitions:
            yield from self.messages(partition)

    def _next(self, partition: TopicPartition, at: int, end: int) -> Message:
        deadline = time.monotonic() + self.timeout_s
        while time.monotonic() < deadline:
            message = self._consumer.poll(_POLL_S)
            if message is not None:
                return message
        raise KafkaException(
            KafkaError(
                KafkaError._TIMED_OUT,  # noqa: SLF001  Its public name.
                f'topic "{partition.topic}", partition {partition.partition}: no record from '
                f"offset {at}, before its end {end}, in {self.timeout_s:g} s",
            )
        )
