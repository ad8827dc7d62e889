"""Facts about queries that are on disk, without Spark."""

from pathlib import Path

import pytest

from duolog.runtime.sql.command_log.topics import Topics
from duolog.runtime.sql.persistent.spark_queries import SparkQueries, SparkQuerySettings
from duolog.runtime.states import KeptState


def test_a_query_that_is_restored_has_no_positions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The figures of queries failed with "'int' object has no attribute 'items'"."""
    found = {"rides": {0: 7}}
    monkeypatch.setattr(KeptState, "positions", lambda _: found)
    checkpoint = tmp_path / "checkpoints" / "CTAS_T_0"
    checkpoint.mkdir(parents=True)
    queries = SparkQueries("127.0.0.1:1", Topics("127.0.0.1:1"), SparkQuerySettings(data=tmp_path))
    assert queries.positions("CTAS_T_0") == found
    assert queries.positions("CTAS_OTHER_1") == {}

    (checkpoint / "restoring").touch()

    assert queries.positions("CTAS_T_0") == {}
