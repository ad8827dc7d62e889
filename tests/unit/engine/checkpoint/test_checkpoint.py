import json
import shutil
from pathlib import Path

import pytest

from duolog import Topology, col, count, sum_
from duolog.engine.checkpoint.checkpoint import Checkpoint, StartFacts
from duolog.engine.errors import (
    CheckpointDamaged,
    CheckpointMismatch,
    SourceTopicRecreated,
)
from duolog.engine.json_object import Json
from unit.engine.lowering.shapes import shape_of_topology

VERSIONS = {"duolog": "0", "spark": "4"}
TOPICS = {"flights": "abc"}


def shape(*, total: str = "delay", late: int = 15, tasks: int = 2) -> Json:
    topology = Topology("flights")
    flights = topology.stream(
        "flights", key="id STRING", value="carrier STRING, dest STRING, delay BIGINT, air BIGINT"
    )
    by_airline = flights.filter(col("delay") > late).group_by("carrier").materialized("by_airline")
    by_airline.aggregate(flights=count(), total=sum_(total)).to("by-airline")
    return shape_of_topology(topology, tasks)


def test_a_checkpoint_that_has_lost_what_was_committed_is_refused_and_one_that_never_ran_starts(
    tmp_path: Path,
) -> None:
    """Spark starts from an empty checkpoint if its files are missing, and reports nothing."""
    checkpoint = Checkpoint(tmp_path / "app")
    checkpoint.pin("app", StartFacts(shape(), VERSIONS, {}))
    checkpoint.note_commits()
    checkpoint.ensure_fits("app", shape(), {})  # Nothing was committed yet.
    for log in ("offsets", "commits"):
        (checkpoint.spark_dir / log).mkdir(parents=True)
        (checkpoint.spark_dir / log / "0").write_text("v1\n{}")
    (checkpoint.spark_dir / "metadata").write_text('{"id":"q"}')
    checkpoint.note_commits()
    checkpoint.ensure_fits("app", shape(), {})

    shutil.rmtree(checkpoint.spark_dir)

    with pytest.raises(CheckpointDamaged, match=r"spark.* is missing") as refused:
        checkpoint.pin("app", StartFacts(shape(), VERSIONS, {}))
    assert "duolog state reset app" in refused.value.hint
    assert "restores it" in refused.value.hint


def test_the_first_start_fixes_tasks_and_a_later_one_reads_them(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "flights")
    assert checkpoint.pinned_tasks() is None

    checkpoint.pin("flights", StartFacts(shape(), VERSIONS, TOPICS))
    checkpoint.pin("flights", StartFacts(shape(), VERSIONS, TOPICS))

    assert checkpoint.pinned_tasks() == 2
    assert [path.name for path in checkpoint.directory.iterdir()] == ["application.json"]


@pytest.mark.parametrize("logged", [True, False])
def test_an_upgrade_that_recomputes_everything_is_a_reset(tmp_path: Path, *, logged: bool) -> None:
    """The hint said to remove the checkpoint: the next start restored it, and was refused for the same reason."""
    checkpoint = Checkpoint(tmp_path / "flights")
    checkpoint.pin("flights", StartFacts(shape(), VERSIONS, TOPICS, changelog=logged))
    content = checkpoint.file.content()
    assert content is not None
    way = "`duolog state reset flights`"

    with pytest.raises(CheckpointMismatch) as changed:
        checkpoint.ensure_fits("flights", shape(total="air"), TOPICS)
    with pytest.raises(CheckpointMismatch) as older:
        checkpoint.file.ensure_format(content | {"format": 1})

    for caught in (changed, older):
        assert caught.value.hint.endswith(
            f"or run {way} to compute everything again from the topics."
        )


def test_that_records_are_shuffled_is_known_to_later_starts(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    checkpoint.set_shuffles()
    assert not checkpoint.shuffles, "there is nothing to keep it in yet"

    checkpoint.pin("flights", StartFacts(shape(), VERSIONS, TOPICS))
    checkpoint.set_shuffles()
    checkpoint.pin("flights", StartFacts(shape(), VERSIONS, TOPICS | {"weather": "def"}))

    assert Checkpoint(tmp_path).shuffles
    assert checkpoint.topic_ids() == TOPICS | {"weather": "def"}


def test_a_change_that_state_depends_on_is_refused_and_named(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    checkpoint.pin("flights", StartFacts(shape(), VERSIONS, TOPICS))

    with pytest.raises(CheckpointMismatch) as caught:
        checkpoint.pin("flights", StartFacts(shape(total="air"), VERSIONS, TOPICS))

    assert caught.value.detail.startswith(
        'The aggregate of topic "by-airline" computes total differently: its store has count(*), '
        "sum(delay), and would have count(*), sum(air)."
    )
    assert "another application id" in caught.value.hint
    assert "may change" in caught.value.hint


def test_changes_without_effect_on_state_are_allowed(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    checkpoint.pin("flights", StartFacts(shape(), VERSIONS, TOPICS))

    checkpoint.pin("flights", StartFacts(shape(late=60), VERSIONS, TOPICS))

    assert checkpoint.pinned_tasks() == 2


def test_committed_positions_are_those_of_the_last_commit_and_not_of_what_is_planned(
    tmp_path: Path,
) -> None:
    checkpoint = Checkpoint(tmp_path)
    assert checkpoint.committed_positions() == {}
    for kind, numbers in (("commits", (8, 9)), ("offsets", (8, 9, 10))):
        (checkpoint.spark_dir / kind).mkdir(parents=True)
        for number in numbers:
            sources = f'{{"flights":{{"0":{number},"1":70}}}}\n-\n{{"airlines":{{"0":4}}}}'
            (checkpoint.spark_dir / kind / str(number)).write_text(f"v1\n{{}}\n{sources}\n")
    (checkpoint.spark_dir / "commits" / ".9.crc").write_text("")

    assert checkpoint.committed_positions() == {"flights": {0: 9, 1: 70}, "airlines": {0: 4}}
    assert checkpoint.planned_positions() == {"flights": {0: 10, 1: 70}, "airlines": {0: 4}}


def test_a_recreated_source_topic_is_refused(tmp_path: Path) -> None:
    """Records before the old offset used to be skipped without a report."""
    checkpoint = Checkpoint(tmp_path)
    checkpoint.pin("flights", StartFacts(shape(), VERSIONS, TOPICS))

    with pytest.raises(
        SourceTopicRecreated, match='"flights" was deleted and created again'
    ) as caught:
        checkpoint.pin("flights", StartFacts(shape(), VERSIONS, {"flights": "def"}))

    assert "abc" in caught.value.detail
    assert "Run `duolog state reset " in caught.value.hint
    assert checkpoint.topic_ids() == TOPICS


def test_the_id_of_a_topic_is_stored_once_it_is_reported_and_kept(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    for reported in ({}, {"flights": "abc"}, {}, {"airlines": "x"}):
        checkpoint.pin("flights", StartFacts(shape(), VERSIONS, reported))

    assert checkpoint.topic_ids() == {"flights": "abc", "airlines": "x"}


def started(tmp_path: Path, *, offsets: int = 2, commits: int = 1) -> Checkpoint:
    """A checkpoint whose last micro-batch may be planned and not done."""
    checkpoint = Checkpoint(tmp_path)
    checkpoint.pin("flights", StartFacts(shape(), VERSIONS, TOPICS))
    (checkpoint.spark_dir).mkdir()
    (checkpoint.spark_dir / "metadata").write_text('{"id":"x"}')
    for kind, entries in (("offsets", offsets), ("commits", commits)):
        (checkpoint.spark_dir / kind).mkdir()
        for number in range(entries):
            (checkpoint.spark_dir / kind / str(number)).write_text('v1\n{}\n{"flights":{"0":1}}\n-')
    checkpoint.pin("flights", StartFacts(shape(), VERSIONS, TOPICS))
    return checkpoint


@pytest.mark.parametrize("content", ["", "v1\n", 'v1\n{"a', "\x00\x00", "[]"])
@pytest.mark.parametrize(
    ("name", "lost", "hint"),
    [
        ("application.json", "describes the state", "Restore the checkpoint from a backup"),
        ("spark/metadata", "describes the state", "Restore the checkpoint from a backup"),
        ("spark/commits/0", "micro-batch 0 is done", "the micro-batch is computed again"),
        ("spark/offsets/0", "what micro-batch 0 reads", "Restore the checkpoint from a backup"),
        ("spark/offsets/1", "It is not done yet.", "the micro-batch is planned again"),
    ],
)
def test_a_damaged_file_is_named_with_what_is_lost_and_what_to_do(
    tmp_path: Path, name: str, lost: str, hint: str, content: str
) -> None:
    """These used to be Python and Java errors without an explanation."""
    checkpoint = started(tmp_path)
    (tmp_path / name).write_text(content)

    with pytest.raises(CheckpointDamaged) as caught:
        checkpoint.pin("flights", StartFacts(shape(), VERSIONS, TOPICS))
    with pytest.raises(CheckpointDamaged, match=name):  # As an upgrade looks at it.
        checkpoint.ensure_same_topics("flights", TOPICS)

    assert str(tmp_path / name) in caught.value.message
    assert lost in caught.value.detail
    assert hint in caught.value.hint


def test_state_without_its_description_is_refused(tmp_path: Path) -> None:
    checkpoint = started(tmp_path)
    (tmp_path / "application.json").unlink()

    with pytest.raises(CheckpointDamaged, match="is missing"):
        checkpoint.pin("flights", StartFacts(shape(), VERSIONS, TOPICS))


STATE = {"0": [["id-a"], ["id-b"]], "1": [["id-c"], ["id-d"]]}
"""Ids of the stores of each operator's tasks, as Spark puts them into its commit log."""


def complete_checkpoint(tmp_path: Path) -> Checkpoint:
    """Return a checkpoint whose commit 1 names state files, some of them snapshots; micro-batch 2 is planned."""
    checkpoint = started(tmp_path, offsets=3, commits=2)
    entry = json.dumps({"nextBatchWatermarkMs": 0, "stateUniqueIds": STATE})
    (checkpoint.spark_dir / "commits" / "1").write_text(f"v2\n{entry}")
    for operator, tasks in STATE.items():
        for task, (store,) in enumerate(tasks):
            directory = checkpoint.spark_dir / "state" / operator / str(task)
            directory.mkdir(parents=True)
            suffix = "zip" if operator == "1" else "changelog"
            (directory / f"2_{store}.{suffix}").write_text("x")
    return checkpoint


@pytest.mark.parametrize(
    ("name", "lost"),
    [
        ("spark/metadata", "the query of the state"),
        ("spark/offsets/1", "what micro-batch 1 has read"),
        ("spark/commits/1", "micro-batch 1 is done"),
        ("spark/state/0/1/2_id-b.changelog", "state of micro-batch 1"),
        ("spark/state/1/0/2_id-c.zip", "state of micro-batch 1"),
        ("spark/offsets", "what micro-batch 1 has read"),
        ("spark/commits", "micro-batch 1 is done"),
        ("spark/state", "state of micro-batch 1"),
    ],
)
def test_a_checkpoint_that_was_copied_in_part_is_refused_with_what_is_missing(
    tmp_path: Path, name: str, lost: str
) -> None:
    """Spark used to start from the beginning or from older state, and reported nothing."""
    checkpoint = complete_checkpoint(tmp_path)
    checkpoint.pin("flights", StartFacts(shape(), VERSIONS, TOPICS))
    path = tmp_path / name
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()

    with pytest.raises(CheckpointDamaged, match="is missing") as caught:
        checkpoint.pin("flights", StartFacts(shape(), VERSIONS, TOPICS))

    assert str(tmp_path / "spark" / Path(name).parts[1]) in caught.value.message
    assert lost in caught.value.detail


def test_a_missing_commit_next_to_its_checksum_is_refused(tmp_path: Path) -> None:
    """Spark computed the micro-batch again, and could not put it down: `Rename destination … already exists`."""
    checkpoint = complete_checkpoint(tmp_path)
    (checkpoint.spark_dir / "commits" / ".2.crc").write_text("")

    with pytest.raises(CheckpointDamaged, match=r"commits/2.*is missing") as caught:
        checkpoint.pin("flights", StartFacts(shape(), VERSIONS, TOPICS))

    assert "remove .2.crc next to it" in caught.value.hint


def test_state_that_is_empty_is_refused(tmp_path: Path) -> None:
    checkpoint = complete_checkpoint(tmp_path)
    (checkpoint.spark_dir / "state/0/1/2_id-b.changelog").write_text("")

    with pytest.raises(CheckpointDamaged, match=r"2_id-b\.changelog.*is damaged"):
        checkpoint.pin("flights", StartFacts(shape(), VERSIONS, TOPICS))


@pytest.mark.parametrize(("written", "is_read"), [("99.0.1", False), ("3.5.0", True), ("4", True)])
def test_files_of_a_newer_spark_are_refused_by_name(
    tmp_path: Path, written: str, *, is_read: bool
) -> None:
    checkpoint = Checkpoint(tmp_path)
    checkpoint.pin("flights", StartFacts(shape(), {"duolog": "0", "pyspark": written}, TOPICS))

    if is_read:
        checkpoint.ensure_fits("flights", shape(), TOPICS)
    else:
        with pytest.raises(CheckpointMismatch, match=r"was written with Spark 99\.0\.1"):
            checkpoint.ensure_fits("flights", shape(), TOPICS)
