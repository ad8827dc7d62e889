"""Plans as an engine would run them, from fake topics: no broker, no JVM."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from unittest.mock import MagicMock

from duolog import Topology, count
from duolog.engine.planner import Planner
from duolog.engine.settings import EngineConfig

if TYPE_CHECKING:
    from duolog.engine.checkpoint.checkpoint import Checkpoint
    from duolog.plan.nodes import Plan


def counting() -> "Plan":
    topology = Topology("counts")
    visits = topology.stream("visits", key="page STRING", value="n BIGINT")
    visits.group_by_key().aggregate(c=count()).to("out")
    return topology.build()


def planner(directory: Path, known: dict[str, int] | None, tasks: int = 0) -> Planner:
    topics = MagicMock()
    topics.known_partition_counts.return_value = known
    return Planner(EngineConfig("127.0.0.1:1", directory, tasks=tasks), topics)


def pinned_to(tasks: int | None) -> "Checkpoint":
    return cast("Checkpoint", cast("Any", MagicMock(pinned_tasks=lambda: tasks)))


def test_the_checkpoint_decides_on_the_tasks_then_the_setting_then_the_topics(
    tmp_path: Path,
) -> None:
    with_setting, without = (planner(tmp_path, {}, tasks) for tasks in (3, 0))
    counts = {"visits": 5, "other": 2}

    tasks = [
        with_setting.levels(counting(), pinned_to(7), counts).tasks,
        with_setting.levels(counting(), pinned_to(None), counts).tasks,
        without.levels(counting(), pinned_to(None), counts).tasks,
        without.levels(counting(), pinned_to(None), {}).tasks,
    ]

    assert tasks == [7, 3, 5, 1]


def test_a_plan_is_lowered_though_no_broker_answers(tmp_path: Path) -> None:
    lowered = planner(tmp_path, None).lower_without_topics(counting(), "counts")

    assert (lowered.levels.tasks, dict(lowered.counts)) == (1, {})
    assert lowered.spec["application_id"] == "counts"
