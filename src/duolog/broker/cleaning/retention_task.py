"""Advance the start of logs: apply retention by time and size, and DeleteRecords.

    check ──────▶ cover ─────────────▶ write ──────────▶ apply
    one log per   a recovery point,    the log start,    remove segments from the log,
    step          if a crash needs     durably           one per step
                  one

The event loop checks and applies; a helper thread covers and writes. Segments may hold the only
state of producers, their sequences and transactions, that a start could find. That state is put
into a recovery point before the log start is written, because a crash may follow right after it.

Threads: the broker's loop. The controller's thread waits for the disk.
"""

import logging
from collections.abc import Callable, Iterator
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Final

from duolog.broker.controller import Change
from duolog.core.errors import DuologError
from duolog.core.units import SECOND_MS

if TYPE_CHECKING:
    from duolog.broker.cleaning.needs import Broker
    from duolog.broker.topics.topics import Partition

logger = logging.getLogger(__name__)

_LOOK_S: Final = 0.1
"""Interval at which a wait for a recovery point checks for a failed disk."""


class Retention:
    """Deletes the segments that retention allows to delete."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker

    def start(self) -> None:
        """Look at all logs now and then, from now on."""
        interval_ms = self._broker.settings.integer("log.retention.check.interval.ms")
        self._broker.timers.call_later(interval_ms / SECOND_MS, self.look)

    def look(self) -> None:
        """Begin to delete what is due in all logs; plans the next look at the end."""
        self._broker.slices.run(self._look())

    def look_once(self, then: Callable[[], None]) -> None:
        """Delete what is due in all logs now, and call `then` when it is deleted."""

        def look() -> Iterator[None]:
            yield from self._each_partition()
            # The controller makes changes in their order: this one, of nothing, comes last.
            self._broker.controller.submit(
                "retention", lambda: Change(lambda: None), lambda _: then()
            )

        self._broker.slices.run(look())

    def _look(self) -> Iterator[None]:
        try:
            yield from self._each_partition()
        finally:  # Whatever happens to one look, there is a next one.
            self.start()

    def _each_partition(self) -> Iterator[None]:
        topics = self._broker.topics
        for topic in list(topics):
            for partition in topic.served:
                if topics.get(topic.name) is topic:
                    self._retain(partition)
                yield

    def _retain(self, partition: "Partition") -> None:
        try:
            offset = partition.log.expired_below(self._broker.clock.now_ms())
        except (OSError, DuologError) as error:
            _tell(partition, error)
            return
        if offset is not None:
            self._broker.controller.submit(
                str(partition.topic_partition),
                partial(self._cutting, partition, offset),
                partial(_tell, partition),
            )

    def _cutting(self, partition: "Partition", offset: int) -> Change | None:
        topic = partition.topic
        gone = self._broker.topics.get(topic.name) is not topic
        if gone or not partition.log.config.deleted_when_old:
            return None
        return cutting(self._broker, partition, offset)


def cutting(broker: "Broker", partition: "Partition", offset: int) -> Change | None:
    """Return the change that advances the log start to `offset`; None if it is there already.

    Its subject is the topic partition, so that changes of a log start are applied in sequence.

    Raises:
        OffsetOutOfRange: `offset` is above the high watermark.
        LogDirOffline: a disk operation failed earlier.
    """
    log = partition.log
    if offset <= log.log_start_offset:
        return None
    cover = _covering(broker, partition) if log.uncovered_below(offset) else None
    advance = log.advancing_start(offset)

    def write() -> None:
        if cover is not None:
            cover()
        advance.write()

    def apply() -> Iterator[None]:
        for _ in advance.apply():
            broker.partition_changed(partition)
            yield
        broker.partition_changed(partition)

    return Change(write, None, apply)


def _covering(broker: "Broker", partition: "Partition") -> Callable[[], None]:
    """Ask for a recovery point; return what waits for it, on another thread."""
    broker.rounds.finish()  # A recovery point is after the contents of the file.
    commit, saved = broker.group_commit, Event()
    if not commit.save(partition.log, saved.set):
        saved.set()  # Nothing is in the file: the disk refused, as the write will find.

    def wait() -> None:
        while not saved.wait(_LOOK_S):
            if commit.failed is not None:
                raise commit.failed

    return wait


def _tell(partition: "Partition", error: Exception | None) -> None:
    if error is not None:
        logger.error(
            "retention failed",
            extra={"topic_partition": str(partition.topic_partition)},
            exc_info=error,
        )
