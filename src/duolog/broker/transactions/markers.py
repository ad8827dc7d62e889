"""Ends a transaction in its partitions: markers, and who waits for them to be on the disk.

    append_marker ─▶ log ─▶ write, sync ─▶ high watermark and last stable offset move
                                            ├─▶ read_committed fetches wake
                                            ├─▶ a partition of __consumer_offsets: the group
                                            │   coordinator commits or drops pending offsets
                                            └─▶ on_durable

A transaction that includes a damaged (refused) partition stays prepared. If its end counted as
delivered there, a start that finds the partition repaired would abort a committed transaction.

Source: Kafka `KafkaApis.handleWriteTxnMarkersRequest`.
"""

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from duolog.broker.produce.rounds import Callback
from duolog.broker.topics.topic_names import OFFSETS_TOPIC
from duolog.core.errors import DuologError, KafkaError
from duolog.core.ids import TopicPartition
from duolog.log.errors import PartitionRefused

if TYPE_CHECKING:
    from duolog.broker.transactions.needs import Broker

logger = logging.getLogger(__name__)

Done = Callable[[Exception | None], None]
"""Called with the error, or None when everything is on disk."""


class EndedTransaction(NamedTuple):
    """The transaction that ends, its outcome, and the coordinator that ends it."""

    producer_id: int
    producer_epoch: int
    commit: bool
    coordinator_epoch: int


def append_marker(
    broker: "Broker",
    topic: str,
    partition: int,
    ended: EndedTransaction,
    on_durable: Done,
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
                partition,
                ended.producer_id,
                ended.producer_epoch,
                ended.commit,
                lambda: on_durable(None),
            )
        else:
            on_durable(error)

    rounds.dirty.add(found)
    rounds.write_now(found)  # Most transactions have few partitions, and some have thousands.
    rounds.pending.append(Callback(durable))


def write_markers(
    broker: "Broker", ended: EndedTransaction, partitions: Iterable[TopicPartition], done: Done
) -> Iterator[None]:
    """Append a marker to each partition, one a step, and call `done` when all are on the disk.

    A partition whose topic was deleted, or where a newer producer has ended this one already, needs
    none. One that is refused needs it when it is whole again: a later start ends the transaction
    there.
    """
    countdown = _Countdown(done)
    for topic, partition in partitions:
        countdown.left += 1
        try:
            append_marker(broker, topic, partition, ended, countdown.one_done)
        except PartitionRefused as error:
            countdown.one_done(error)
        except KafkaError as error:
            logger.info(
                "no marker was written",
                extra={"topic_partition": f"{topic}-{partition}", "reason": error.message},
            )
            countdown.one_done(None)
        except (DuologError, OSError) as error:
            countdown.one_done(error)
        yield
    countdown.one_done(None)


class _Countdown:
    """Calls back once, when `one_done` was called as often as `left` says."""

    def __init__(self, then: Done) -> None:
        self.left = 1
        self._then = then
        self._error: Exception | None = None

    def one_done(self, error: Exception | None) -> None:
        self.left -= 1
        self._error = self._error or error
        if not self.left:
            self._then(self._error)
