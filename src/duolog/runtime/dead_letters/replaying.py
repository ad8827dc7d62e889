"""Write letters to their source topics, each once, in transactions that also contain their marks.

    begin ─► records … ─► mark ─► commit ─► begin ─► …

The transactional id is that of the dead-letter topic. A kill before a commit leaves an open
transaction; the next replay of the topic aborts it when it registers the id, reads the marks after
that, and continues. A second replay at the same time fences the first, whose next request fails.

The order of letters is kept: that of the caller, for each partition that is written.

Threads: one.
"""

import logging
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from confluent_kafka import KafkaException, Producer

from duolog.core.errors import KafkaError
from duolog.core.units import MIB
from duolog.runtime.dead_letters.corrections import Corrected, Correction, Kept
from duolog.runtime.dead_letters.errors import ReadingStopped, ReplayConflict, ReplayRefused
from duolog.runtime.dead_letters.letter import Letter, named, replay_headers
from duolog.runtime.dead_letters.marks import TOPIC, mark_of
from duolog.runtime.dead_letters.reading import refused
from duolog.runtime.dead_letters.reserved import is_reserved
from duolog.security.clients.brokers import Brokers

BY_KEY: Final = "key"
KEEP: Final = "keep"
_BATCH: Final = 500
_BYTES_MAX: Final = 32 * MIB
_ANSWER_S: Final = 60.0
_WAIT_S: Final = 0.5
_ATTEMPTS: Final = 5
_FENCED: Final = frozenset({47, 90, -144})
"""INVALID_PRODUCER_EPOCH, PRODUCER_FENCED, and librdkafka's own code."""
_BY_KEY: Final = -1
_OPTIONS: Final = {
    "partitioner": "murmur2_random",
    "transaction.timeout.ms": 120_000,
    "message.timeout.ms": 60_000,
    "message.max.bytes": 104_857_600,
    "linger.ms": 5,
    "acks": "all",
    "log_level": 0,
}


class Written(NamedTuple):
    """A letter as it is to be written."""

    letter: Letter
    topic: str
    partition: int
    """The partition, or -1 to let the key choose it."""
    what: Corrected


@dataclass(frozen=True, slots=True)
class Target:
    """The topic and partition that letters are written to.

    Attributes:
        topic: the topic; empty for the source topic of each letter.
        partition: `keep` for the partition of the source, unless the key is corrected; `key` to let
            the key choose it; or a number.
    """

    topic: str = ""
    partition: str = KEEP

    def of(self, letter: Letter, topics: Mapping[str, int]) -> tuple[str, int] | Kept:
        """Return topic and partition for a letter, or why it cannot be written.

        `topics` are the existing topics with their numbers of partitions.

        Raises:
            ReplayRefused: the topic or the partition does not exist.
        """
        topic = self.topic or letter.source.topic
        if topic is None:
            return Kept("its source topic is unknown")
        if topic == letter.record.topic:
            raise ReplayRefused(
                f'topic "{topic}" is the dead-letter topic itself',
                detail="A replay to it would add letters for ever.",
                hint="Name another topic.",
            )
        if is_reserved(topic):
            raise ReplayRefused(
                f'topic "{topic}" is an internal topic',
                detail=f"The letter at {named(letter.record)} would be written to it. Its records "
                "have a form of their own.",
                hint="Name another topic, or select other letters.",
            )
        if topic not in topics:
            raise ReplayRefused(
                f'topic "{topic}" does not exist',
                detail=f"The letter at {named(letter.record)} would be written to it.",
                hint="Create it, name another topic, or select other letters.",
            )
        number = self._number(letter)
        if number >= topics[topic]:
            raise ReplayRefused(
                f'partition {number} of topic "{topic}" does not exist',
                detail=f"The topic has {topics[topic]}. The letter at {named(letter.record)} would "
                "be written to it.",
                hint="Let the key choose the partition.",
            )
        return topic, number

    def _number(self, letter: Letter) -> int:
        if self.partition == BY_KEY:
            return _BY_KEY
        if self.partition != KEEP:
            return int(self.partition)
        # A letter for another topic has no partition there that is its own.
        elsewhere = self.topic not in ("", letter.source.topic)
        return _BY_KEY if elsewhere or letter.source.partition is None else letter.source.partition


@dataclass(slots=True)
class Outcome:
    """The result of a replay, or of its preview."""

    replay_id: str = ""
    written: Counter[tuple[str, int]] = field(default_factory=Counter)
    """Letters by topic and partition; the partition is -1 if the key chooses it."""
    corrected: int = 0
    kept: Counter[str] = field(default_factory=Counter)
    """Letters that were not written, by reason."""
    failed: int = 0
    """Those of them whose correction failed."""
    stopped: bool = False
    reached: dict[int, int] = field(default_factory=dict)
    """By partition of the dead-letter topic, the offset after the last letter that was written or
    kept."""

    @property
    def total(self) -> int:
        """The number of letters that are written."""
        return sum(self.written.values())

    def keep(self, kept: Kept, letter: Letter) -> None:
        """Count a letter that is not written; those before it are written."""
        self.kept[kept.why] += 1
        self.failed += kept.failed
        self.reached[letter.record.partition] = letter.record.offset + 1

    def count(self, one: Written) -> None:
        """Count a letter that is written."""
        self.written[one.topic, one.partition] += 1
        record = one.letter.record
        self.reached[record.partition] = record.offset + 1
        self.corrected += (record.key, record.value) != one.what[:2]


def planned(
    letters: Iterable[Letter],
    correction: Correction,
    target: Target,
    topics: Mapping[str, int],
    outcome: Outcome,
) -> Iterator[Written]:
    """Yield what is to be written for letters; letters that are not are counted in `outcome`.

    Raises:
        ReplayRefused: a topic or partition does not exist.
    """
    for some in _bounded(letters):
        for letter, what in zip(some, correction.of(some), strict=True):
            if isinstance(what, Kept):
                outcome.keep(what, letter)
                continue
            place = target.of(letter, topics)
            if isinstance(place, Kept):
                outcome.keep(place, letter)
                continue
            topic, number = place
            if target.partition == KEEP and what.key != letter.record.key:
                # Other records with the new key are in the partition that it chooses.
                number = _BY_KEY
            yield Written(letter, topic, number, what)


def _bounded(letters: Iterable[Letter]) -> Iterator[Sequence[Letter]]:
    """Yield batches of letters that fit into memory."""
    some: list[Letter] = []
    size = 0
    for letter in letters:
        some.append(letter)
        size += letter.record.bytes
        if len(some) >= _BATCH or size >= _BYTES_MAX:
            yield some
            some, size = [], 0
    if some:
        yield some


class Replayer:
    """Writes letters of one dead-letter topic.

    Args:
        letters: name and id of the dead-letter topic.
        by: who replays them, for the marks.
        rate: the highest number of letters in a second; 0 for no limit.
        pause: waits for some seconds; returns True if the replay is to stop.

    Raises:
        KafkaError: the broker refuses, or does not allow transactions.
    """

    def __init__(
        self,
        brokers: Brokers,
        letters: tuple[str, str],
        by: str = "",
        rate: float = 0,
        pause: Callable[[float], bool] = lambda _: False,
    ) -> None:
        self._letters = letters
        self._by = by
        self._rate = rate
        self._pause = pause
        self.replay_id = uuid.uuid4().hex
        own = {"transactional.id": f"duolog-dead-letters-{letters[0]}"}
        self._producer = Producer(brokers.client({**_OPTIONS, **own}), logger=_silent())
        # Settles the transaction of an earlier replay, so that the marks are complete after it.
        self._settled("start a replay", lambda: self._producer.init_transactions(_ANSWER_S))

    def write(self, all_written: Iterable[Written], outcome: Outcome) -> None:
        """Write letters, and count in `outcome` those whose transaction has committed.

        Raises:
            ReplayConflict: another replay of the topic has begun.
            KafkaError: the broker refuses, or does not answer; the hint says whether the letters of
                the last transaction are written.
            ReplayRefused: as `planned`.
        """
        outcome.replay_id = self.replay_id
        batch, some, size = 0, list[Written](), 0
        began = due = time.monotonic()
        for one in _until_stopped(all_written, outcome):
            if self._pause(max(0.0, due - time.monotonic()) if self._rate else 0.0):
                outcome.stopped = True
                break
            if self._rate:
                due = max(due, time.monotonic() - 1) + 1 / self._rate
            some.append(one)
            size += len(one.what.key or b"") + len(one.what.value or b"")
            late = self._rate and time.monotonic() - began >= 1
            if len(some) >= _BATCH or size >= _BYTES_MAX or late:
                self._commit(some, batch, outcome)
                batch, some, size, began = batch + 1, [], 0, time.monotonic()
        if some:
            self._commit(some, batch, outcome)

    def _commit(self, some: Sequence[Written], batch: int, outcome: Outcome) -> None:
        places = [(one.letter.record.partition, one.letter.record.offset) for one in some]
        key, value = mark_of(self._letters, self.replay_id, batch, places, self._by)
        try:
            self._producer.begin_transaction()
            for one in some:
                self._produce(
                    one.topic,
                    one.partition,
                    one.what,
                    replay_headers(one.letter, self.replay_id),
                    max(0, one.letter.timestamp_ms) or one.letter.record.timestamp_ms,
                )
            self._produce(TOPIC, 0, Corrected(key, value, ()))
            # Rejected records make the commit fail. A delivery callback would turn fatal errors of
            # the client into a SystemError.
            while self._producer.flush(_WAIT_S):
                pass
        except KafkaException as error:
            self._abort()
            raise self._problem("replay dead letters", error) from error
        except BaseException:
            # An open transaction would keep readers of committed records waiting.
            self._abort()
            raise
        self._settled("commit a replay", lambda: self._producer.commit_transaction(_ANSWER_S))
        for one in some:
            outcome.count(one)

    def _produce(
        self,
        topic: str,
        partition: int,
        what: Corrected,
        added: Sequence[tuple[str, bytes | None]] = (),
        timestamp_ms: int = 0,
    ) -> None:
        while True:
            try:
                self._producer.produce(
                    topic,
                    what.value,
                    what.key,
                    partition,
                    timestamp=timestamp_ms,
                    headers=[*what.headers, *added] or None,
                )
            except BufferError:
                self._producer.poll(_WAIT_S)
            else:
                return

    def _settled(self, doing: str, call: Callable[[], object]) -> None:
        """Call until it succeeds, or fails with an error that does not pass."""
        for attempt in range(_ATTEMPTS):
            try:
                call()
            except KafkaException as error:
                told = error.args[0]
                if told.retriable() and attempt + 1 < _ATTEMPTS:
                    continue
                if told.txn_requires_abort():
                    self._abort()
                raise self._problem(doing, error) from error
            else:
                return

    def _abort(self) -> None:
        self._producer.purge()
        # The next replay, or the timeout of the transaction, aborts it otherwise.
        with suppress(KafkaException):
            self._producer.abort_transaction(_ANSWER_S)

    def _problem(self, doing: str, error: KafkaException) -> KafkaError | ReplayConflict:
        if error.args[0].code() in _FENCED:
            return ReplayConflict(
                f'another replay of topic "{self._letters[0]}" has begun',
                detail="The letters of the last transaction of this replay were not written.",
                hint="Run the command again when the other one has ended: it replays the rest.",
            )
        problem = refused(doing, error)
        # After a timeout, the broker may still commit.
        last = "may have been" if error.args[0].retriable() else "was not"
        problem.hint = (
            f"The last transaction {last} written. Run the command again: it replays the rest."
        )
        return problem


def _until_stopped(all_written: Iterable[Written], outcome: Outcome) -> Iterator[Written]:
    """Yield what is to be written; the rest is for the next replay if the reader is stopped."""
    try:
        yield from all_written
    except ReadingStopped:
        outcome.stopped = True


def _silent() -> logging.Logger:
    """Return a logger for librdkafka, which would write fatal errors to standard error."""
    logger = logging.getLogger("duolog.librdkafka")
    logger.propagate = False
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    return logger
