"""Topics that are being deleted, while other statements run."""

import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from duolog.ksql.errors import SqlError
from duolog.runtime.sql.command_log import topic_deletions
from duolog.runtime.sql.command_log.topic_deletions import TopicDeletions
from duolog.runtime.sql.service import SqlService
from duolog.runtime.sql.statement_runner import StatementRunner
from duolog.testing import EmbeddedCluster
from unit.runtime.sql.fake_queries import FakeStarter
from unit.runtime.sql.test_sessions import results
from waiting import DEADLINE_S


@pytest.fixture
def shared(cluster: EmbeddedCluster, service: str, tmp_path: Path) -> Iterator[SqlService]:
    opened = SqlService(
        cluster.bootstrap_servers,
        data=tmp_path / "data",
        service_id=service,
        properties={"ksql.persistence.default.format.value": "JSON"},
        starter=FakeStarter(),
    )
    yield opened
    opened.close()


@contextmanager
def slow_deletion(shared: SqlService, topic: str) -> Iterator[threading.Event]:
    """Drop a stream whose topic is deleted when the event is set."""
    begun, may_end, delete = threading.Event(), threading.Event(), shared.topics.delete

    def wait(name: str) -> None:
        begun.set()
        assert may_end.wait(DEADLINE_S)
        delete(name)

    shared.topics.delete = wait  # type: ignore[method-assign]
    run(shared, f"CREATE STREAM s (a INT) WITH (kafka_topic='{topic}', partitions=1);")
    with ThreadPoolExecutor(1) as pool:
        dropped = pool.submit(run, shared, "DROP STREAM s DELETE TOPIC;")
        try:
            assert begun.wait(DEADLINE_S)
            yield may_end
        finally:
            may_end.set()
        dropped.result(DEADLINE_S)


def run(shared: SqlService, text: str) -> None:
    results(StatementRunner(shared, shared.session()), text)


def test_a_statement_that_waits_for_a_deletion_does_not_stop_others(
    shared: SqlService, service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting, ensure_gone = threading.Event(), TopicDeletions.ensure_gone
    topic = f"{service}s"

    def noted(self: TopicDeletions, topics: Iterable[str]) -> None:
        try:
            ensure_gone(self, topics)
        except Exception:
            waiting.set()
            raise

    monkeypatch.setattr(TopicDeletions, "ensure_gone", noted)
    with slow_deletion(shared, topic) as may_end, ThreadPoolExecutor(1) as pool:
        again = pool.submit(
            run, shared, f"CREATE STREAM t (a INT) WITH (kafka_topic='{topic}', partitions=3);"
        )
        assert waiting.wait(DEADLINE_S)

        run(shared, f"CREATE STREAM u (a INT) WITH (kafka_topic='{service}u', partitions=1);")
        assert not again.done()
        assert set(shared.catalog.sources) == {"U"}

        may_end.set()
        again.result(DEADLINE_S)

    assert set(shared.catalog.sources) == {"T", "U"}
    assert shared.topics.partitions()[topic] == 3, "it was created after the deletion"


def test_a_topic_that_is_not_deleted_in_time_is_reported(
    shared: SqlService, service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topic_deletions, "_WAIT_S", 0.0)
    topic = f"{service}s"

    with (
        slow_deletion(shared, topic),
        pytest.raises(SqlError, match=f"Topic '{topic}' is still being deleted"),
    ):
        run(shared, f"CREATE STREAM t (a INT) WITH (kafka_topic='{topic}', partitions=1);")

    assert not shared.catalog.sources
