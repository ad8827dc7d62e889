"""Positions beyond the end of truncated logs, after an older copy of the broker's data."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from duolog.engine.checkpoint.position_marks import MARKS_FILE
from duolog.engine.checkpoint.truncation_watch import TruncationWatch
from duolog.engine.errors import CheckpointDamaged, LogTruncated
from duolog.engine.topics.record_checks import Mark, RecordChecks
from duolog.engine.topics.topic_reader import TopicReader
from duolog.testing import Client, EmbeddedCluster
from waiting import DEADLINE_S

pytestmark = pytest.mark.timeout(120)

READ: Final = 30
BACKED_UP: Final = 10
ABORTED: Final = 300


class Logs:
    """A broker with a two-partition topic, a backup, and an application that has read it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.cluster = EmbeddedCluster(directory / "broker", settings={"durability": "os"})
        self.checkpoint = directory / "checkpoints" / "orders"
        self.checkpoint.mkdir(parents=True)

    def begin(self) -> None:
        """Write records, back the broker up, and write more."""
        self.cluster.__enter__()
        Client(self.cluster.bootstrap_servers).create_topic("in", partitions=2)
        Client(self.cluster.bootstrap_servers).create_topic("totals-changelog", partitions=1)
        self.write(BACKED_UP)
        self.cluster.stop()
        shutil.copytree(self.directory / "broker", self.directory / "backup")
        self.cluster.restart()
        self.write(READ - BACKED_UP)

    def write(self, records: int, of: str = "order") -> None:
        client = Client(self.cluster.bootstrap_servers)
        for topic in ("in", "totals-changelog"):
            for number in range(records):
                client.produce(topic, f"k{number}", f"{of} {number}")

    def restore(self, starts: int = 1) -> None:
        """Restore the broker's data from the backup; leader epochs continue from there."""
        self.cluster.stop()
        shutil.rmtree(self.directory / "broker")
        shutil.copytree(self.directory / "backup", self.directory / "broker")
        for _ in range(starts - 1):
            self.cluster.restart()
            self.cluster.stop()
        self.cluster.restart()

    def watch(self, changelogs: tuple[str, ...] = ()) -> TruncationWatch:
        topics = TopicReader(self.cluster.bootstrap_servers, {})
        internal = dict.fromkeys(changelogs, 1)
        # A restarted broker is slow on a busy machine.
        return TruncationWatch(topics, self.checkpoint, internal, "Write it again.", glance_s=60.0)

    @property
    def positions(self) -> dict[str, dict[int, int]]:
        topics = TopicReader(self.cluster.bootstrap_servers, {})
        return topics.end_offsets({"in": 2})

    def ids(self) -> dict[str, str]:
        topics = TopicReader(self.cluster.bootstrap_servers, {})
        return topics.topic_ids(["in", "totals-changelog"])


@pytest.fixture
def logs(tmp_path: Path) -> Iterator[Logs]:
    logs = Logs(tmp_path)
    logs.begin()
    yield logs
    logs.cluster.__exit__(None, None, None)


def test_log_that_ends_before_a_position_is_refused(logs: Logs) -> None:
    """Regression: the application reported caught up, and skipped records up to the position."""
    read = logs.positions
    logs.watch().ensure_whole(read)
    logs.restore()
    logs.write(2)
    left = logs.positions

    with pytest.raises(LogTruncated, match='"in" has lost records that application "orders"') as of:
        logs.watch().ensure_whole(read)

    partition = min(n for n in (0, 1) if left["in"][n] < read["in"][n])
    assert (
        f"Partition {partition} ends at offset {left['in'][partition]}, but was read up to "
        f"offset {read['in'][partition]}."
    ) in of.value.detail
    assert "`duolog state reset orders`" in of.value.hint


@pytest.mark.parametrize("starts", [1, 3], ids=["leader epochs used before", "new leader epochs"])
def test_log_that_grew_past_a_position_again_is_refused(logs: Logs, starts: int) -> None:
    read = logs.positions
    logs.watch().look(read, read, logs.ids())
    logs.restore(starts)
    logs.write(READ, of="later order")

    with pytest.raises(LogTruncated) as refused:
        logs.watch().ensure_whole(read)

    reported = ("differs from the one that was read", "its log was truncated below offset")
    assert any(part in refused.value.detail for part in reported)


def test_running_query_fails_at_the_next_check(logs: Logs) -> None:
    read = logs.positions
    watch = logs.watch()
    watch.look(read, read, logs.ids())
    logs.restore()
    logs.write(READ, of="later order")

    with pytest.raises(LogTruncated):
        watch.look(logs.positions, read, logs.ids())


def test_uncommitted_positions_of_a_running_query_are_checked(logs: Logs) -> None:
    read = logs.positions
    begun = {"in": {0: 1, 1: 1}}
    watch = logs.watch()
    watch.look(read, begun, logs.ids())
    logs.restore()

    with pytest.raises(LogTruncated):
        watch.look(read, begun, logs.ids())

    logs.watch().ensure_whole(begun)


def test_unchanged_log_is_accepted(logs: Logs) -> None:
    read = logs.positions
    watch = logs.watch()
    watch.look(read, read, logs.ids())
    for _ in range(2):
        logs.cluster.restart()
        logs.write(5)
        watch.look(logs.positions, read, logs.ids())

    logs.watch().ensure_whole(read)


def test_last_record_is_found_before_many_aborted_records(logs: Logs) -> None:
    """Regression: the mark had an epoch only, so a replaced and regrown log went unnoticed."""
    servers = logs.cluster.bootstrap_servers
    read = logs.positions["in"][0]
    producer = Producer({"bootstrap.servers": servers, "transactional.id": "aborts"})
    producer.init_transactions(DEADLINE_S)
    producer.begin_transaction()
    for number in range(ABORTED):
        producer.produce("in", f"aborted {number}", partition=0)
    producer.flush(DEADLINE_S)  # Unsent records are dropped, not aborted.
    producer.abort_transaction(DEADLINE_S)
    end = logs.positions["in"][0]
    assert end > read + ABORTED

    looks = RecordChecks(servers, {})
    [(at, found)] = looks.last_before({("in", 0): end}).items()

    assert (at, found.offset) == (("in", 0), read - 1)
    assert not looks.changed({at: Mark(end, -1, found.offset, found.leader_epoch, found.digest)})


def test_last_record_before_a_position_excludes_the_position(logs: Logs) -> None:
    """A mark of the next record would describe a record that was not read."""
    servers = logs.cluster.bootstrap_servers
    producer = Producer({"bootstrap.servers": servers, "transactional.id": "one"})
    producer.init_transactions(DEADLINE_S)
    producer.begin_transaction()
    producer.produce("in", "committed", partition=0)
    producer.commit_transaction(DEADLINE_S)
    after_the_marker = logs.positions["in"][0]
    plain = Producer({"bootstrap.servers": servers})
    plain.produce("in", "later", partition=0)
    assert plain.flush(DEADLINE_S) == 0

    [found] = RecordChecks(servers, {}).last_before({("in", 0): after_the_marker}).values()

    assert found.offset == after_the_marker - 2


def test_log_of_only_aborted_records_is_read_once(
    logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = logs.cluster.bootstrap_servers
    Client(servers).create_topic("aborted", partitions=1)
    producer = Producer({"bootstrap.servers": servers, "transactional.id": "aborts"})
    producer.init_transactions(DEADLINE_S)
    for _ in range(2):
        producer.begin_transaction()
        for number in range(ABORTED):
            producer.produce("aborted", f"aborted {number}")
        producer.flush(DEADLINE_S)  # Unsent records are dropped, not aborted.
        producer.abort_transaction(DEADLINE_S)
    looks = RecordChecks(servers, {})
    assert looks.last_before({("aborted", 0): ABORTED + 1}) == {}
    monkeypatch.setattr(RecordChecks, "_read", None)

    assert looks.last_before({("aborted", 0): ABORTED + 1}) == {}
    monkeypatch.undo()
    assert looks.last_before({("aborted", 0): 2 * ABORTED + 2}) == {}


def test_records_deleted_by_retention_are_not_reported(logs: Logs) -> None:
    read = logs.positions
    logs.watch().look(read, read, logs.ids())
    logs.write(5)
    ends = logs.positions["in"]
    admin = AdminClient({"bootstrap.servers": logs.cluster.bootstrap_servers})
    deleted = admin.delete_records([TopicPartition("in", n, at) for n, at in ends.items()])
    for done in deleted.values():
        done.result(30)

    logs.watch().ensure_whole(read)


def test_recreated_topic_is_left_to_another_check(logs: Logs) -> None:
    """Another check refuses a recreated topic, with its own message."""
    read = logs.positions
    logs.watch().look(read, read, logs.ids())
    admin = AdminClient({"bootstrap.servers": logs.cluster.bootstrap_servers})
    admin.delete_topics(["in"])["in"].result(30)
    Client(logs.cluster.bootstrap_servers).create_topic("in", partitions=2)

    logs.watch().ensure_whole({"in": {0: 0, 1: 0}})


def test_changelog_that_lost_entries_is_refused(logs: Logs) -> None:
    """Regression: a restore would have silently returned older state."""
    logs.watch(("totals-changelog",)).look({}, {}, logs.ids())
    logs.restore()
    logs.write(2)

    with pytest.raises(LogTruncated, match='changelog "totals-changelog"') as refused:
        logs.watch(("totals-changelog",)).ensure_whole({})

    assert (
        f"ends at offset {BACKED_UP + 2}, but was read up to offset {READ}" in refused.value.detail
    )
    assert "Write it again." in refused.value.hint
    logs.watch().ensure_whole({})


def test_changelog_that_grew_past_its_position_again_is_refused(logs: Logs) -> None:
    """Its marks have no record: only the leader epoch reveals it."""
    logs.watch(("totals-changelog",)).look({}, {}, logs.ids())
    logs.restore(starts=3)
    logs.write(READ, of="later order")

    with pytest.raises(LogTruncated, match='changelog "totals-changelog"') as refused:
        logs.watch(("totals-changelog",)).ensure_whole({})

    assert f"its log was truncated below offset {READ}" in refused.value.detail


def test_error_names_a_positions_file_with_a_flipped_bit(logs: Logs) -> None:
    logs.watch().look(logs.positions, logs.positions, logs.ids())
    path = logs.checkpoint / MARKS_FILE
    path.write_text(path.read_text().replace("[", "[1", 1))

    with pytest.raises(CheckpointDamaged, match=MARKS_FILE):
        logs.watch().ensure_whole({})
