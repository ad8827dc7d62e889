"""Generations of a checkpoint, and how it comes back; the test writes Spark's files."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from duolog.engine.changelog.commit_topic import Committed
from duolog.engine.changelog.logged_checkpoint import LoggedCheckpoint
from duolog.engine.checkpoint.checkpoint import Checkpoint, StartFacts
from duolog.engine.checkpoint.checkpoint_files import last_commit
from duolog.engine.checkpoint.generations import BEFORE_ALL
from duolog.engine.checkpoint.pending_upgrade import Upgraded
from duolog.engine.errors import CheckpointMismatch
from duolog.engine.stores import StoreLocation, locate_store

SHAPE = {"tasks": 2, "sources": ["t"], "levels": 1, "stores": {}}
VERSIONS = {"duolog": "1", "pyspark": "4"}


def entry(offset: int) -> str:
    return f'v1\n{{"batchWatermarkMs":0}}\n{{"t":{{"0":{offset}}}}}'


def commit(spark_dir: Path, number: int, offset: int) -> None:
    for log, text in (("offsets", entry(offset)), ("commits", 'v1\n{"nextBatchWatermarkMs":0}')):
        (spark_dir / log).mkdir(parents=True, exist_ok=True)
        (spark_dir / log / str(number)).write_text(text)
    (spark_dir / "metadata").write_text('{"id":"q"}')


def committed_at(offset: int) -> Committed:
    return Committed(2, BEFORE_ALL, [(1, 5)], entry(offset), 77, "before", 5)


@pytest.fixture
def logged(tmp_path: Path) -> LoggedCheckpoint:
    checkpoint = Checkpoint(tmp_path / "app")
    checkpoint.pin("app", StartFacts(SHAPE, VERSIONS, {"t": "id"}, changelog=True))
    return LoggedCheckpoint(checkpoint)


def test_each_start_is_a_generation_that_counts_up_to_its_last_commit(
    logged: LoggedCheckpoint,
) -> None:
    first = logged.begin_generation()
    commit(logged.spark_dir, 0, 10)
    commit(logged.spark_dir, 1, 20)
    second = logged.begin_generation()

    assert (first.generation, first.generations, first.offsets) == (1, [], None)
    assert (second.generation, second.generations) == (2, [(1, 1)])
    assert second.offsets == entry(20)
    assert (second.epoch, second.query, second.number) == (BEFORE_ALL, "q", 1)


def test_a_generation_that_has_committed_nothing_is_not_kept(logged: LoggedCheckpoint) -> None:
    logged.begin_generation()
    commit(logged.spark_dir, 0, 10)

    numbers = [logged.begin_generation().generation for _ in range(3)]
    last = logged.begin_generation()

    assert numbers == [2, 3, 4]
    assert last.generations == [(1, 0)]


def test_entries_of_a_restore_count_whatever_its_last_commit_is(
    logged: LoggedCheckpoint,
) -> None:
    content = logged.checkpoint.file.content()
    assert content is not None
    logged.begin_restore(content, 7, [(6, 0)])
    commit(logged.spark_dir, 0, 99)
    logged.end_restore(committed_at(10))

    assert logged.begin_generation().generations == [(6, 0), (7, 0)]


OTHER = SHAPE | {"stores": {"b": {"called": "another"}}}
UPGRADED = Upgraded(VERSIONS, {"t": "id"}, {"t": {0: 20}}, [], stores=["b"])


def test_until_its_first_commit_an_upgrade_reports_the_commits_of_the_previous_topology(
    logged: LoggedCheckpoint,
) -> None:
    logged.name_topics(["a"])
    logged.begin_generation()
    commit(logged.spark_dir, 1, 20)
    logged.checkpoint.upgrade.begin(OTHER, UPGRADED)

    struck, again = logged.begin_generation(), logged.begin_generation()
    told_while_it_may_be_taken_back = logged.dropped_topics()
    commit(logged.spark_dir, 0, 30)
    done = logged.begin_generation()
    logged.checkpoint.upgrade.settle()

    for reported in (struck, again):
        assert (reported.state, reported.offsets, reported.number) == ("spark", entry(20), 1)
        assert reported.generations == [(1, 1)]
    assert (struck.generation, again.generation) == (2, 3)
    assert (done.state, done.offsets, done.number) == ("spark-2", entry(30), 0)
    assert done.generations == [(1, 1), (3, 0)], "and not the one that was struck"
    assert told_while_it_may_be_taken_back == []
    assert logged.dropped_topics() == ["app-a-changelog"]
    assert logged.topics.changelog("b") == "app-b-changelog-1"


def test_a_reverted_upgrade_leaves_no_number_to_be_reused(
    logged: LoggedCheckpoint,
) -> None:
    logged.name_topics(["a"])
    logged.begin_generation()
    commit(logged.spark_dir, 1, 20)
    logged.checkpoint.upgrade.begin(OTHER, UPGRADED)
    logged.begin_generation()

    logged.checkpoint.pin("app", StartFacts(SHAPE, VERSIONS, {"t": "id"}))
    back = logged.begin_generation()

    assert (back.generation, back.generations) == (3, [(1, 1)])
    assert (back.state, back.offsets) == ("spark", entry(20))
    assert logged.dropped_topics() == ["app-b-changelog-1"]


def test_a_restore_after_an_upgrade_fills_only_the_upgraded_checkpoint(
    logged: LoggedCheckpoint,
) -> None:
    logged.begin_generation()
    commit(logged.spark_dir, 1, 20)
    initial = replace(UPGRADED, initial=[{"becomes": "b"}])
    logged.checkpoint.upgrade.begin(OTHER, initial)
    assert logged.checkpoint.upgrade.initial_logs() == ["b"]
    content = logged.checkpoint.file.content()
    assert content is not None

    logged.begin_restore(content, 7, [(1, 1), (2, 0)])

    assert logged.spark_dir.name == "spark-2"
    assert logged.checkpoint.upgrade.initial_stores() == []
    assert logged.checkpoint.upgrade.spark_dir_before is None
    assert (logged.directory / "spark.before-restore/commits/1").exists()


def test_a_restored_checkpoint_continues_from_the_committed_offsets(
    logged: LoggedCheckpoint,
) -> None:
    logged.begin_generation()
    commit(logged.spark_dir, 5, 10)
    content = logged.checkpoint.file.content()
    assert content is not None

    logged.begin_restore(content, 2, [(1, 5)])
    assert not logged.is_whole()
    assert not logged.spark_dir.exists()
    for number in range(3):
        commit(logged.spark_dir, number, 1000 + number)
    (logged.spark_dir / "sources/0").mkdir(parents=True)
    logged.end_restore(committed_at(10))

    assert logged.is_whole()
    assert sorted(path.name for path in (logged.spark_dir / "offsets").iterdir()) == [".2.crc", "2"]
    assert [path.name for path in (logged.spark_dir / "commits").iterdir()] == ["2"]
    assert not (logged.spark_dir / "sources").exists()
    assert logged.checkpoint.committed_positions() == {"t": {0: 10}}
    assert (logged.directory / "spark.before-restore/commits/5").exists()


def test_an_application_with_empty_stores_starts_at_the_offsets(
    logged: LoggedCheckpoint,
) -> None:
    content = logged.checkpoint.file.content()
    assert content is not None
    logged.begin_restore(content, 2, [(1, 5)])

    logged.end_restore(committed_at(10))

    assert logged.checkpoint.starts() == {"t": {0: 10}}


def test_a_restore_without_entries_is_remembered_by_the_next_start(
    logged: LoggedCheckpoint,
) -> None:
    """It used to report that nothing had been committed: after a loss before its first commit it restarted from the first record."""
    content = logged.checkpoint.file.content()
    assert content is not None
    logged.begin_restore(content, 2, [(1, 5)])
    logged.end_restore(committed_at(10))

    reported = [logged.begin_generation() for _ in range(2)]
    commit(logged.spark_dir, 0, 20)
    behind = logged.begin_generation()

    assert [of.offsets for of in reported] == [entry(10), entry(10)]
    assert {(of.query, of.number, of.committed_at_ms) for of in reported} == {("before", 5, 77)}
    assert [of.generation for of in reported] == [3, 4]
    assert all((1, 5) in of.generations for of in reported)
    assert (behind.offsets, behind.query, behind.number) == (entry(20), "q", 0)


def test_an_interrupted_restore_leaves_no_checkpoint_that_seems_complete(
    logged: LoggedCheckpoint,
) -> None:
    logged.begin_generation()
    commit(logged.spark_dir, 5, 10)
    content = logged.checkpoint.file.content()
    assert content is not None
    logged.begin_restore(content, 2, [(1, 5)])
    commit(logged.spark_dir, 0, 1000)

    assert not logged.is_whole()
    logged.begin_restore(content, 3, [(1, 5)])

    assert not logged.spark_dir.exists()
    assert (logged.directory / "spark.before-restore/commits/5").exists(), (
        "and not what was cut off"
    )


@pytest.mark.parametrize("damage", ["", "{}", '{"format": 2, "tasks": 3}'])
def test_what_cannot_be_read_is_not_whole(logged: LoggedCheckpoint, damage: str) -> None:
    commit(logged.spark_dir, 0, 10)
    assert logged.is_whole()

    (logged.directory / "application.json").write_text(damage)

    assert not logged.is_whole()


def test_one_of_another_format_is_refused_by_name_and_not_restored(
    logged: LoggedCheckpoint,
) -> None:
    content = logged.checkpoint.file.content()
    assert content is not None
    commit(logged.spark_dir, 0, 10)

    with pytest.raises(CheckpointMismatch, match="older Duolog"):
        logged.begin_restore(content | {"format": 1}, 2, [])

    path = logged.directory / "application.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 1}))
    assert logged.is_whole(), "so that a start says what is wrong"
    with pytest.raises(CheckpointMismatch, match="older Duolog"):
        logged.checkpoint.pinned_tasks()


def test_until_an_upgrade_commits_a_store_is_read_from_the_previous_checkpoint(
    logged: LoggedCheckpoint,
) -> None:
    """Readers used to find it empty until the first record arrived."""
    commit(logged.spark_dir, 1, 20)
    before = str(logged.spark_dir)
    kept = {"becomes": "b", "store": "a", "checkpoint": before, "operator": 3, "commit": 1}
    logged.checkpoint.upgrade.begin(OTHER, replace(UPGRADED, initial=[kept]))

    assert located(logged, "b") == StoreLocation(Path(before), 3, 1, "a")
    assert located(logged, "c") is None
    commit(logged.spark_dir, 0, 30)
    assert located(logged, "b") is None, "its own state has none yet"


def located(logged: LoggedCheckpoint, store: str) -> StoreLocation | None:
    checkpoint = logged.checkpoint
    return locate_store(checkpoint, store, last_commit(checkpoint.spark_dir))
