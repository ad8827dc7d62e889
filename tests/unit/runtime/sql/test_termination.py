"""The end of a service: what is deleted, what stays, and what a restart finds."""

import re
from pathlib import Path

import pytest

from duolog.core.errors import KafkaError
from duolog.runtime.sql.command_log.command_topic import CommandTopic
from duolog.runtime.sql.errors import ServiceShared
from duolog.runtime.sql.service import SqlService
from duolog.runtime.sql.statement_runner import StatementRunner
from duolog.testing import EmbeddedCluster
from unit.runtime.sql.fake_queries import FakeStarter
from waiting import wait_until

SQL = (
    "CREATE STREAM {0}orders (id STRING KEY, n INT) "
    "WITH (kafka_topic='{0}orders', value_format='JSON', partitions=1);"
    "CREATE STREAM {0}late WITH (kafka_topic='{0}late') AS SELECT * FROM {0}orders;"
    "CREATE TABLE {0}totals WITH (kafka_topic='{0}totals') AS "
    "SELECT id, COUNT(*) AS n FROM {0}orders GROUP BY id;"
)


def opened(cluster: EmbeddedCluster, service: str, path: Path, starter: FakeStarter) -> SqlService:
    made = SqlService(cluster.bootstrap_servers, data=path, service_id=service, starter=starter)
    made.start()
    return made


def test_queries_end_and_the_topics_of_sinks_that_match_are_deleted(
    cluster: EmbeddedCluster, service: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starter = FakeStarter()
    one = opened(cluster, service, tmp_path, starter)
    list(StatementRunner(one, one.session()).execute(SQL.format(service)))
    assert one.wait_settled(60)
    assert len(starter.running) == 2
    assert any(topic.startswith(f"_duolog-ksql-{service}") for topic in one.topics.partitions())

    pattern = re.compile(f"{service}(late|orders)")
    interrupted: list[str] = []
    one.terminate(
        lambda topic: pattern.fullmatch(topic) is not None, lambda: interrupted.append(one.ending)
    )

    assert one.ending == "TERMINATED"
    assert interrupted == ["TERMINATING"], "new queries are refused before the others end"
    assert all(query.has_ended for query in starter.running.values())
    assert sorted(starter.forgotten) == sorted(starter.checkpoints)
    left = {topic for topic in one.topics.partitions() if service in topic}
    assert left == {f"{service}orders", f"{service}totals"}
    # The topic is not read any more: a missing one is waited for, by all requests.
    monkeypatch.setattr(CommandTopic, "read", lambda _: pytest.fail("the topic is gone"))
    one.follow()
    assert (one.catalog.sources, one.desired()) == ({}, {})
    monkeypatch.undo()
    one.close()

    again = opened(cluster, service, tmp_path, FakeStarter())
    again.follow()
    assert (dict(again.catalog.sources), again.last_command) == ({}, -1)
    again.close()


def test_a_request_that_has_failed_can_be_repeated(
    cluster: EmbeddedCluster, service: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starter = FakeStarter()
    one = opened(cluster, service, tmp_path, starter)
    list(StatementRunner(one, one.session()).execute(SQL.format(service)))
    delete, refused = one.topics.delete, [True]

    def fail_once(name: str) -> None:
        if refused:
            refused.clear()
            raise KafkaError("could not delete a topic", code=41)
        delete(name)

    monkeypatch.setattr(one.topics, "delete", fail_once)
    with pytest.raises(KafkaError):
        one.terminate(lambda topic: topic == f"{service}late", lambda: None)
    assert one.ending == "TERMINATING"
    assert f"_duolog-ksql-{service}_command_topic" in one.topics.partitions()

    one.terminate(lambda topic: topic == f"{service}late", lambda: None)

    assert one.ending == "TERMINATED"
    left = {topic for topic in one.topics.partitions() if service in topic}
    assert left == {f"{service}orders", f"{service}totals"}
    one.close()


def test_a_service_that_another_server_runs_does_not_end(
    cluster: EmbeddedCluster, service: str, tmp_path: Path
) -> None:
    interrupted: list[str] = []
    servers = []
    for name in ("first", "second"):
        made = SqlService(
            cluster.bootstrap_servers,
            data=tmp_path / name,
            service_id=service,
            starter=FakeStarter(),
        )
        made.stand_by(f"{name}:8088")
        wait_until(lambda one=made: one.runs_queries, "a server does not get places")  # type: ignore[misc]
        servers.append(made)
    first, second = servers

    with pytest.raises(ServiceShared, match="other servers run") as refused:
        first.terminate(lambda _: True, lambda: interrupted.append(""))
    assert refused.value.detail == "second:8088."
    assert (first.ending, interrupted, first.runs_queries) == ("", [], True)
    second.close()
    wait_until(lambda: len(first.members()) == 1, "the second server does not leave")

    first.terminate(lambda _: True, lambda: None)

    assert first.ending == "TERMINATED"
    first.close()
