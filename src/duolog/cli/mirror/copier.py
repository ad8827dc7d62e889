"""Copy records into the target in transactions that also contain the progress.

    begin ─► records … ─► flush (offsets are now known) ─► "copied" records ─► commit

A kill before the commit leaves an open transaction. The next mirror aborts it when it registers the
same transactional id, and continues after the last committed transaction. This also fences a mirror
that still runs: its next request is refused.
"""

import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from threading import Event
from typing import Final

from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient

from duolog.cli.errors import MirrorConflict
from duolog.cli.kafka.clients import as_kafka_error
from duolog.cli.kafka.cluster import Cluster
from duolog.cli.kafka.topics import Offsets, Place
from duolog.cli.mirror.checksum import Headers, add_record, writable_timestamp
from duolog.cli.mirror.committed_records import Range, read_committed
from duolog.cli.mirror.foreign_records import MARKER, ensure_no_records, written_by_others
from duolog.cli.mirror.headers import read_headers
from duolog.cli.mirror.offset_map import extend_runs
from duolog.cli.mirror.plan import truncated
from duolog.cli.mirror.progress import RUNS_MAX, Entry, Progress, copied_entry, read_entry
from duolog.core.errors import KafkaError

RECORDS_MAX: Final = 50_000
BYTES_MAX: Final = 64 * 1024 * 1024
TRANSACTION_S_MAX: Final = 20.0
"""Limits of one transaction. Each transaction adds one offset to each partition that it writes."""

_OPTIONS: Final = {
    "transaction.timeout.ms": "120000",
    "message.timeout.ms": "60000",
    "message.max.bytes": "104857600",
    "linger.ms": "20",
    "acks": "all",
}
_WAIT_S: Final = 0.5
_ANSWER_S: Final = 60.0
_NOW: Final = 0
"""A timestamp that librdkafka replaces by the current time."""
_TIMED_OUT: Final = 7
_FENCED: Final = frozenset({47, 90, -144})
"""INVALID_PRODUCER_EPOCH, PRODUCER_FENCED, and librdkafka's own code."""


Fields = tuple[bytes | None, bytes | None, int, Headers]
"""Key, value, timestamp and headers of a record, as it is written."""


@dataclass(slots=True)
class _Copied:
    """The records of one partition in the current transaction."""

    records: int
    checksum: int
    runs: list[int] = field(default_factory=list)
    last: Fields = (None, None, 0, ())
    """The last record."""
    first: int = -1
    """The target offset of the first record; -1 if it is not yet known."""
    acknowledged: int = 0
    is_alone: bool = True
    """False if a record of another program is between the copied ones."""

    @property
    def source_next(self) -> int:
        """The source offset after the last record."""
        return self.runs[-2] + self.runs[-1]

    def acknowledge(self, offset: int) -> None:
        """Note the offset of the next record; negative if the broker had the record already.

        Records of a partition are acknowledged in order.
        """
        if offset >= 0:
            first = offset - self.acknowledged
            self.is_alone = self.is_alone and self.first in (-1, first)
            self.first = first
        self.acknowledged += 1


class Copier:
    """Writes records and progress with one transactional producer.

    Threads: delivery reports arrive in calls of the same thread.

    Args:
        progress_topic: topic for the progress, and transactional id.

    Raises:
        KafkaError: the target cannot be reached, or it does not allow transactions.
    """

    def __init__(
        self,
        source: Cluster,
        target: tuple[AdminClient, Cluster],
        progress: Progress,
        progress_topic: str,
    ) -> None:
        self.raised_timestamps = 0
        """The number of records copied with a timestamp of 1 ms instead of 0."""
        self._source, self._progress, self._topic = source, progress, progress_topic
        self._client, self._target = target
        self._connection = self._target.connection()
        self._producer: Producer = self._target.producer(
            self._connection, **_OPTIONS, **{"transactional.id": progress_topic}
        )
        with self._target.errors("start a transactional producer"):
            self._producer.init_transactions(_ANSWER_S)
        self._copied: dict[Place, _Copied] = {}
        self._began_at: float | None = None
        self._size = self._bytes = self._runs = 0
        self._refused: ClientError | None = None

    def close(self) -> None:
        """Abort an open transaction, so that readers of the target do not wait for it."""
        if self._began_at is not None:
            self._producer.purge()
            with suppress(KafkaException):  # The next run or the transaction's timeout aborts it.
                self._producer.abort_transaction(_WAIT_S)

    def copy(self, starts: Offsets, ends: Offsets, last_copied: Offsets, stopping: Event) -> int:
        """Copy the records of each partition up to its end; return their number.

        The records at `last_copied` are read again, to ensure that the source was not truncated.

        If `stopping` is set, stop after the records that were read. Otherwise, the progress then
        has the ends, even if markers or aborted records are before them.

        Raises:
            KafkaError: a cluster refuses, or its connection stays lost.
            MirrorConflict: another program writes to the target topics, a second mirror runs, or
                the source was truncated.
        """
        ranges = {
            place: (last_copied.get(place, starts[place]), end) for place, end in ends.items()
        }
        count, is_complete = 0, True
        with closing(self._read(ranges)) as batches:
            for found in batches:
                for place, message in found:
                    if (message.offset() or 0) < starts[place]:
                        self._ensure_copied(place, message)
                    else:
                        self._add(place, message)
                        count += 1
                self._poll()
                if self._is_full():
                    self._commit({})
                if stopping.is_set():
                    is_complete = False
                    break
        self._commit(ends if is_complete else {})
        return count

    def _read(
        self, ranges: Mapping[Place, Range]
    ) -> Generator[list[tuple[Place, Message]], None, None]:
        # Only errors of the source: the caller's own do not pass through a generator.
        with self._source.errors("read records"):
            yield from read_committed(self._source, ranges)

    def store(self, entries: Iterable[Entry]) -> None:
        """Write entries to the progress topic in a transaction of their own, and apply them."""
        written = list(entries)
        if not written:
            return
        self._begin()
        self._commit_with(written)

    def _ensure_copied(self, place: Place, message: Message) -> None:
        """Ensure that a record before the start is the one that was copied last."""
        at, offset = self._progress.partition(place), message.offset() or 0
        if offset + 1 != at.source_next or add_record(0, *_fields(message)) != at.last:
            raise truncated(place, f"Offset {offset} has a record that was not copied.")

    def _add(self, place: Place, message: Message) -> None:
        self._begin()
        key, value, written_ms, headers = fields = _fields(message)
        if written_ms != message.timestamp()[1]:
            self.raised_timestamps += 1
        copied = self._copied.get(place)
        if copied is None:
            at = self._progress.partition(place)
            copied = self._copied[place] = _Copied(at.records, at.checksum)
        copied.records += 1
        copied.checksum = add_record(copied.checksum, *fields)
        copied.last = fields
        extend_runs(copied.runs, message.offset() or 0)
        self._runs = max(self._runs, len(copied.runs) // 2)
        self._size += 1
        self._bytes += len(key or b"") + len(value or b"")
        self._produce(place, key, value, written_ms, headers)

    def _produce(
        self,
        place: Place,
        key: bytes | str | None,
        value: bytes | str | None,
        timestamp_ms: int,
        headers: Headers,
    ) -> None:
        topic, number = place
        while True:
            try:
                self._producer.produce(
                    topic,
                    value,
                    key,
                    number,
                    on_delivery=self._delivered,
                    timestamp=timestamp_ms,
                    headers=list(headers) or None,
                )
            except BufferError:
                self._poll(_WAIT_S)
            except KafkaException as error:
                raise self._refusal(error.args[0]) from error
            else:
                return

    def _delivered(self, error: ClientError | None, message: Message) -> None:
        if error is not None:
            self._refused = self._refused or error
            return
        copied = self._copied.get((message.topic() or "", message.partition() or 0))
        if copied is not None:
            offset = message.offset()
            copied.acknowledge(-1 if offset is None else offset)

    def _begin(self) -> None:
        if self._began_at is None:
            with self._target.errors("begin a transaction"):
                self._producer.begin_transaction()
            self._began_at = time.monotonic()

    def _is_full(self) -> bool:
        return self._began_at is not None and (
            self._size >= RECORDS_MAX
            or self._bytes >= BYTES_MAX
            or self._runs >= RUNS_MAX
            or time.monotonic() - self._began_at >= TRANSACTION_S_MAX
        )

    def _commit(self, read: Offsets) -> None:
        """Commit the copied records; `read` are the ends of partitions that were read to them."""
        if self._copied:
            self._flush()
            entries = [self._entry(place, copied) for place, copied in self._copied.items()]
            self._ensure_alone()
        else:
            entries = []
        for place, end in read.items():
            copied = self._copied.get(place)
            at = self._progress.partition(place).read_to if copied is None else copied.source_next
            if at < end:
                entries.append(read_entry(place, end))
        if entries:
            self._begin()
            self._commit_with(entries)

    def _ensure_alone(self) -> None:
        """Ensure that no other program has written between this transaction and the last one."""
        between: dict[Place, Range] = {}
        for place, copied in self._copied.items():
            last = self._progress.partition(place).target_next
            if copied.first < last + MARKER and last >= 0:
                raise MirrorConflict(
                    f'topic "{place[0]}" of the target was deleted or truncated while it was '
                    "being copied",
                    detail=f"Offset {copied.first} of partition {place[1]} was written after "
                    f"offset {last - 1}.",
                    hint="Run the same command again: it copies a topic that was deleted from the "
                    "beginning. If this error comes again, delete the topic on the target.",
                )
            after = last + MARKER if last >= 0 else 0
            if copied.first > after:
                between[place] = (after, copied.first)
        if between:
            ensure_no_records(self._client, self._target, between)

    def _entry(self, place: Place, copied: _Copied) -> Entry:
        count = sum(copied.runs[1::2])
        assert copied.acknowledged == count, "each record is acknowledged once"
        name = f'"{place[0]}-{place[1]}"'
        if not copied.is_alone:
            raise written_by_others(f"partition {name}", "while it was being copied")
        if copied.first < 0:
            raise KafkaError(
                f"the offsets of the records copied to partition {name} are not known",
                code=_TIMED_OUT,
                retriable=True,
                detail="The broker answered after the producer had repeated its request.",
                hint="Run the same command again: it continues.",
            )
        return copied_entry(
            place,
            copied.first,
            copied.runs,
            records=copied.records,
            checksum=copied.checksum,
            last=add_record(0, *copied.last),
        )

    def _commit_with(self, entries: Sequence[Entry]) -> None:
        for key, value in entries:
            self._produce((self._topic, 0), key, value, _NOW, ())
        self._flush()
        try:
            self._producer.commit_transaction(_ANSWER_S)
        except KafkaException as error:
            raise self._refusal(error.args[0]) from error
        self._progress.replay_all(entries)
        self._copied, self._began_at = {}, None
        self._size = self._bytes = self._runs = 0

    def _flush(self) -> None:
        while self._producer.flush(_WAIT_S):
            self._ensure_alive()
        self._ensure_alive()

    def _poll(self, timeout_s: float = 0) -> None:
        self._producer.poll(timeout_s)
        self._ensure_alive()

    def _ensure_alive(self) -> None:
        if self._refused is not None:
            raise self._refusal(self._refused)
        self._connection.look()

    def _refusal(self, error: ClientError) -> KafkaError | MirrorConflict:
        if error.code() in _FENCED:
            return MirrorConflict(
                "another mirror of the same source writes to this target",
                detail=f"{error.name()}: {error.str()}",
                hint="Let it finish, or stop it and run this command again.",
            )
        found = as_kafka_error(error, "copy records", self._target.bootstrap_servers)
        found.hint = f"{found.hint} Then run the same command again: it continues.".strip()
        return found


def _fields(message: Message) -> Fields:
    written_ms = writable_timestamp(message.timestamp()[1])
    return message.key(), message.value(), written_ms, read_headers(message)
