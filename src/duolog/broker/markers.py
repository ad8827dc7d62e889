"""Ends a transaction in one partition: a marker, and who waits for it to be on the disk.

    append_marker ─▶ log ─▶ write, sync ─▶ high watermark and last stable offset move
                                            ├─▶ read_committed fetches wake
                                            ├─▶ a partition of __consumer_offsets: the group
                                            │   coordinator commits or drops pending offsets
                                            └─▶ on_durable

Source: Kafka `KafkaApis.handleWriteTxnMarkersRequest`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from duolog.broker.round import Callback
from duolog.broker.topic_names import OFFSETS_TOPIC

if TYPE_CHECKING:
    from duolog.broker.broker import Broker


class EndedTransaction(NamedTuple):
    """Whose transaction ends, how, and by which coordinator."""

    producer_id: int
    producer_epoch: int
    commit: bool
    coordinator_epoch: int


def append_marker(
    broker: "Broker",
    topic: str,
    partition: int,
    ended: EndedTransaction,
    on_durable: Callable[[Exception | None], None],
) -> None:
    """Append the marker of `ended` and call back on the loop when it is on the disk.

    The callback gets the error when it is not.

    Raises:
        KafkaError: there is no such partition, or the producer or its coordinator is fenced.
        LogDirOffline: the disk refused, before.
    """
    found = broker.topics.partition(topic, partition)
    rounds = broker.rounds
    if rounds.failure is not None:
        raise rounds.failure
    found.log.append_marker(
        ended.producer_id,
        ended.producer_epoch,
        commit=ended.commit,
        coordinator_epoch=ended.coordinator_epoch,
        now_ms=broker.clock.now_ms(),
    )

    def durable(error: Exception | None) -> None:
        if error is None and topic == OFFSETS_TOPIC:
            broker.groups.complete_transaction(
                partition, ended.producer_id, ended.producer_epoch, ended.commit
            )
        on_durable(error)

    rounds.dirty.add(found)
    rounds.pending.append(Callback(durable))
