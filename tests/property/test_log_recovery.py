"""After a loss of power everything acknowledged is there, and nothing torn is served.

A broker's life is a list of steps over several partitions, on a disk in memory that goes off after
some number of changes and keeps a random part of what was not synced. Or only the process ends,
and the next one builds on what a later loss of power may take. Then the next life begins.
Small segments, a tiny journal and frequent recovery points make each of them happen often.
"""

from collections.abc import Collection
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.core.errors import DuologError
from duolog.core.setting_types import Value
from duolog.log import LogManager, PartitionLog
from duolog.log.checkpoints.recovery_point import read_recovery_point
from duolog.log.errors import LogDirOffline
from duolog.log.segments.segment import Segment
from duolog.record import Record, crc_matches, decode_records, encode_batch, whole_batches
from duolog.record.records import BatchProducer
from duolog.testing import FakeClock
from duolog.testing.disk import CrashDisk, PowerLost
from strategies import AdvanceLogStart, Append, Commit, Life, Step, Stop, lives

PARTITIONS: Final = 10
SETTINGS: Final[dict[str, Value]] = {
    "log.segment.bytes": 1500,
    "log.index.interval.bytes": 300,
    "log.recovery.point.bytes": 2500,
    "log.journal.bytes": 3000,
}


class Broker:
    """A broker's operations on its logs, and its promises to clients.

    Attributes:
        sent: for each partition, the bytes at each base offset that was ever given out.
        acknowledged: for each partition, the base offsets that were acknowledged to clients.
    """

    def __init__(self, disk: CrashDisk) -> None:
        self.disk = disk
        self.sent: list[dict[int, bytes]] = [{} for _ in range(PARTITIONS)]
        self.acknowledged: list[set[int]] = [set() for _ in range(PARTITIONS)]
        self.log_starts = [0] * PARTITIONS
        self.kept_log_starts = [0] * PARTITIONS
        self.topic_exists = False
        self._waiting: set[tuple[int, int]] = set()
        self._sequences = [0] * PARTITIONS

    def live(self, life: Life) -> None:
        """Start, run the steps, and cut the power at the latest after them."""
        self.disk.power_off_after(operations=life.changes_until_power_off)
        try:
            self.start()
            for step in life.steps:
                self.do(step)
        except (PowerLost, LogDirOffline):
            pass
        self.disk = self.disk.kill() if life.killed else self.disk.crash(life.seed)
        self._waiting.clear()

    def start(self) -> None:
        self.manager = LogManager(self.disk, "/data", FakeClock(), SETTINGS)
        self.commit = self.manager.group_commit("fsync", lambda: None, threaded=False)
        if self.manager.topics.get("kept") is None:
            assert not self.topic_exists, "the topic was acknowledged and is gone"
            self.manager.topics.create("kept", PARTITIONS)
        self.topic_exists = True
        for partition in range(PARTITIONS):
            self._sequences[partition] = 0

    def log(self, partition: int) -> PartitionLog:
        return self.manager.log("kept", partition)

    def do(self, step: Step) -> None:
        match step:
            case Append():
                self._append(step)
            case Commit():
                self._commit()
            case AdvanceLogStart(partition, share):
                self._advance_log_start(partition, share)
            case Stop():
                self._commit()
                self.commit.close()
                if self.commit.failed is not None:
                    raise self.commit.failed
                self.manager.close()
                self.start()

    def _append(self, step: Append) -> None:
        # Each life is a new producer, so that its first sequence is always taken.
        producer_id = self.manager.leader_epoch if step.idempotent else -1
        batch = encode_batch(
            [
                Record(0, step.timestamp_ms + i, b"key", bytes(step.value_bytes))
                for i in range(step.records)
            ],
            producer=BatchProducer(
                producer_id,
                0 if step.idempotent else -1,
                self._sequences[step.partition] if step.idempotent else -1,
            ),
        )
        appended = self.log(step.partition).append(memoryview(batch))
        assert not appended.duplicate
        taken = self.acknowledged[step.partition]
        assert appended.base_offset > max(taken, default=-1), (
            "an acknowledged offset is assigned again"
        )
        if step.idempotent:
            self._sequences[step.partition] += step.records
        self.sent[step.partition][appended.base_offset] = bytes(batch)
        self._waiting.add((step.partition, appended.base_offset))

    def _commit(self) -> None:
        logs = [self.log(partition) for partition in range(PARTITIONS)]
        for log in logs:
            log.write_staged()
        ticket = self.commit.request(logs)
        self.commit.run_pending()
        if self.commit.completed_ticket >= ticket:
            for partition, offset in self._waiting:
                self.acknowledged[partition].add(offset)
            self._waiting.clear()
            for log in logs:
                log.high_watermark = log.log_end_offset
        if self.commit.failed is not None:
            raise self.commit.failed

    def _advance_log_start(self, partition: int, share: float) -> None:
        log = self.log(partition)
        start = log.log_start_offset
        wanted = start + int((log.high_watermark - start) * share)
        # It may be durable even if the power goes before the call returns.
        self.log_starts[partition] = max(self.log_starts[partition], wanted)
        log.advance_log_start(wanted)
        self.kept_log_starts[partition] = log.log_start_offset

    # What must hold after a start.

    def check(self) -> None:
        self.start()
        for partition in range(PARTITIONS):
            log = self.log(partition)
            found = read_all(log)
            self._check_promises(partition, log, found)
            check_batches(log, found)
            check_indexes(self.disk, log)
            self._check_duplicates(partition, log, found)
            # Missing data was never acknowledged; its offsets are assigned again.
            self.sent[partition] = dict(found)
            self.acknowledged[partition] &= found.keys()

    def _check_promises(self, partition: int, log: PartitionLog, found: dict[int, bytes]) -> None:
        sent = self.sent[partition]
        kept, asked = self.kept_log_starts[partition], self.log_starts[partition]
        assert kept <= log.log_start_offset <= asked, "deleted records do not come back"
        assert found.items() <= sent.items(), "what is read was sent, with these bytes"
        for offset in self.acknowledged[partition]:
            last_offset = next(whole_batches(sent[offset]))[0].last_offset
            if last_offset >= self.log_starts[partition]:
                assert offset in found, f"acknowledged batch at {offset} is lost"

    def _check_duplicates(self, partition: int, log: PartitionLog, found: dict[int, bytes]) -> None:
        idempotent = [
            (offset, batch)
            for offset, batch in found.items()
            if next(whole_batches(batch))[0].producer_id >= 0
        ]
        if not idempotent:
            return
        offset, batch = idempotent[-1]

        again = log.append(memoryview(bytearray(batch)))

        assert again.duplicate
        assert again.base_offset == offset


def read_all(log: PartitionLog) -> dict[int, bytes]:
    """Return all batches that a consumer can get, in slices of a few."""
    found: dict[int, bytes] = {}
    offset = log.log_start_offset
    while offset < log.high_watermark:
        data = log.read_bytes(offset, 700, up_to_offset=log.high_watermark)
        batches = list(whole_batches(data))
        assert batches, f"nothing at {offset} of {log.log_start_offset}..{log.high_watermark}"
        assert sum(len(batch) for _, batch in batches) == len(data), "only whole batches"
        for header, batch in batches:
            found[header.base_offset] = bytes(batch)
            offset = header.next_offset
    return found


def check_batches(log: PartitionLog, found: dict[int, bytes]) -> None:
    expected = None
    for base_offset, batch in found.items():
        header, _ = next(whole_batches(batch))
        assert crc_matches(batch)
        assert expected is None or base_offset == expected, "offsets are dense"
        assert len(list(decode_records(batch))) == header.records_count
        expected = header.next_offset
    if found:
        assert next(iter(found)) <= log.log_start_offset
        assert expected == log.log_end_offset


def check_indexes(disk: CrashDisk, log: PartitionLog) -> None:
    """Both indexes point where a reading of the whole segment points."""
    point = read_recovery_point(disk, log.directory)
    for name in disk.list(log.directory):
        base_offset = int(name.partition(".")[0]) if name.endswith(".log") else -1
        # Index files that follow the recovery point are not read, and may be anything.
        if point is None or not 0 <= base_offset < point.segment:
            continue
        segment = Segment(disk, log.directory, base_offset, disk.size(f"{log.directory}/{name}"))
        ends = {place.last_offset: place.position for place in segment.places(0)}
        index = segment.offset_index
        for offset, position in zip(index.offsets, index.positions, strict=True):
            assert ends.get(base_offset + offset) == position
    for place_offset in range(log.log_start_offset, log.log_end_offset):
        first = log.read(place_offset, 1, up_to_offset=log.log_end_offset).first_offset
        assert first <= place_offset
    newest = log.max_timestamp()
    stamps = [
        r.timestamp_ms
        for b in read_all(log).values()
        for r in decode_records(b)
        if r.offset >= log.log_start_offset
    ]
    if stamps and log.log_start_offset == 0:
        assert newest is not None
        assert newest.timestamp_ms == max(stamps)


def run_lives(program: list[Life], *, lies: Collection[str] = ()) -> None:
    broker = Broker(CrashDisk(lies=lies))
    for life in program:
        broker.live(life)
        broker.check()
        broker.disk = broker.disk.crash(life.seed + 1)
        # What the start has served may not vanish with the power either.
        for partition in range(PARTITIONS):
            broker.acknowledged[partition] = set(broker.sent[partition])
    broker.check()


@given(program=st.lists(lives(PARTITIONS), min_size=1, max_size=3))
def test_acknowledged_batches_survive_and_nothing_torn_is_served(program: list[Life]) -> None:
    run_lives(program)


BUSY: Final = [
    Append(partition, 1 + partition % 3, 150, 10 * turn + partition, idempotent=turn % 2 == 0)
    for turn in range(12)
    for partition in range(PARTITIONS)
]
"""Every partition is appended to, twelve times."""


def busy_life(changes: int, seed: int, *, killed: bool = False) -> Life:
    steps: list[Step] = []
    for turn in range(12):
        steps += BUSY[turn * PARTITIONS : (turn + 1) * PARTITIONS]
        steps.append(Commit())
        if turn % 4 == 2:
            steps.append(AdvanceLogStart(turn % PARTITIONS, 0.5))
        if turn == 7:
            steps.append(Stop())
    return Life(steps, changes, seed, killed)


def test_the_power_may_go_after_any_single_change() -> None:
    """One long life, cut after each of its changes in turn."""
    disk = CrashDisk()
    Broker(disk).live(busy_life(10**9, seed=0))

    for cut in range(0, disk.operations, 3):
        run_lives([busy_life(cut, seed=cut)])


def test_the_process_may_be_killed_after_any_change_and_the_power_go_later() -> None:
    disk = CrashDisk()
    Broker(disk).live(busy_life(10**9, seed=0))

    for cut in range(1, disk.operations, 11):
        run_lives([busy_life(cut, cut, killed=True), busy_life(cut // 2, cut + 1)])


@pytest.mark.parametrize("lie", ["sync", "sync_dir"])
def test_a_disk_that_ignores_syncs_is_detected(lie: str) -> None:
    """A test of the test: without syncs, promises must break for some of these lives."""
    broken = 0
    for seed in range(20):
        try:
            run_lives([busy_life(400, seed)], lies=(lie,))
        except (AssertionError, DuologError):
            broken += 1

    assert broken > 0
