import json
from pathlib import Path

import pytest

from duolog import Topology, col, count, sum_
from duolog.engine.checkpoint import Checkpoint, Json
from duolog.engine.errors import CheckpointMismatch
from unit.engine.shapes import shape_of_topology

VERSIONS = {"duolog": "0", "spark": "4"}


def shape(*, total: str = "delay", late: int = 15, tasks: int = 2) -> Json:
    topology = Topology("flights")
    flights = topology.stream(
        "flights", key="id STRING", value="carrier STRING, dest STRING, delay BIGINT, air BIGINT"
    )
    by_airline = flights.filter(col("delay") > late).group_by("carrier").materialized("by_airline")
    by_airline.aggregate(flights=count(), total=sum_(total)).to("by-airline")
    return shape_of_topology(topology, tasks)


def test_the_first_start_fixes_tasks_and_a_later_one_reads_them(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "flights")
    assert checkpoint.pinned_tasks() is None

    checkpoint.pin("flights", shape(), VERSIONS)
    checkpoint.pin("flights", shape(), VERSIONS)

    assert checkpoint.pinned_tasks() == 2
    assert [path.name for path in checkpoint.directory.iterdir()] == ["application.json"]


def test_a_change_that_state_depends_on_is_refused_and_named(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    checkpoint.pin("flights", shape(), VERSIONS)

    with pytest.raises(CheckpointMismatch) as caught:
        checkpoint.pin("flights", shape(total="air"), VERSIONS)

    assert caught.value.detail.startswith(
        'Store "by_airline": what it keeps was count(*), sum(delay) and is count(*), sum(air).'
    )
    assert "another application id" in caught.value.hint
    assert "may change" in caught.value.hint


def test_what_state_does_not_depend_on_may_change(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    checkpoint.pin("flights", shape(), VERSIONS)

    checkpoint.pin("flights", shape(late=60), VERSIONS)

    assert checkpoint.pinned_tasks() == 2


@pytest.mark.parametrize(("found", "told"), [(99, "a newer Duolog"), (1, "an older Duolog")])
def test_a_checkpoint_of_another_format_is_refused_by_name(
    tmp_path: Path, found: int, told: str
) -> None:
    checkpoint = Checkpoint(tmp_path)
    checkpoint.pin("flights", shape(), VERSIONS)
    path = tmp_path / "application.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": found}))

    with pytest.raises(CheckpointMismatch, match=told):
        checkpoint.pin("flights", shape(), VERSIONS)
    with pytest.raises(CheckpointMismatch, match=told):
        checkpoint.pinned_tasks()


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
