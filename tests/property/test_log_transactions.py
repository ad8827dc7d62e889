"""After any crash, readers of committed records see each transaction whole or not at all.

A life of one partition: producers write in transactions or without, markers commit or abort them,
segments roll, records are deleted, and the power goes, or the process. A naive model keeps every
batch in a list and works out from it, after each step, what the log must say: the last stable
offset, the open transactions, the aborted ones of any range. At the end a consumer reads by small
fetches and skips aborted transactions by the index it gets, as Kafka's clients do.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.core.errors import DuologError
from duolog.core.setting_types import Value
from duolog.log import LogManager, PartitionLog
from duolog.log.errors import (
    InvalidProducerEpoch,
    InvalidTxnState,
    LogDirOffline,
    OutOfOrderSequence,
)
from duolog.record import (
    BatchHeader,
    Record,
    decode_records,
    encode_batch,
    read_header,
    whole_batches,
)
from duolog.record.control import decode_marker
from duolog.record.records import BatchProducer
from duolog.testing import FakeClock
from duolog.testing.disk import CrashDisk, PowerLost

PRODUCERS: Final = (1, 2, 3)
SETTINGS: Final[dict[str, Value]] = {
    "log.segment.bytes": 1200,
    "log.index.interval.bytes": 300,
    "log.recovery.point.bytes": 1500,
}


@dataclass(frozen=True)
class Write:
    """A batch of a producer, or of no producer (0)."""

    producer: int
    records: int
    value_bytes: int
    transactional: bool


@dataclass(frozen=True)
class Marker:
    """The end of a producer's transaction, in the next epoch if `bumped`."""

    producer: int
    commit: bool
    bumped: bool


@dataclass(frozen=True)
class Commit:
    """Write what is staged and wait for a group commit."""


@dataclass(frozen=True)
class Delete:
    """Delete records up to a share of what is stable."""

    share: float


@dataclass(frozen=True)
class Stop:
    """Stop in order, and start again."""


Step = Write | Marker | Commit | Delete | Stop


@dataclass(frozen=True)
class Life:
    steps: Sequence[Step]
    changes_until_power_off: int
    seed: int
    killed: bool = False


class Transaction(NamedTuple):
    producer: int
    epoch: int
    first_offset: int
    marker_offset: int | None
    aborted: bool


class Noted(NamedTuple):
    """A batch that was given an offset."""

    header: BatchHeader
    data: bytes


class Model:
    """Every batch so far, and all that follows from them."""

    def __init__(self) -> None:
        self.batches: list[Noted] = []
        self._transactions: list[Transaction] | None = None

    def note(self, batch: bytes | bytearray) -> None:
        self.batches.append(Noted(read_header(batch), bytes(batch)))
        self._transactions = None

    def end_at(self, offset: int) -> None:
        self.batches = [batch for batch in self.batches if batch.header.base_offset < offset]
        self._transactions = None

    def transactions(self) -> list[Transaction]:
        """All transactions: those that ended by their marker, then the open ones by their start."""
        if self._transactions is None:
            self._transactions = self._find_transactions()
        return self._transactions

    def _find_transactions(self) -> list[Transaction]:
        found: list[Transaction] = []
        opened: dict[int, Transaction] = {}
        for noted in self.batches:
            header = noted.header
            producer = header.producer_id
            if header.control:
                marker = decode_marker(noted.data)
                assert marker is not None
                begun = opened.pop(producer, None)
                if begun is not None:
                    found.append(
                        begun._replace(marker_offset=header.base_offset, aborted=not marker.commit)
                    )
            elif header.transactional and producer not in opened:
                opened[producer] = Transaction(
                    producer, header.producer_epoch, header.base_offset, None, aborted=False
                )
        return found + list(opened.values())

    def next_sequence(self, producer: int) -> tuple[int, int]:
        """Return the epoch of a producer and the sequence that comes next."""
        epoch, sequence = 0, 0
        for noted in self.batches:
            header = noted.header
            if header.producer_id != producer:
                continue
            if header.producer_epoch != epoch:
                epoch, sequence = header.producer_epoch, 0
            if not header.control:
                sequence += header.records_count
        return epoch, sequence

    def last_stable_offset(self, high_watermark: int, log_start: int) -> int:
        undecided = [
            transaction.first_offset
            for transaction in self.transactions()
            if transaction.marker_offset is None or transaction.marker_offset >= high_watermark
        ]
        return max(min([high_watermark, *undecided]), log_start)

    def aborted(self, first_offset: int, up_to_offset: int) -> list[tuple[int, int]]:
        return [
            (transaction.producer, transaction.first_offset)
            for transaction in self.transactions()
            if transaction.aborted
            and transaction.marker_offset is not None
            and transaction.marker_offset >= first_offset
            and transaction.first_offset < up_to_offset
        ]

    def committed(self, first_offset: int, up_to_offset: int) -> list[int]:
        """Return the offsets of the records that a read_committed consumer is to get."""
        aborted = [t for t in self.transactions() if t.aborted and t.marker_offset is not None]
        return [
            offset
            for noted in self.batches
            for offset in range(noted.header.base_offset, noted.header.next_offset)
            if first_offset <= offset < up_to_offset
            and not noted.header.control
            and not any(
                t.producer == noted.header.producer_id
                and t.first_offset <= offset < (t.marker_offset or 0)
                for t in aborted
            )
        ]


@dataclass
class Broker:
    """A broker's operations on the partition, next to the model of it."""

    disk: CrashDisk
    model: Model = field(default_factory=Model)
    durable_end: int = 0
    """All below was acknowledged."""

    def live(self, life: Life) -> None:
        """Start, run the steps, and cut the power at the latest after them."""
        self.disk.power_off_after(operations=life.changes_until_power_off)
        try:
            self.start()
            for step in life.steps:
                self.do(step)
                self.check_state()
        except (PowerLost, LogDirOffline):
            pass
        self.disk = self.disk.kill() if life.killed else self.disk.crash(life.seed)

    def start(self) -> None:
        self.manager = LogManager(self.disk, "/data", FakeClock(), SETTINGS)
        self.commit = self.manager.group_commit("fsync", lambda: None, threaded=False)
        if self.manager.topics.get("t") is None:
            assert not self.model.batches or self.durable_end == 0
            self.manager.topics.create("t", 1)

    @property
    def log(self) -> PartitionLog:
        return self.manager.log("t", 0)

    def do(self, step: Step) -> None:
        match step:
            case Write():
                self._write(step)
            case Marker():
                self._mark(step)
            case Commit():
                self._commit()
            case Delete(share):
                self._set_point()
                start = self.log.log_start_offset
                offset = start + int((self.log.last_stable_offset - start) * share)
                self.log.advance_log_start(offset)
            case Stop():
                self._commit()
                self.commit.close()
                if self.commit.failed is not None:
                    raise self.commit.failed
                self.manager.close()
                self.start()
                self.check_start()

    def _write(self, step: Write) -> None:
        epoch, sequence = self.model.next_sequence(step.producer)
        batch = encode_batch(
            [Record(0, 1000, b"k", bytes(step.value_bytes))] * step.records,
            producer=BatchProducer(
                step.producer or -1,
                epoch if step.producer else -1,
                sequence if step.producer else -1,
                transactional=step.transactional and step.producer > 0,
            ),
        )
        in_transaction = any(
            t.producer == step.producer and t.marker_offset is None
            for t in self.model.transactions()
        )
        end = self.log.log_end_offset
        if in_transaction and not step.transactional:
            with pytest.raises(InvalidTxnState):
                self.log.append(memoryview(batch))
            assert self.log.log_end_offset == end
            return
        appended = self.log.append(memoryview(batch))
        assert (appended.base_offset, appended.duplicate) == (end, False)
        self.model.note(batch)

    def _mark(self, step: Marker) -> None:
        epoch, _ = self.model.next_sequence(step.producer)
        end = self.log.log_end_offset
        staged = self.log.append_marker(
            step.producer,
            epoch + step.bumped,
            commit=step.commit,
            coordinator_epoch=0,
            now_ms=1000,
        )
        assert staged.base_offset == end
        self.model.note(self.log._staged[-1])  # type: ignore[arg-type]  # noqa: SLF001 - its bytes
        late = encode_batch(
            [Record(0, 1000, b"k", b"late")],
            producer=BatchProducer(step.producer, epoch, 2**30, transactional=True),
        )
        with pytest.raises(InvalidProducerEpoch if step.bumped else OutOfOrderSequence):
            self.log.append(memoryview(late))

    def _commit(self) -> None:
        log = self.log
        log.write_staged()
        ticket = self.commit.request([log])
        self.commit.run_pending()
        if self.commit.completed_ticket >= ticket:
            log.high_watermark = log.log_end_offset
            self.durable_end = log.log_end_offset
        if self.commit.failed is not None:
            raise self.commit.failed

    def _set_point(self) -> None:
        """Let a recovery point cover what is deleted next.

        Without one a crash makes the log forget what only deleted batches said about producers:
        readers get the same records, but a transaction that ended there may count as open until
        the coordinator, which reconciles at a start, ends it again.
        """
        self._commit()
        self.commit.request_points([self.log])
        self.commit.run_pending()
        if self.commit.failed is not None:
            raise self.commit.failed

    # What must hold.

    def check(self) -> None:
        self.start()
        self.check_start()

    def check_start(self) -> None:
        """After a start the log is a beginning of what was appended."""
        log = self.log
        assert log.log_end_offset >= self.durable_end, "acknowledged batches are lost"
        assert log.high_watermark == log.log_end_offset
        self.model.end_at(log.log_end_offset)
        self.durable_end = log.log_end_offset
        self.check_state()
        self.check_reading()

    def check_state(self) -> None:
        log, model = self.log, self.model
        stable = model.last_stable_offset(log.high_watermark, log.log_start_offset)
        assert log.last_stable_offset == stable
        reported = [(t.producer_id, t.first_offset) for t in log.open_transactions()]
        opened = [t for t in model.transactions() if t.marker_offset is None]
        assert reported == [(t.producer, t.first_offset) for t in opened]
        epochs = {p.producer_id: p.producer_epoch for p in log.active_producers()}
        for transaction in opened:
            assert epochs[transaction.producer] == transaction.epoch

    def check_reading(self) -> None:
        log, model = self.log, self.model
        start, stable = log.log_start_offset, log.last_stable_offset
        for first_offset in range(start, stable, 1 + (stable - start) // 8):
            for up_to_offset in range(first_offset + 1, stable + 1, 5):
                reported = [tuple(t) for t in log.aborted_transactions(first_offset, up_to_offset)]
                assert reported == model.aborted(first_offset, up_to_offset)
        for max_bytes in (1, 500, 10_000):
            assert list(consume(log, max_bytes)) == model.committed(start, stable)


def consume(log: PartitionLog, max_bytes: int) -> Iterator[int]:
    """Yield the offsets that a read_committed consumer gets, one fetch after the other."""
    offset = log.log_start_offset
    stable = log.last_stable_offset
    while offset < stable:
        found = log.read(offset, max_bytes, up_to_offset=stable)
        assert found.file is not None, f"nothing at {offset} of {stable}"
        reported = sorted(log.aborted_in(found, stable), key=lambda item: item.first_offset)
        leaving_out: set[int] = set()
        for header, batch in whole_batches(found.file.pread(found.position, found.size_bytes)):
            while reported and reported[0].first_offset <= header.last_offset:
                leaving_out.add(reported.pop(0).producer_id)
            if header.control:
                leaving_out.discard(header.producer_id)
            elif not (header.transactional and header.producer_id in leaving_out):
                yield from (r.offset for r in decode_records(batch) if r.offset >= offset)
            next_offset = header.next_offset
        offset = next_offset


def run_lives(program: Sequence[Life], *, lies: Collection[str] = ()) -> None:
    broker = Broker(CrashDisk(lies=lies))
    for life in program:
        broker.live(life)
        broker.check()
        broker.disk = broker.disk.crash(life.seed + 1)
    broker.check()


producers = st.sampled_from(PRODUCERS)
writes = st.builds(
    Write,
    producer=st.sampled_from((0, *PRODUCERS)),
    records=st.integers(1, 3),
    value_bytes=st.integers(0, 300),
    transactional=st.sampled_from((True, True, False)),
)
markers = st.builds(Marker, producer=producers, commit=st.booleans(), bumped=st.booleans())
steps = st.one_of(
    writes,
    writes,
    writes,
    markers,
    markers,
    st.just(Commit()),
    st.builds(Delete, share=st.floats(0, 1)),
    st.just(Stop()),
)
lives = st.builds(
    Life,
    steps=st.lists(steps, min_size=5, max_size=40),
    changes_until_power_off=st.integers(0, 250),
    seed=st.integers(0, 2**32),
    killed=st.booleans(),
)


@given(program=st.lists(lives, min_size=1, max_size=3))
def test_a_transaction_is_seen_whole_or_not_at_all(program: list[Life]) -> None:
    run_lives(program)


def busy_life(changes: int, seed: int, *, killed: bool = False) -> Life:
    """Transactions of three producers that overlap, over many segments."""
    lives_of_it: list[Step] = []
    for turn in range(16):
        for producer in PRODUCERS:
            lives_of_it.append(Write(producer, 1 + producer % 2, 90, transactional=True))
            if (turn + producer) % (1 + producer) == 0:
                lives_of_it.append(Marker(producer, turn % 2 == 0, bumped=turn % 3 == 0))
        lives_of_it.append(Write(0, 2, 40 + 30 * (turn % 5), transactional=False))
        if turn % 3 != 1:
            lives_of_it.append(Commit())
        if turn == 9:
            lives_of_it.append(Stop())
        if turn == 12:
            lives_of_it.append(Delete(0.4))
    return Life(lives_of_it, changes, seed, killed)


def test_the_power_may_go_after_any_single_change() -> None:
    disk = CrashDisk()
    Broker(disk).live(busy_life(10**9, seed=0))

    for cut in range(0, disk.operations, 3):
        run_lives([busy_life(cut, seed=cut), busy_life(10 + cut // 3, seed=cut + 1)])


def test_the_process_may_be_killed_after_any_change_and_the_power_go_later() -> None:
    disk = CrashDisk()
    Broker(disk).live(busy_life(10**9, seed=0))

    for cut in range(1, disk.operations, 5):
        run_lives([busy_life(cut, cut, killed=True), busy_life(cut // 2, cut + 1)])


@pytest.mark.parametrize("lie", ["sync", "sync_dir"])
def test_a_disk_that_ignores_syncs_is_detected(lie: str) -> None:
    """A test of the test: without syncs, promises must break for some of these lives."""
    broken = 0
    for seed in range(20):
        try:
            run_lives([busy_life(300, seed)], lies=(lie,))
        except (AssertionError, DuologError):
            broken += 1

    assert broken > 0
