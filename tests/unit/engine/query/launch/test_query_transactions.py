"""The transactions of a query, with a fake kernel."""

from pathlib import Path
from unittest.mock import MagicMock

import pytest
from py4j.protocol import Py4JError

from duolog.engine.checkpoint.checkpoint import Checkpoint, StartFacts
from duolog.engine.errors import QueryFailed
from duolog.engine.exactly_once.epochs import Marker, ensure_goes_on
from duolog.engine.query.launch.launch_context import LaunchContext
from duolog.engine.query.launch.query_transactions import QueryTransactions
from duolog.engine.settings import EngineConfig


def test_an_intentional_new_start_continues_after_commits_under_its_name(
    tmp_path: Path,
) -> None:
    """A second rebuild used to be refused: the marker topic outlives the checkpoint of the first one."""
    share = MagicMock()
    share.kernel.return_value.markers.return_value = '{"epoch": {"query": "first", "epoch": 3}}'
    spec = {"application_id": "app.rebuild", "shuffle_partitions": 1, "sources": []}
    checkpoint = Checkpoint(tmp_path / "app" / "rebuild")
    checkpoint.pin("app.rebuild", StartFacts({"tasks": 1}))
    config = EngineConfig("127.0.0.1:9092", tmp_path, exactly_once=True)
    transactions = QueryTransactions(LaunchContext(share, config, checkpoint, spec))

    transactions.take_over_what_was_begun()
    ensure_goes_on(checkpoint, Marker("first", 3), "app.rebuild-epochs")

    # One that has begun knows what is its own.
    checkpoint.spark_dir.mkdir()
    (checkpoint.spark_dir / "metadata").write_text('{"id": "second"}')
    share.kernel.return_value.markers.return_value = '{"epoch": {"query": "third", "epoch": 9}}'
    transactions.take_over_what_was_begun()
    assert checkpoint.takes_over() == ("first", 3)


def test_an_error_of_the_kernel_fails_the_query(tmp_path: Path) -> None:
    session = MagicMock(log_path=None)
    session.kernel.return_value.markers.side_effect = Py4JError("no broker")
    config = EngineConfig("127.0.0.1:9092", tmp_path, exactly_once=True)
    context = LaunchContext(session, config, Checkpoint(tmp_path), {"application_id": "app"})

    with pytest.raises(QueryFailed, match="no broker"):
        QueryTransactions(context).take_over("query", 1)


def test_results_that_are_written_at_least_once_have_no_transactions(tmp_path: Path) -> None:
    session = MagicMock()
    config = EngineConfig("127.0.0.1:9092", tmp_path)
    context = LaunchContext(session, config, Checkpoint(tmp_path), {"application_id": "app"})
    transactions = QueryTransactions(context)

    transactions.open("real-time", None)
    transactions.take_over_what_was_begun()
    transactions.close()

    session.kernel.assert_not_called()
