"""Several sessions of one service: what they share, and what they do not."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlglot import exp

from duolog.ksql.errors import SqlError
from duolog.ksql.statements.state import SessionState
from duolog.runtime.sql.answers import Message, Rows
from duolog.runtime.sql.service import SqlService
from duolog.runtime.sql.statement_runner import StatementRunner
from duolog.testing import EmbeddedCluster
from unit.runtime.sql.fake_queries import FakeStarter

_CLIENTS = 8
_STATEMENTS = 5
_WAIT_S = 120.0


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


def results(runner: StatementRunner, text: str) -> list[object]:
    return [
        list(answer) if isinstance(answer, Rows) else answer.text for answer in runner.execute(text)
    ]


def test_each_session_has_properties_and_variables_of_its_own(
    shared: SqlService, service: str
) -> None:
    first = StatementRunner(shared, shared.session({"auto.offset.reset": "earliest"}, {"n": "a"}))
    second = StatementRunner(shared, shared.session())

    results(
        first,
        f"CREATE STREAM s (k STRING KEY, ${{n}} INT) WITH (kafka_topic='{service}s', partitions=1);",
    )
    results(second, "SET 'processing.guarantee'='exactly_once_v2'; DEFINE n='other';")

    assert first.session.state.settings["auto.offset.reset"] == "earliest"
    assert second.session.state.settings["auto.offset.reset"] == "latest"
    assert first.session.state.settings["processing.guarantee"] == "at_least_once"
    assert first.session.state.variables == {"N": "a"}
    assert results(second, "DESCRIBE s;") == results(first, "DESCRIBE s;")
    assert [column.name for column in second.catalog.sources["S"].columns] == ["K", "A"]


def test_a_property_with_a_value_that_is_not_allowed_is_an_error_of_the_session(
    shared: SqlService,
) -> None:
    with pytest.raises(SqlError, match=r"Invalid value soon for property 'auto.offset.reset'"):
        shared.session({"auto.offset.reset": "soon"})


def test_a_statement_that_waits_ends_with_the_service(shared: SqlService, service: str) -> None:
    runner = StatementRunner(shared, shared.session())
    looked = threading.Event()
    know = shared.state_for

    def state_for(node: exp.Expression, mine: SessionState) -> SessionState:
        looked.set()
        return know(node, mine)

    shared.state_for = state_for  # type: ignore[method-assign]
    text = f"ASSERT TOPIC '{service}never' TIMEOUT 1 HOURS;"

    def wait() -> None:
        with pytest.raises(SqlError, match="does not exist"):
            results(runner, text)

    waiter = threading.Thread(target=wait, daemon=True)
    waiter.start()
    assert looked.wait(_WAIT_S)

    shared.give_up()
    waiter.join(_WAIT_S)

    assert not waiter.is_alive()


def test_a_statement_can_be_refused_by_the_state_that_it_changes(
    shared: SqlService, service: str
) -> None:
    runner = StatementRunner(shared, shared.session())
    results(runner, f"CREATE STREAM s (a INT) WITH (kafka_topic='{service}s', partitions=1);")
    text = "DROP STREAM s DELETE TOPIC;"
    ((node, _),) = runner.session.read(text)
    asked: list[tuple[set[str], set[str]]] = []

    def refuse(before: SessionState, after: SessionState) -> None:
        asked.append((set(before.catalog.sources), set(after.catalog.sources)))
        raise SqlError("refused")

    with pytest.raises(SqlError, match="refused"):
        shared.change(node, text, runner.session.state.settings, refuse)

    assert asked == [({"S"}, set())]
    assert set(shared.catalog.sources) == {"S"}
    assert f"{service}s" in shared.topics.partitions()


def test_topics_that_a_client_looks_at_do_not_disappear_while_they_are_listed(
    shared: SqlService, service: str
) -> None:
    runner = StatementRunner(shared, shared.session())
    results(runner, f"CREATE STREAM s (a INT) WITH (kafka_topic='{service}s', partitions=1);")
    shared.follow()
    looked_at = runner.catalog.partitions
    assert f"{service}s" in looked_at
    before = dict(looked_at)

    results(runner, f"CREATE STREAM t (a INT) WITH (kafka_topic='{service}t', partitions=1);")
    shared.follow()

    assert looked_at == before
    assert f"{service}t" in runner.catalog.partitions


def test_a_client_that_waits_does_not_stop_the_others(shared: SqlService, service: str) -> None:
    """ASSERT TOPIC waits for its topic, which another client creates meanwhile."""
    waiting = StatementRunner(shared, shared.session())
    found: list[object] = []
    text = f"ASSERT TOPIC '{service}late' TIMEOUT 120 SECONDS;"
    waiter = threading.Thread(target=lambda: found.extend(results(waiting, text)), daemon=True)
    waiter.start()

    creating = StatementRunner(shared, shared.session())
    results(creating, f"CREATE STREAM s (a INT) WITH (kafka_topic='{service}late', partitions=1);")
    waiter.join(_WAIT_S)

    assert found == [f"Topic {service}late exists."]


def test_an_assertion_about_a_schema_waits_for_it(
    shared: SqlService, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = [False, False, True]
    monkeypatch.setattr(
        "duolog.ksql.statements.assertions._schema_exists", lambda *_: outcomes.pop(0)
    )
    runner = StatementRunner(shared, shared.session({"ksql.schema.registry.url": "http://x"}))

    found = results(runner, "ASSERT SCHEMA SUBJECT 'orders-value' TIMEOUT 60 SECONDS;")

    assert found == ["Schema with subject name orders-value exists."]
    assert outcomes == []


def test_clients_that_create_streams_at_once_all_see_all_of_them(
    shared: SqlService, service: str
) -> None:
    failed: list[BaseException] = []
    together = threading.Barrier(_CLIENTS)

    def create(client: int) -> None:
        runner = StatementRunner(shared, shared.session(variables={"client": str(client)}))
        together.wait(_WAIT_S)
        try:
            for number in range(_STATEMENTS):
                name = f"s${{client}}_{number}"
                (made,) = runner.execute(
                    f"CREATE STREAM {name} (a INT) WITH (kafka_topic='{service}{name}', partitions=1);"
                )
                assert made == Message(f"Stream S{client}_{number} created")
                assert f"S{client}_{number}" in runner.catalog.sources
        except BaseException as error:  # noqa: BLE001 - shown by the test
            failed.append(error)

    clients = [threading.Thread(target=create, args=(one,), daemon=True) for one in range(_CLIENTS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join(_WAIT_S)

    assert failed == []
    (rows,) = results(StatementRunner(shared, shared.session()), "SHOW STREAMS;")
    assert isinstance(rows, list)
    assert len(rows) == _CLIENTS * _STATEMENTS


def test_a_topic_of_another_source_is_not_deleted(shared: SqlService, service: str) -> None:
    """The other stream used to lose its records."""
    runner = StatementRunner(shared, shared.session())
    topic = f"kafka_topic='{service}s', partitions=1"
    results(
        runner, f"CREATE STREAM s (a INT) WITH ({topic}); CREATE STREAM t (a INT) WITH ({topic});"
    )

    with pytest.raises(SqlError, match=rf"Found other data sources \(T\) using topic {service}s"):
        results(runner, "DROP STREAM s DELETE TOPIC;")

    assert set(shared.catalog.sources) == {"S", "T"}
    results(runner, "DROP STREAM t; DROP STREAM s DELETE TOPIC;")
    assert f"{service}s" not in shared.topics.partitions()


def test_a_topic_that_gets_another_source_while_it_is_dropped_is_not_deleted(
    shared: SqlService, service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The statement waits until the query of the dropped source has stopped."""
    runner, other = (StatementRunner(shared, shared.session()) for _ in range(2))
    topic = f"kafka_topic='{service}late', partitions=1"
    results(
        runner,
        f"CREATE STREAM s (a INT) WITH (kafka_topic='{service}s', partitions=1);"
        f"CREATE STREAM late WITH ({topic}) AS SELECT * FROM s;",
    )

    def stop(_ended: object) -> None:
        results(other, f"CREATE STREAM kept (a INT) WITH ({topic});")

    monkeypatch.setattr(shared._queries, "wait_stopped", stop)  # noqa: SLF001 - while a query stops
    results(runner, "DROP STREAM late DELETE TOPIC;")

    assert set(shared.catalog.sources) == {"S", "KEPT"}
    assert f"{service}late" in shared.topics.partitions()


def test_only_a_new_source_over_the_same_topic_waits_while_a_topic_is_deleted(
    shared: SqlService, service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All clients used to wait for the broker. The topic of a new source must not be deleted afterwards."""
    runner, other = (StatementRunner(shared, shared.session()) for _ in range(2))
    created = f"CREATE STREAM s (a INT) WITH (kafka_topic='{service}s', partitions=1);"
    results(runner, created)
    begun, may_delete = threading.Event(), threading.Event()
    delete = shared.topics.delete

    def slow(topic: str) -> None:
        begun.set()
        assert may_delete.wait(_WAIT_S)
        delete(topic)

    monkeypatch.setattr(shared.topics, "delete", slow)
    dropping = threading.Thread(target=results, args=(runner, "DROP STREAM s DELETE TOPIC;"))
    dropping.start()
    assert begun.wait(_WAIT_S)

    results(other, f"CREATE STREAM t (a INT) WITH (kafka_topic='{service}t', partitions=1);")
    creating = threading.Thread(target=results, args=(other, created))
    creating.start()
    creating.join(0.5)
    assert creating.is_alive()
    may_delete.set()
    dropping.join(_WAIT_S)
    creating.join(_WAIT_S)

    assert set(shared.catalog.sources) == {"S", "T"}
    assert f"{service}s" in shared.topics.partitions()
