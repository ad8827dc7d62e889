"""How Spark queries are started, with a Spark that is played."""

import threading
import time
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from duolog.engine.checkpoint import Checkpoint
from duolog.engine.errors import QueryFailed
from duolog.engine.launch import Launcher
from duolog.engine.settings import EngineConfig, ErrorHandling

SETTING = "spark.sql.shuffle.partitions"


def test_applications_that_start_at_once_do_not_get_each_others_shuffle_partitions(
    tmp_path: Path,
) -> None:
    """The number is a setting of the session that all share; four starts in five once failed."""
    session: dict[str, int] = {}
    found: dict[int, int] = {}
    share = MagicMock()
    spark = share.spark
    spark.conf.set = session.__setitem__

    def start(tasks: int) -> None:
        spec = {"application_id": f"app-{tasks}", "shuffle_partitions": tasks, "sources": []}
        config = EngineConfig("127.0.0.1:9092", tmp_path)
        Launcher(share, config, Checkpoint(tmp_path), spec).start("micro-batch", {})

    def started(_envelopes: object, spec: str, _options: object) -> MagicMock:
        time.sleep(0.02)  # Time for the others to come between.
        found[int(spec.partition('"shuffle_partitions": ')[2].partition(",")[0])] = session[SETTING]
        return MagicMock()

    share.kernel.return_value.start = started
    threads = [threading.Thread(target=start, args=(tasks,)) for tasks in (1, 2, 3, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == {1: 1, 2: 2, 3: 3, 7: 7}


def test_a_jvm_that_has_gone_before_a_query_starts_is_a_failure_of_ours(tmp_path: Path) -> None:
    share = MagicMock()
    share.spark.conf.set.side_effect = ConnectionRefusedError("no JVM")
    spec = {"application_id": "app", "shuffle_partitions": 1, "sources": []}
    launcher = Launcher(share, EngineConfig("127.0.0.1:9092", tmp_path), Checkpoint(tmp_path), spec)

    with pytest.raises(QueryFailed, match="ConnectionRefusedError"):
        launcher.start("micro-batch", {})


@pytest.mark.parametrize(("taken", "batch_bytes"), [(None, 262144), (10**6, 262144), (1000, 1000)])
def test_a_producer_makes_no_record_batch_that_a_topic_refuses(
    tmp_path: Path, taken: int | None, batch_bytes: int
) -> None:
    """It is split into pieces of the size that was refused, until its time is over: minutes."""
    share = MagicMock()
    given: dict[str, str] = {}
    share.spark.sparkContext._jvm.java.util.HashMap.return_value.put = given.__setitem__  # noqa: SLF001
    spec = {"application_id": "app", "shuffle_partitions": 1, "sources": []}
    launcher = Launcher(share, EngineConfig("127.0.0.1:9092", tmp_path), Checkpoint(tmp_path), spec)

    launcher.start("micro-batch", {}, taken)

    assert given["kafka.batch.size"] == str(batch_bytes)


def test_dead_letters_are_written_too(tmp_path: Path) -> None:
    spec = {"sinks": [{"id": 0, "topic": "out"}]}
    for dead_letters, written in ((None, ["out"]), ("dead", ["out", "dead"])):
        errors = ErrorHandling(dead_letter_topic=dead_letters)
        config = EngineConfig("127.0.0.1:9092", tmp_path, errors=errors)
        launcher = Launcher(MagicMock(), config, Checkpoint(tmp_path), spec)
        assert launcher.written_topics == written
