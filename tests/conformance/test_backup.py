"""`duolog backup` while clients write: what is restored is one moment of the cluster."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from confluent_kafka.admin import AdminClient

import waiting
from conformance.backup_load import (
    COPY,
    EVENTS,
    PARTITIONS,
    TABLE,
    Acknowledged,
    Load,
    committed,
    create_topics,
    end_open_transaction,
    read_all,
)
from conformance.command import Duolog
from conformance.secured_broker import SecuredBroker
from duolog.log.backup.log_source import lock_staging
from duolog.log.files.disk import RealDisk
from duolog.testing import Client, EmbeddedCluster

SETTINGS: Final = {
    "log.segment.bytes": "30000",
    "log.cleaner.backoff.ms": "100",
    "transaction.state.log.num.partitions": "3",
    "offsets.topic.num.partitions": "3",
}
BACKUPS: Final = 2
RECORDS_BETWEEN: Final = 300


class Taken(NamedTuple):
    """A backup, and what the clients had heard before and after it."""

    number: int
    began_ns: int
    ended_ns: int


@pytest.fixture
def cluster(tmp_path: Path) -> EmbeddedCluster:
    return EmbeddedCluster(tmp_path / "data", SETTINGS)


def back_up(tmp_path: Path, *words: str) -> str:
    done = Duolog("").run("backup", str(tmp_path / "backups"), *words)
    assert done.returncode == 0, done.stderr
    return done.stderr


def restore(tmp_path: Path, number: int) -> Path:
    target = tmp_path / f"restored-{number}"
    words = "--backup", str(number), "--data", str(target)
    done = Duolog("").run("restore", str(tmp_path / "backups"), *words)
    assert done.returncode == 0, done.stderr
    examined = Duolog("").run("doctor", str(target))
    assert (examined.returncode, examined.stdout) == (0, ""), examined.stderr
    return target


def test_each_backup_under_load_is_one_moment(tmp_path: Path, cluster: EmbeddedCluster) -> None:
    taken: list[Taken] = []
    with cluster:
        create_topics(cluster.bootstrap_servers)
        with Load(cluster.bootstrap_servers) as load:
            for number in range(1, BACKUPS + 1):
                _let_go_on(load)
                began = time.monotonic_ns()
                back_up(tmp_path, "--data", str(tmp_path / "data"))
                taken.append(Taken(number, began, time.monotonic_ns()))
            _let_go_on(load)
        everything = read_all(cluster.bootstrap_servers, EVENTS)
        cluster.kill()

    assert list((tmp_path / "data/.backup").iterdir()) == [tmp_path / "data/.backup/.lock"]
    verified = Duolog("").run("backup", str(tmp_path / "backups"), "--verify")
    assert (verified.returncode, verified.stdout) == (0, ""), verified.stderr
    for one in taken:
        with EmbeddedCluster(restore(tmp_path, one.number), SETTINGS) as restored:
            _check(restored.bootstrap_servers, one, load.acknowledged, everything)


def _let_go_on(load: Load) -> None:
    """Wait until the clients have done more, so that a backup begins in the midst of it."""
    before = len(load.acknowledged), load.copied
    waiting.wait_until(
        lambda: (
            load.failures
            or (
                len(load.acknowledged) > before[0] + RECORDS_BETWEEN
                and load.copied > before[1] + RECORDS_BETWEEN
            )
        ),
        lambda: f"{len(load.acknowledged)} written, {load.copied} copied since {before}",
    )
    assert load.failures == []


def _check(
    servers: str,
    taken: Taken,
    acknowledged: list[Acknowledged],
    everything: list[list[bytes]],
) -> None:
    end_open_transaction(servers)
    events = read_all(servers, EVENTS)
    for partition in range(PARTITIONS):
        assert events[partition] == everything[partition][: len(events[partition])]
    for record in acknowledged:
        if record.heard_ns < taken.began_ns:
            assert events[record.partition][record.offset] == record.value
    assert sum(map(len, events)) < sum(map(len, everything))
    # The group's offsets, the state of transactions and their records are of the same moment.
    offsets = committed(servers)
    copies = read_all(servers, COPY)
    for partition in range(PARTITIONS):
        assert offsets[partition] <= len(events[partition])
        assert copies[partition] == events[partition][: offsets[partition]]
    assert sum(offsets) > 0
    assert read_all(servers, TABLE, 1)[0]
    with Load(servers) as load:  # Groups, transactions and producers continue.
        waiting.wait_until(
            lambda: load.failures or (load.acknowledged and load.copied),
            "no client continues",
        )
    after = committed(servers)
    assert sum(after) > sum(offsets)
    assert read_all(servers, COPY) == [
        values[:end] for values, end in zip(read_all(servers, EVENTS), after, strict=True)
    ]


@pytest.mark.parametrize("stage", ["packs", "progress", "complete"])
def test_a_killed_backup_is_continued(tmp_path: Path, cluster: EmbeddedCluster, stage: str) -> None:
    backups, data = tmp_path / "backups", tmp_path / "data"
    with cluster:
        client = Client(cluster.bootstrap_servers)
        client.create_topic(EVENTS, partitions=1)
        for number in range(60):
            client.produce(EVENTS, str(number), "x" * 20_000)
        program = (
            "import os, signal, sys\n"
            "from duolog.log.backup import packs, progress, repository\n"
            f"from conformance.kill_points import kill_at\nkill_at({stage!r})\n"
            "from duolog.cli.main import main\n"
            "sys.exit(main(sys.argv[1:]))\n"
        )
        words = [sys.executable, "-c", program, "backup", str(backups), "--data", str(data)]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
        killed = subprocess.run(words, env=environment, capture_output=True, check=False)
        assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()

        said = back_up(tmp_path, "--data", str(data))

        assert "backup 1 is complete" in said or "backup 2 is complete" in said
        reused = int(said.rpartition(", used ")[2].split()[0].replace(",", ""))
        assert (reused > 0) == (stage != "packs")
        written = [record.key_text for record in client.read(EVENTS)]
    numbers = [int(path.name[-6:]) for path in backups.glob("backup-*")]
    with EmbeddedCluster(restore(tmp_path, max(numbers))) as restored:
        found = Client(restored.bootstrap_servers).read(EVENTS)
    assert [record.key_text for record in found] == written


def test_a_broker_removes_the_second_names_of_a_killed_backup_and_no_others(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    with EmbeddedCluster(data) as cluster:
        Client(cluster.bootstrap_servers).create_topic(EVENTS, partitions=1)
    left = data / ".backup/some-topic/0/segment"
    left.parent.mkdir(parents=True)
    left.touch()

    lock = lock_staging(RealDisk(), str(data))
    with EmbeddedCluster(data):
        during_a_backup = _second_names(data)
    lock.release()
    with EmbeddedCluster(data):
        after_it = _second_names(data)

    assert during_a_backup == [left]
    assert after_it == []


def _second_names(data: Path) -> list[Path]:
    return [path for path in (data / ".backup").glob("*/**/*") if path.is_file()]


def test_a_topic_that_is_deleted_meanwhile_is_no_error(
    tmp_path: Path, cluster: EmbeddedCluster
) -> None:
    with cluster:
        client = Client(cluster.bootstrap_servers)
        client.create_topic(EVENTS, partitions=1)
        client.produce(EVENTS, "1", "one")
        back_up(tmp_path, "--data", str(tmp_path / "data"))
        Duolog(cluster.bootstrap_servers)("topics", "delete", EVENTS, "--yes")
        back_up(tmp_path, "--data", str(tmp_path / "data"), "--keep", "1")

    listed = Duolog("").run("backup", str(tmp_path / "backups"), "--list", "-o", "csv")
    assert [line.split(",")[0] for line in listed.stdout.splitlines()] == ["backup", "2"]


def test_a_second_backup_writes_only_what_is_new(tmp_path: Path, cluster: EmbeddedCluster) -> None:
    with cluster:
        client = Client(cluster.bootstrap_servers)
        client.create_topic(EVENTS, partitions=1)
        for number in range(20):
            client.produce(EVENTS, str(number), "x" * 20_000)
        back_up(tmp_path, "--data", str(tmp_path / "data"))
        client.produce(EVENTS, "last", "x")

        said = back_up(tmp_path, "--data", str(tmp_path / "data"))
        full = back_up(tmp_path, "--data", str(tmp_path / "data"), "--full")

    assert _bytes_in(said, "wrote ") < 1000
    assert _bytes_in(said, "used ") > 400_000
    assert _bytes_in(full, "used ") == 0
    assert _bytes_in(full, "wrote ") > 400_000


def _bytes_in(said: str, word: str) -> int:
    return int(said.rpartition(word)[2].split()[0].replace(",", ""))


def test_a_secured_cluster_is_backed_up_without_a_password(tmp_path: Path) -> None:
    broker = SecuredBroker(tmp_path / "secured")
    data = tmp_path / "secured/data"
    broker.start()
    try:
        broker.add_user("reader", "s3cret-of-reader")
        back_up(tmp_path, "--data", str(data))
        broker.kill()
        shutil.rmtree(data)
        done = Duolog("").run("restore", str(tmp_path / "backups"), "--data", str(data))
        assert done.returncode == 0, done.stderr

        broker.start()

        reader = AdminClient(broker.librdkafka("reader", "s3cret-of-reader"))
        assert reader.list_topics(timeout=waiting.DEADLINE_S).cluster_id
    finally:
        broker.stop()


def test_backing_up_into_the_data_directory_is_refused(
    tmp_path: Path, cluster: EmbeddedCluster
) -> None:
    with cluster:
        pass
    done = Duolog("").run(
        "backup", str(tmp_path / "data/backups"), "--data", str(tmp_path / "data")
    )

    assert done.returncode == 1
    assert "is not outside of the data directory" in done.stderr
    assert not (tmp_path / "data/backups").exists()
