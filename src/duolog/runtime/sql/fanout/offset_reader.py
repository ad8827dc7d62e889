"""Read one topic from given offsets, without skipping a record unnoticed."""

from collections.abc import Callable, Collection, Iterable
from typing import Final, TypeVar

from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaException,
    Message,
    TopicPartition,
)
from confluent_kafka import KafkaError as ClientError
from confluent_kafka.admin import AdminClient, OffsetSpec

from duolog.core.errors import KafkaError
from duolog.runtime.renewed_admin import RenewedAdmin
from duolog.runtime.sql.fanout.errors import RecordsDeleted
from duolog.runtime.sql.fanout.positions import Positions
from duolog.runtime.topic_states import StatesRequest, TopicState, state_of, when_ready
from duolog.security.clients.brokers import Brokers

_TIMEOUT_S: Final = 15.0
_OPTIONS: Final = {
    # The reader does not join the group or commit offsets.
    "group.id": "duolog-push",
    "enable.auto.commit": False,
    "allow.auto.create.topics": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "error",
    "isolation.level": "read_committed",
    "fetch.wait.max.ms": 50,
    # A catch-up that changes the topic discards what was fetched in advance.
    "queued.max.messages.kbytes": 8192,
    # The limit above does not count 500 bytes of the client for each record.
    "queued.min.messages": 10_000,
    "log_level": 0,
}
_PASSING: Final = frozenset(
    {
        ClientError._TRANSPORT,  # noqa: SLF001 - the client has no other names for its own errors
        ClientError._ALL_BROKERS_DOWN,  # noqa: SLF001
        ClientError._TIMED_OUT,  # noqa: SLF001
        ClientError._RESOLVE,  # noqa: SLF001
        # Of a partition that was added, until the client has new metadata.
        ClientError._UNKNOWN_PARTITION,  # noqa: SLF001
        ClientError.LEADER_NOT_AVAILABLE,
        ClientError.NOT_LEADER_FOR_PARTITION,
    }
)
"""Errors after which the client itself tries again."""
T = TypeVar("T")


class OffsetReader:
    """Reads committed records; used from one thread at a time.

    Args:
        brokers: the brokers of the cluster.
    """

    def __init__(self, brokers: Brokers) -> None:
        self._consumer = Consumer(brokers.client(_OPTIONS))
        self._topic = ""
        self._positions: dict[int, int] = {}

    def seek(self, topic: str, positions: Positions) -> None:
        """Continue at positions of a topic. Does nothing if they are the current ones."""
        if (topic, positions) == (self._topic, self._positions):
            return
        self._topic, self._positions = topic, dict(positions)
        self._consumer.assign([TopicPartition(topic, *at) for at in positions.items()])

    def rest(self) -> None:
        """Fetch nothing until the next `seek`.

        Otherwise, the client would continue to fetch records until its limits are reached.
        """
        self._lost()
        self._consumer.unassign()

    def read(self, count_max: int, timeout_s: float) -> tuple[list[Message], Positions]:
        """Return the records that arrive within a time, and the positions after them.

        It does not wait for more after the first.

        Raises:
            RecordsDeleted: records before the first retained one were not read.
            KafkaError: the broker refuses.
        """
        came = self._consumer.consume(1, timeout_s)
        if came:
            came += self._consumer.consume(count_max - 1, 0)
        messages = []
        for one in came:
            number, error = one.partition() or 0, one.error()
            if error is None:
                messages.append(one)
                self._positions[number] = (one.offset() or 0) + 1
            elif error.code() == ClientError._PARTITION_EOF:  # noqa: SLF001
                # Offsets before the end may not be records: transaction markers, compaction.
                self._positions[number] = max(self._positions[number], one.offset() or 0)
            elif error.code() == ClientError._AUTO_OFFSET_RESET:  # noqa: SLF001
                if (lost := self._deleted(number, one.offset())) is not None:
                    self._lost()
                    raise lost
                # Of an earlier assignment: the next call continues at the positions.
                self.seek(self._lost(), dict(self._positions))
                break
            elif error.code() not in _PASSING:
                raise _refused(self._lost(), error)
        return messages, dict(self._positions)

    def close(self) -> None:
        self._consumer.close()

    def _lost(self) -> str:
        """Return the topic, which `seek` has to assign again after an error.

        The client has given up the partition, or has passed records that were not returned.
        """
        topic, self._topic = self._topic, ""
        return topic

    def _deleted(self, partition: int, refused: int | None) -> KafkaError | None:
        """Return the reason why the position of a partition cannot be read.

        None if the offset that was refused is another one, and the position can be read.
        """
        topic, position = self._topic, self._positions[partition]
        place = TopicPartition(topic, partition)
        try:
            first, end = self._consumer.get_watermark_offsets(place, timeout=_TIMEOUT_S)
        except KafkaException as error:
            return _failed(topic, error)
        if position < first:
            return RecordsDeleted(topic, partition, position, first)
        if position <= end and refused != position:
            return None
        return KafkaError(
            f'cannot read topic "{topic}"',
            code=ClientError.OFFSET_OUT_OF_RANGE,
            detail=f"Partition {partition} ends at offset {end}, before {position}.",
            hint="The topic was recreated or truncated: start the query again.",
        )


class TopicOffsets:
    """First and last offsets of topics; any thread may call it.

    Args:
        brokers: the brokers of the cluster.
    """

    def __init__(self, brokers: Brokers) -> None:
        self._admin = RenewedAdmin(brokers)

    def state(self, topic: str) -> TopicState:
        """Return the id and the partitions of a topic.

        Raises:
            KafkaError: there is no such topic, or no broker answers.
        """
        return self._answer(topic, lambda admin: state_of(admin, topic, _TIMEOUT_S))

    def states(self, topics: Collection[str]) -> dict[str, TopicState | KafkaError]:
        """Return the states of topics, or the reasons of refusals, by one request."""
        return StatesRequest(self._admin.client, topics, _TIMEOUT_S).found()

    def first(self, topic: str, partitions: Iterable[int]) -> dict[int, int]:
        """Return the offset of the first retained record of each partition. As `state`."""
        return self._offsets(topic, partitions, OffsetSpec.earliest())  # type: ignore[no-untyped-call]

    def ends(self, topic: str, partitions: Iterable[int]) -> dict[int, int]:
        """Return the offset after the last committed record. As `state`."""
        return self._offsets(topic, partitions, OffsetSpec.latest())  # type: ignore[no-untyped-call]

    def _offsets(self, topic: str, partitions: Iterable[int], spec: OffsetSpec) -> dict[int, int]:
        asked = {TopicPartition(topic, number): spec for number in partitions}

        def listed(admin: AdminClient) -> dict[int, int]:
            answers = admin.list_offsets(
                asked,
                isolation_level=IsolationLevel.READ_COMMITTED,
                request_timeout=_TIMEOUT_S,
            )
            return {
                at.partition: answer.result(_TIMEOUT_S).offset for at, answer in answers.items()
            }

        return self._answer(topic, lambda _: when_ready(self._admin, topic, _TIMEOUT_S, listed))

    def _answer(self, topic: str, ask: Callable[[AdminClient], T]) -> T:
        try:
            return self._admin.ask(ask)
        except (KafkaException, TimeoutError) as error:
            raise _failed(topic, error) from error


def _failed(topic: str, error: KafkaException | TimeoutError) -> KafkaError:
    given = error.args[0] if isinstance(error, KafkaException) else None
    return _refused(topic, given or ClientError(ClientError.REQUEST_TIMED_OUT))


def _refused(topic: str, error: ClientError) -> KafkaError:
    return KafkaError(f'cannot read topic "{topic}"', code=error.code(), detail=f"{error.str()}.")
