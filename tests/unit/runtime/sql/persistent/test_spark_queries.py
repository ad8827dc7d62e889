"""Facts about queries that are on disk, and starts on an engine without Spark."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

from duolog.engine.errors import ChangelogsDiffer
from duolog.runtime.sql.command_log.desired_query import DesiredQuery
from duolog.runtime.sql.command_log.topics import Topics
from duolog.runtime.sql.persistent import spark_queries
from duolog.runtime.sql.persistent.spark_queries import SparkQueries, SparkQuerySettings
from duolog.runtime.states import KeptState
from unit.runtime.sql.groups.groups import wanted


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


def test_the_changelogs_of_a_query_that_has_run_elsewhere_are_deleted(tmp_path: Path) -> None:
    """They stayed for ever if the query ended while no server ran it."""
    topics = MagicMock()
    topics.partitions.return_value = dict.fromkeys(
        ["p_T_0-sums-changelog", "p_T_0-commits", "p_T_1-sums-changelog", "t"], 1
    )
    queries = SparkQueries(
        "127.0.0.1:1", topics, SparkQuerySettings(data=tmp_path, internal_prefix="p_")
    )
    queries._opened = engine = MagicMock()  # noqa: SLF001 - without Spark
    application = {"shape": {"stores": {"sums": {}}}, "changelog": {"prefix": "p_"}}
    engine.what_is_kept.return_value = MagicMock(application=application)

    queries.forget("T_0")

    deleted = [call.args[0] for call in topics.delete.call_args_list]
    assert deleted == ["p_T_0-sums-changelog", "p_T_0-commits"]
    engine.what_is_kept.reset_mock()
    queries.forget("NEVER_0")
    engine.what_is_kept.assert_not_called()


class _Engine:
    """Starts a plan if the restored state is that of `kept`."""

    def __init__(self, kept: object) -> None:
        self.config = SimpleNamespace(errors=None)
        self.kept = kept
        self.is_restored = False

    def start(self, plan: object, *_: object) -> object:
        if not self.is_restored and plan is not self.kept:
            raise ChangelogsDiffer("the changelogs belong to another topology")
        return plan

    def restore(self, plan: object, application_id: str, *, forced: bool) -> bool:
        assert (application_id, forced) == ("OK_0", False)
        if plan is not self.kept:
            raise ChangelogsDiffer("the changelogs belong to another topology")
        self.is_restored = True
        return True


@pytest.mark.parametrize("kept", [0, 1, 2, None])
def test_a_replaced_query_moves_before_its_state_was_upgraded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: int | None
) -> None:
    """It used to be in state ERROR on its new server."""
    for name in ("ensure_reachable", "trace", "register_process"):
        monkeypatch.setattr(spark_queries, name, MagicMock())
    versions = [_version() for _ in range(3)]
    topics = MagicMock(partitions=MagicMock(return_value=_written_by(versions[2])))
    queries = SparkQueries("127.0.0.1:1", topics, SparkQuerySettings(data=tmp_path))
    plan = None if kept is None else versions[kept].query.planned.plan
    engine = queries._opened = _Engine(plan)  # type: ignore[assignment]  # noqa: SLF001 - without Spark
    moved = replace(versions[2], earlier=(versions[1].query, versions[0].query))

    if kept is None:
        with pytest.raises(ChangelogsDiffer):
            queries.start(moved)
    else:
        assert queries.start(moved) is moved.query.planned.plan  # type: ignore[comparison-overlap]
    assert engine.is_restored == (kept in {0, 1})


def _version() -> DesiredQuery:
    """Return a query with a plan of its own."""
    one = wanted("OK_0", "default")
    planned = replace(one.query.planned, plan=replace(one.query.planned.plan))
    return replace(one, query=replace(one.query, planned=planned))


def _written_by(one: DesiredQuery) -> dict[str, int]:
    return {topic: 1 for sink in one.query.planned.plan.sinks for topic in sink.topics}
