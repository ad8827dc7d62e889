"""Checks of an application's internal topics on a broker, without Spark."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient

from duolog.engine import EngineConfig
from duolog.engine.changelog import logged_state
from duolog.engine.changelog.commit_topic import Committed
from duolog.engine.changelog.logged_state import LoggedState
from duolog.engine.checkpoint.checkpoint import Checkpoint, StartFacts
from duolog.engine.errors import ChangelogMismatch
from duolog.engine.topics.topic_reader import TopicReader
from duolog.testing import Client, EmbeddedCluster

pytestmark = pytest.mark.timeout(60)

STORES: Final = ["totals", "rows"]


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"durability": "os"}) as started:
        yield started


def state_of(cluster: EmbeddedCluster, directory: Path, name: str) -> LoggedState:
    checkpoint = Checkpoint(directory / name)
    shape = {"tasks": 3, "sources": ["t"], "levels": 1, "stores": {store: {} for store in STORES}}
    checkpoint.pin(name, StartFacts(shape, {"duolog": "1", "pyspark": "4"}, {}, changelog=True))
    config = EngineConfig(cluster.bootstrap_servers, directory, changelog="on")
    return LoggedState(config, TopicReader(cluster.bootstrap_servers, {}), checkpoint, name)


def begin(state: LoggedState) -> None:
    spec: dict[str, Any] = {"application_id": state.application_id, "tasks": 3, "sinks": []}
    state.begin(spec | {"stores": STORES}, is_restored=False)


def commit(state: LoggedState) -> None:
    for log in ("offsets", "commits"):
        (state.checkpoint.spark_dir / log).mkdir(parents=True)
        (state.checkpoint.spark_dir / log / "0").write_text("v1\n{}")


def test_changelog_deleted_after_a_commit_is_reported_and_not_recreated(
    cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    state = state_of(cluster, tmp_path, "gone")
    begin(state)
    commit(state)
    begin(state)

    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    admin.delete_topics(["gone-totals-changelog"])["gone-totals-changelog"].result(60)

    for _ in range(2):
        with pytest.raises(ChangelogMismatch, match=r'"gone-totals-changelog" of .* is missing'):
            begin(state)
    assert state.topics.existing_partition_counts(["gone-rows-changelog"]) == {
        "gone-rows-changelog": 3
    }
    assert not state.topics.existing_partition_counts(["gone-totals-changelog"])


def test_changelog_with_retention_is_refused_until_it_is_compacted(
    cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    client = Client(cluster.bootstrap_servers)
    client.create_topic("aged-rows-changelog", partitions=3)
    state = state_of(cluster, tmp_path, "aged")

    with pytest.raises(ChangelogMismatch, match=r"cleanup\.policy=delete instead of compact"):
        begin(state)
    assert not state.topics.existing_partition_counts(["aged-totals-changelog"])

    client.create_topic("kept-rows-changelog", partitions=3, configs={"cleanup.policy": "compact"})
    begin(state_of(cluster, tmp_path, "kept"))


def test_state_of_a_hundred_thousand_starts_is_written_and_read(
    cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    """The list exceeds a client's default message.max.bytes of one million."""
    state = state_of(cluster, tmp_path, "often")
    begin(state)
    generations = [(number, number * 30) for number in range(1, 100_000)]
    last = Committed(100_000, -1, generations, "v1", 4, "q", 30 * 100_000)

    state.commits.write_start(last)

    kept = state.commits.read()
    assert kept is not None
    assert kept.committed == last


def test_restore_fences_writers_before_it_reads_stored_positions(
    cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    state = state_of(cluster, tmp_path, "once")
    begin(state)
    state.commits.write_start(Committed(1, -1, [], "v1", 4, "q", 0))
    before = state.commits.read()
    assert before is not None
    Client(cluster.bootstrap_servers).create_topic("once-epochs", partitions=1)
    counts = {"once-totals-changelog": 3, "once-rows-changelog": 3}
    writing = Producer(
        {"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": "once-0"}
    )
    writing.init_transactions(60)
    writing.begin_transaction()
    writing.produce("once-totals-changelog", b"v", b"k", partition=1)
    assert writing.flush(60) == 0
    assert state.topics.open_partitions(counts) == ["once-totals-changelog-1"]

    found = state.fenced(before, before.application["shape"])

    assert found == before
    assert state.topics.open_partitions(counts) == []
    with pytest.raises(KafkaException):
        writing.commit_transaction(60)


def test_restore_uses_offsets_committed_during_the_start(
    cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    state = state_of(cluster, tmp_path, "last")
    begin(state)
    state.commits.write_start(Committed(1, -1, [], "v1", 4, "q", 0))
    before = state.commits.read()
    assert before is not None
    Client(cluster.bootstrap_servers).create_topic("last-epochs", partitions=1)

    state.commits.write_start(Committed(1, -1, [], "v2", 4, "q", 1))
    found = state.fenced(before, before.application["shape"])

    assert found.committed.offsets == "v2"


def test_at_least_once_waits_for_no_transactions(
    cluster: EmbeddedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = state_of(cluster, tmp_path, "least")
    begin(state)
    state.commits.write_start(Committed(1, -1, [], "v1", 4, "q", 0))
    kept = state.commits.read()
    assert kept is not None

    def none(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(logged_state, "fence", none)

    assert state.fenced(kept, kept.application["shape"]) is kept
