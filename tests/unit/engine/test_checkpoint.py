import json
from pathlib import Path

import pytest

from duolog import Topology, col, count, sum_
from duolog.engine.checkpoint import Checkpoint, Json, shape_of
from duolog.engine.errors import CheckpointMismatch
from duolog.plan.levels import find_levels

VERSIONS = {"duolog": "0", "spark": "4"}


def shape(*, total: str = "delay", group: str = "carrier", late: int = 15, tasks: int = 2) -> Json:
    topology = Topology("flights")
    flights = topology.stream(
        "flights", key="id STRING", value="carrier STRING, dest STRING, delay BIGINT, air BIGINT"
    )
    by_airline = flights.filter(col("delay") > late).group_by(group).materialized("by_airline")
    by_airline.aggregate(flights=count(), total=sum_(total)).to("by-airline")
    return shape_of(find_levels(topology.build(), tasks))


def test_the_first_start_fixes_tasks_and_a_later_one_reads_them(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "flights")
    assert checkpoint.pinned_tasks() is None

    checkpoint.pin("flights", shape(), VERSIONS)
    checkpoint.pin("flights", shape(), VERSIONS)

    assert checkpoint.pinned_tasks() == 2
    assert [path.name for path in checkpoint.directory.iterdir()] == ["application.json"]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (shape(tasks=3), "tasks was 2 and is 3."),
        (shape(total="air"), "stores.by_airline.accumulators.sum(delay) BIGINT was "),
        (shape(group="dest"), "stores.by_airline.group was carrier and is dest."),
    ],
)
def test_a_change_that_state_depends_on_is_refused_and_named(
    tmp_path: Path, changed: Json, told: str
) -> None:
    checkpoint = Checkpoint(tmp_path)
    checkpoint.pin("flights", shape(), VERSIONS)

    with pytest.raises(CheckpointMismatch) as caught:
        checkpoint.pin("flights", changed, VERSIONS)

    assert caught.value.detail.startswith(told)
    assert "another application id" in caught.value.hint


def test_what_state_does_not_depend_on_may_change(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    checkpoint.pin("flights", shape(), VERSIONS)

    checkpoint.pin("flights", shape(late=60), VERSIONS)

    assert checkpoint.pinned_tasks() == 2


def test_a_checkpoint_of_a_newer_format_is_refused(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    checkpoint.pin("flights", shape(), VERSIONS)
    path = tmp_path / "application.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 99}))

    with pytest.raises(CheckpointMismatch, match="newer Duolog"):
        checkpoint.pin("flights", shape(), VERSIONS)


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
