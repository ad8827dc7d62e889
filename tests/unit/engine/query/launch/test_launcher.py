"""Launch of Spark queries, with a simulated Spark."""

import json
from pathlib import Path
from unittest.mock import MagicMock

import pytest
from py4j.protocol import Py4JError

from duolog.engine.checkpoint.checkpoint import Checkpoint
from duolog.engine.errors import QueryFailed
from duolog.engine.query.launch.launcher import Launcher
from duolog.engine.query.launch.triggers import Trigger
from duolog.engine.settings import EngineConfig


def test_a_jvm_that_ended_before_a_query_starts_raises_our_own_error(tmp_path: Path) -> None:
    share = MagicMock()
    share.kernel.side_effect = ConnectionRefusedError("no JVM")
    spec = {"application_id": "app", "shuffle_partitions": 1, "sources": []}
    launcher = Launcher(share, EngineConfig("127.0.0.1:9092", tmp_path), Checkpoint(tmp_path), spec)

    with pytest.raises(QueryFailed, match="ConnectionRefusedError"):
        launcher.start("micro-batch", {})


@pytest.mark.parametrize(("taken", "batch_bytes"), [(None, 262144), (10**6, 262144), (1000, 1000)])
def test_a_producer_makes_no_record_batch_that_a_topic_refuses(
    tmp_path: Path, taken: int | None, batch_bytes: int
) -> None:
    """The producer splits a refused batch into pieces of the refused size, until its timeout: for minutes."""
    share = MagicMock()
    given: dict[str, str] = {}
    share.jvm.java.util.HashMap.return_value.put = given.__setitem__
    spec = {"application_id": "app", "shuffle_partitions": 1, "sources": []}
    launcher = Launcher(share, EngineConfig("127.0.0.1:9092", tmp_path), Checkpoint(tmp_path), spec)

    launcher.start("micro-batch", {}, taken)

    assert given["kafka.batch.size"] == str(batch_bytes)


def test_each_spark_query_has_processes_of_its_own_for_processors(tmp_path: Path) -> None:
    """After a failure, the first micro-batch is one that the processes have already seen."""
    share = MagicMock()
    spec = {"application_id": "app", "shuffle_partitions": 1, "sources": [], "run": "r"}
    launcher = Launcher(share, EngineConfig("127.0.0.1:9092", tmp_path), Checkpoint(tmp_path), spec)
    kernel = share.kernel.return_value

    for _ in range(2):
        launcher.start("micro-batch", {})

    reported = [json.loads(call.args[1]) for call in kernel.apply.call_args_list]
    assert reported[0]["run"] == reported[1]["run"]
    assert reported[0]["launch"] != reported[1]["launch"]


@pytest.mark.parametrize(
    ("trigger", "shuffles", "direct"),
    [("micro-batch", False, True), ("micro-batch", True, False), ("real-time", False, False)],
)
def test_records_skip_the_shuffle_in_micro_batches_until_one_is_in_a_wrong_partition(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    trigger: Trigger,
    shuffles: bool,
    direct: bool,
) -> None:
    monkeypatch.setattr(Checkpoint, "shuffles", shuffles)
    share = MagicMock()
    spec = {"application_id": "app", "shuffle_partitions": 1, "sources": []}
    launcher = Launcher(share, EngineConfig("127.0.0.1:9092", tmp_path), Checkpoint(tmp_path), spec)

    launcher.start(trigger, {})

    (call,) = share.kernel.return_value.apply.call_args_list
    assert json.loads(call.args[1])["direct"] == direct


@pytest.mark.parametrize(
    ("trigger", "master", "opened"),
    [
        ("real-time", "local[8]", ["flights"]),
        ("real-time", "spark://host:7077", []),
        ("micro-batch", "local[8]", []),
    ],
)
def test_records_wait_at_gates_in_real_time_if_all_tasks_run_in_one_jvm(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    trigger: Trigger,
    master: str,
    opened: list[str],
) -> None:
    """Tasks in other JVMs would count records that the gates of this JVM do not see."""
    gates = MagicMock()
    monkeypatch.setattr("duolog.engine.query.launch.launcher.Gates", gates)
    monkeypatch.setattr("duolog.engine.query.launch.launcher.SparkSources", MagicMock())
    config = EngineConfig("127.0.0.1:9092", tmp_path, master=master)
    sources = [{"topic": "flights", "table": False}]
    spec = {"application_id": "app", "shuffle_partitions": 1, "nodes": {}, "sources": sources}
    launcher = Launcher(MagicMock(), config, Checkpoint(tmp_path), spec)

    launcher.start(trigger, {})

    found = [topic for call in gates.return_value.open.call_args_list for topic in call.args[0]]
    assert found == opened


@pytest.mark.parametrize("fails", ["TableGate", "CommitTopic", "Transactions", "ProcessorWorkers"])
def test_a_failed_close_releases_the_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    """In a JVM that is still alive, the next start used to fail because the application was thought to run."""
    released: list[Path] = []
    monkeypatch.setattr(
        "duolog.engine.query.launch.launcher.release",
        lambda directory, *_: released.append(directory),
    )
    share = MagicMock()
    kernels: dict[str, MagicMock] = {}
    share.kernel.side_effect = lambda name: kernels.setdefault(name, MagicMock())
    broken = share.kernel(fails)
    broken.close.side_effect = broken.end.side_effect = Py4JError("no room on the disk")
    config = EngineConfig("127.0.0.1:9092", tmp_path, exactly_once=True)

    Launcher(share, config, Checkpoint(tmp_path), {"application_id": "app"}).release()

    assert released == [tmp_path]
    for name in {"TableGate", "CommitTopic", "Transactions"} - {fails}:
        kernels[name].close.assert_called_once()
