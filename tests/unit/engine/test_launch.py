"""How Spark queries are started, with a Spark that is played."""

from pathlib import Path
from unittest.mock import MagicMock

import pytest

from duolog.engine.checkpoint import Checkpoint
from duolog.engine.errors import QueryFailed
from duolog.engine.launch import Launcher
from duolog.engine.settings import EngineConfig, ErrorHandling


def test_a_jvm_that_has_gone_before_a_query_starts_is_a_failure_of_ours(tmp_path: Path) -> None:
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
