"""The topic of the audit log: what the log gets, as records that survive the log's rotation.

    add ─▶ waiting ── next turn of the loop ─▶ appended ─▶ on the disk
              └─ more than HELD_BYTES_MAX wait or are appended ─▶ lost, counted and noted

Neither a request nor the loop waits for the disk. If lines were lost (the disk is slow, full or
offline, or the topic was deleted), the broker's log says so, and the topic gets a line with their
number as soon as it can. A deleted topic is created again by the next start. The topic has one
partition, so that lines have one order.

Threads: the loop.
"""

import json
import logging
from typing import TYPE_CHECKING, Final, NamedTuple

from duolog.broker.topics.topic_names import INTERNAL_TOPICS
from duolog.core.errors import ConfigError, DuologError
from duolog.core.units import DAY_MS, GIB, KIB, MIB
from duolog.record.records import Record, encode_batch
from duolog.security.logins.audit import Audit

if TYPE_CHECKING:
    from duolog.broker.identity.needs import Broker
    from duolog.core.clock import Clock

logger = logging.getLogger(__name__)

HELD_BYTES_MAX: Final = 4 * MIB
"""Lines that are not on the disk yet; a bound on memory."""
BATCH_BYTES_MAX: Final = 256 * KIB
_CONFIGS: Final = {
    "cleanup.policy": "delete",
    "max.message.bytes": str(MIB),
    "retention.bytes": str(GIB),
    "retention.ms": str(7 * DAY_MS),
}
"""For a topic that the broker creates: failed logins of strangers must not fill the disk, and
settings of the broker, which are altered with ALTER_CONFIGS on the cluster, must not empty it."""


class BrokerAudit(Audit):
    """The audit log of a broker: its topic has the lines, too, if there is one."""

    def __init__(self, clock: "Clock", topic: "AuditTopic | None" = None) -> None:
        super().__init__(clock, None if topic is None else topic.add)
        self.topic: Final = topic


class _Line(NamedTuple):
    time_ms: int
    text: bytes


class AuditTopic:
    """Appends to the audit topic of one broker."""

    def __init__(self, broker: "Broker", name: str) -> None:
        self.name: Final = name
        self.lost = 0
        """Number of lines that are in the log only."""
        self._broker = broker
        self._waiting: list[_Line] = []
        self._held_bytes = 0
        self._unreported = 0
        self._started = False
        self._flush_due = False

    def start(self) -> None:
        """Create the topic if there is none; append what waits.

        Raises:
            ConfigError: the topic cannot have this name, or is compacted.
        """
        if self.name in INTERNAL_TOPICS:
            raise self._refusal("It is an internal topic.")
        try:
            if self.name not in self._broker.topics:
                self._broker.create_topic(self.name, 1, dict(_CONFIGS))
        except DuologError as error:
            raise self._refusal(error.one_line()) from error
        if self._broker.topics.find(self.name).config.compacted:
            raise self._refusal("It is compacted, and would lose lines.")
        self._started = True
        self._flush_soon()

    def add(self, time_ms: int, text: str) -> None:
        """Append a line soon, or count it as lost."""
        line = _Line(time_ms, text.encode(errors="replace"))
        if self._held_bytes + len(line.text) > HELD_BYTES_MAX:
            self._lose(1, "too many lines wait for the disk")
            return
        self._held_bytes += len(line.text)
        self._waiting.append(line)
        self._flush_soon()

    def flush(self) -> None:
        """Append what waits now."""
        self._flush_due = False
        if not self._started:
            return
        if self._unreported and self._held_bytes < HELD_BYTES_MAX // 2:
            self._waiting.append(self._report())
        waiting, self._waiting = self._waiting, []
        while waiting:
            batch = _first_batch(waiting)
            del waiting[: len(batch)]
            self._append(batch)

    def _append(self, lines: list[_Line]) -> None:
        rows = [Record(index, line.time_ms, None, line.text) for index, line in enumerate(lines)]

        def on_durable(error: Exception | None) -> None:
            self._held_bytes -= sum(len(line.text) for line in lines)
            if error is not None:
                self._lose(len(lines), str(error))

        try:
            self._broker.append_internal(self.name, 0, encode_batch(rows), on_durable)
        except DuologError as error:
            on_durable(error)

    def _refusal(self, detail: str) -> ConfigError:
        return ConfigError(
            f'"{self.name}" cannot be the topic of the audit log',
            name="audit.log.topic",
            detail=detail,
            hint="Name a topic that nothing else uses; the broker creates it.",
        )

    def _flush_soon(self) -> None:
        if self._started and not self._flush_due:
            self._flush_due = True
            self._broker.timers.call_later(0.0, self.flush)

    def _lose(self, count: int, reason: str) -> None:
        if not self._unreported:  # Once, until the topic has a line about it.
            logger.error(
                "audit lines are not in the topic", extra={"topic": self.name, "reason": reason}
            )
        self.lost += count
        self._unreported += count

    def _report(self) -> _Line:
        row = {"event": "lost", "lines": self._unreported}
        self._unreported = 0
        line = _Line(self._broker.clock.now_ms(), json.dumps(row, sort_keys=True).encode())
        self._held_bytes += len(line.text)
        return line


def _first_batch(lines: list[_Line]) -> list[_Line]:
    """Return the first lines, at least one, that together are not too large for a batch."""
    size = 0
    for count, line in enumerate(lines):
        size += len(line.text)
        if count and size > BATCH_BYTES_MAX:
            return lines[:count]
    return list(lines)
