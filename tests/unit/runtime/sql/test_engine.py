import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import MagicMock

import pytest

import waiting
from duolog.ksql.errors import SqlError
from duolog.runtime.sql.answers import Rows
from duolog.runtime.sql.command_log.command_topic import command_topic_of
from duolog.runtime.sql.engine import SqlEngine
from duolog.runtime.sql.errors import CommandDamaged, ServiceInUse
from duolog.runtime.sql.persistent.membership import SESSION_TIMEOUT_S
from duolog.testing import EmbeddedCluster
from duolog.testing.client import Client
from unit.runtime.sql.fake_queries import FakeStarter, answers_of

Opened = Callable[..., SqlEngine]
WAIT_S = 60.0


@pytest.fixture
def starter() -> FakeStarter:
    return FakeStarter()


@pytest.fixture
def opened(
    cluster: EmbeddedCluster, service: str, starter: FakeStarter, tmp_path: Path
) -> Iterator[Opened]:
    """Opens engines of one service, whose queries run in `starter`."""
    engines: list[SqlEngine] = []

    def open_one(directory: str = "data", **properties: str) -> SqlEngine:
        engine = SqlEngine(
            cluster.bootstrap_servers,
            data=tmp_path / directory,
            service_id=service,
            properties=properties,
            starter=starter,
        )
        engines.append(engine)
        return engine

    yield open_one
    for engine in engines:
        engine.close()


def created(service: str) -> str:
    return (
        f"CREATE STREAM s (k STRING KEY, a BIGINT) WITH (kafka_topic='{service}s', partitions=2, value_format='json');"
        f"CREATE STREAM late WITH (kafka_topic='{service}late') AS SELECT * FROM s WHERE a > 3;"
        f"CREATE TABLE totals WITH (kafka_topic='{service}totals') AS SELECT k, SUM(a) AS total FROM s GROUP BY k;"
    )


def ids(rows: object) -> list[object]:
    assert isinstance(rows, list)
    return [row[0] for row in rows]


def test_another_engine_finds_streams_tables_types_and_queries_again(
    opened: Opened, service: str, starter: FakeStarter, tmp_path: Path
) -> None:
    with opened() as engine:
        answers_of(engine, "CREATE TYPE place AS STRUCT<x INT>;" + created(service))
        answers_of(engine, "INSERT INTO late SELECT * FROM s; PAUSE CTAS_TOTALS_1;")
        assert engine.wait_settled(WAIT_S)
        before = answers_of(engine, "SHOW STREAMS; SHOW TABLES; SHOW TYPES; SHOW QUERIES;")
    starter.starts.clear()
    shutil.rmtree(tmp_path / "data", ignore_errors=True)

    with opened("elsewhere") as engine:
        engine.start()
        assert engine.wait_settled(WAIT_S)
        assert answers_of(engine, "SHOW STREAMS; SHOW TABLES; SHOW TYPES; SHOW QUERIES;") == before
    assert ids(before[3]) == ["CSAS_LATE_0", "CTAS_TOTALS_1", "INSERTQUERY_2"]
    assert starter.starts == ["CSAS_LATE_0", "INSERTQUERY_2"], "the paused one stays so"


def test_statements_need_no_pyspark_until_a_query_runs() -> None:
    """The import takes half a second, which is too long for SHOW STREAMS."""
    program = "import sys, duolog.runtime.sql.engine; sys.exit('pyspark' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_query_numbers_are_not_reused(opened: Opened, service: str) -> None:
    with opened() as engine:
        answers_of(engine, created(service) + "TERMINATE ALL;")

    with opened() as engine:
        (message,) = answers_of(engine, "INSERT INTO late SELECT * FROM s;")

    assert message == "Created query with ID INSERTQUERY_2"


def test_a_query_begins_where_its_topics_ended_when_it_was_made_also_on_another_machine(
    opened: Opened, service: str, starter: FakeStarter
) -> None:
    with opened() as engine:
        answers_of(engine, created(service).split(";", 1)[0] + ";")
        answers_of(engine, "INSERT INTO s VALUES ('a', 1);")
        answers_of(engine, created(service).split(";", 1)[1])
        answers_of(engine, "SET 'auto.offset.reset'='earliest'; INSERT INTO late SELECT * FROM s;")
        assert engine.wait_settled(WAIT_S)
        answers_of(engine, "INSERT INTO s VALUES ('a', 1);")
    begun = starter.offsets["CTAS_TOTALS_1"]
    assert sum(begun[f"{service}s"].values()) == 1
    starter.offsets.clear()

    with opened("elsewhere") as engine:
        engine.start()
        assert engine.wait_settled(WAIT_S)

    assert starter.offsets["CTAS_TOTALS_1"] == begun
    assert starter.offsets["INSERTQUERY_2"] == {}


def test_a_second_engine_answers_and_writes_commands_but_runs_nothing(
    opened: Opened, service: str, starter: FakeStarter
) -> None:
    first, second = opened(), opened("other")
    answers_of(first, created(service))
    assert first.wait_settled(WAIT_S)

    with pytest.raises(ServiceInUse):
        second.start()
    answers_of(second, "TERMINATE CTAS_TOTALS_1; INSERT INTO late SELECT * FROM s;")

    assert not second.runs_queries
    supervisor = first.service._queries.supervisor  # noqa: SLF001 - the one that runs them
    assert supervisor is not None
    assert supervisor.wait_until(lambda: "INSERTQUERY_2" in starter.running, WAIT_S)
    assert starter.running["CTAS_TOTALS_1"].has_ended
    assert ids(answers_of(first, "SHOW QUERIES;")[0]) == ["CSAS_LATE_0", "INSERTQUERY_2"]


def test_a_damaged_command_topic_is_refused_with_the_offset(
    opened: Opened, service: str, cluster: EmbeddedCluster
) -> None:
    with opened() as engine:
        answers_of(engine, created(service))
    Client(cluster.bootstrap_servers).produce(command_topic_of(service), None, b"\x00\x01")

    with opened() as engine:
        for text in ("SHOW STREAMS;", "CREATE TYPE t AS INT;", "SHOW STREAMS;"):
            with pytest.raises(CommandDamaged, match="offset 3"):
                answers_of(engine, text)


def test_a_refused_statement_changes_nothing(opened: Opened, service: str) -> None:
    with opened() as engine:
        answers_of(engine, created(service))
        with pytest.raises(SqlError, match="does not exist") as refused:
            answers_of(engine, "SHOW STREAMS;\nCREATE STREAM x AS SELECT b FROM nothing;")
        assert refused.value.at is not None
        assert refused.value.at.line == 2

    with opened() as engine:
        assert ids(answers_of(engine, "SHOW QUERIES;")[0]) == ["CSAS_LATE_0", "CTAS_TOTALS_1"]


def test_topics_are_created_as_declared_and_missing_ones_reported(
    opened: Opened, service: str
) -> None:
    engine = opened()
    with pytest.raises(SqlError, match="PARTITIONS"):
        answers_of(
            engine, f"CREATE STREAM m (a INT) WITH (kafka_topic='{service}m', value_format='json');"
        )

    answers_of(engine, created(service))

    assert engine.topics.partitions()[f"{service}late"] == 2
    with pytest.raises(SqlError, match="different partition"):
        answers_of(
            engine,
            f"CREATE STREAM m (a INT) WITH (kafka_topic='{service}s', partitions=7, value_format='json');",
        )


def test_drop_delete_topic_ends_the_query_first(
    opened: Opened, service: str, starter: FakeStarter
) -> None:
    engine = opened()
    answers_of(engine, created(service))
    assert engine.wait_settled(WAIT_S)

    answers_of(engine, "DROP TABLE totals DELETE TOPIC;")

    assert starter.running["CTAS_TOTALS_1"].has_ended
    assert starter.forgotten == ["CTAS_TOTALS_1"]
    assert f"{service}totals" not in engine.topics.partitions()
    assert f"{service}late" in engine.topics.partitions()


def test_leftovers_of_a_query_dropped_while_no_engine_ran_are_deleted(
    opened: Opened, service: str, starter: FakeStarter
) -> None:
    with opened() as engine:
        answers_of(engine, created(service))
    with opened() as shell:
        shell.service._queries._ask_again_at = float("inf")  # noqa: SLF001 - it runs no queries
        answers_of(shell, "TERMINATE CTAS_TOTALS_1;")
    starter.forgotten.clear()

    opened().start()

    assert starter.forgotten == ["CTAS_TOTALS_1"], "and nothing that another cluster may have"


def test_a_replaced_query_keeps_its_id_and_a_refused_replacement_its_reason(
    opened: Opened, service: str, starter: FakeStarter
) -> None:
    engine = opened()
    answers_of(engine, created(service))
    assert engine.wait_settled(WAIT_S)

    answers_of(
        engine,
        f"CREATE OR REPLACE STREAM late WITH (kafka_topic='{service}late') AS SELECT * FROM s WHERE a > 9;",
    )
    assert engine.wait_settled(WAIT_S)
    with pytest.raises(SqlError, match="Query is not upgradeable"):
        answers_of(
            engine,
            f"SET 'ksql.compatibility' = 'strict'; CREATE OR REPLACE TABLE totals WITH (kafka_topic='{service}totals') AS SELECT k, SUM(a) AS total FROM late GROUP BY k;",
        )

    assert starter.starts.count("CSAS_LATE_0") == 2
    assert starter.forgotten == []
    assert len(answers_of(engine, "SHOW QUERIES;")[0]) == 2  # type: ignore[arg-type]


def test_show_describe_and_explain_include_the_error_of_a_query(
    opened: Opened, service: str, starter: FakeStarter
) -> None:
    starter.refused["CSAS_LATE_0"] = "its checkpoint is damaged"
    engine = opened()
    answers_of(engine, created(service))
    assert engine.wait_settled(WAIT_S)

    shown, *others = answers_of(
        engine, "SHOW QUERIES; DESCRIBE late EXTENDED; EXPLAIN CSAS_LATE_0;"
    )

    assert isinstance(shown, list)
    assert [(row[0], row[2], row[-1]) for row in shown] == [
        ("CSAS_LATE_0", "ERROR", "its checkpoint is damaged"),
        ("CTAS_TOTALS_1", "RUNNING", ""),
    ]
    assert str(others).count("its checkpoint is damaged") == 2


def test_an_engine_that_runs_nothing_shows_the_states_of_the_one_that_does(
    opened: Opened, service: str, starter: FakeStarter
) -> None:
    """Failed queries used to be reported as RUNNING."""
    starter.refused["CSAS_LATE_0"] = "its checkpoint is damaged"
    first, second = opened(), opened("other")
    answers_of(first, created(service) + "PAUSE CTAS_TOTALS_1;")
    assert first.wait_settled(WAIT_S)

    deadline = time.monotonic() + WAIT_S
    second.follow()
    while second.queries()[0].state != "ERROR":
        assert time.monotonic() < deadline, second.queries()
    (shown,) = answers_of(second, "SHOW QUERIES;")
    first.close()
    (behind,) = answers_of(second, "SHOW QUERIES;")

    assert isinstance(shown, list)
    assert isinstance(behind, list)
    assert [(row[0], row[2], row[-1]) for row in shown] == [
        ("CSAS_LATE_0", "ERROR", "its checkpoint is damaged"),
        ("CTAS_TOTALS_1", "PAUSED", ""),
    ]
    assert [(row[2], row[-1]) for row in behind] == [
        ("UNRESPONSIVE", "No engine runs the queries of this service."),
        ("PAUSED", ""),
    ]


def test_a_named_query_dropped_while_no_engine_ran_starts_empty_when_recreated(
    opened: Opened, service: str, starter: FakeStarter
) -> None:
    """It used to continue from the state of the query that had ended."""
    named = "INSERT INTO late WITH (QUERY_ID='mine') SELECT * FROM s;"
    with opened() as engine:
        answers_of(engine, created(service) + named)
        assert engine.wait_settled(WAIT_S)
    with opened() as shell:
        shell.service._queries._ask_again_at = float("inf")  # noqa: SLF001 - it runs no queries
        answers_of(shell, "TERMINATE mine;" + named)
    starter.forgotten.clear()
    starter.checkpoints.clear()

    for _ in range(2):
        with opened() as engine:
            engine.start()
            assert engine.wait_settled(WAIT_S)

    assert [one for one in starter.checkpoints if "MINE" in one] == ["MINE~1", "MINE~1"]
    assert set(starter.forgotten) == {"MINE"}


def test_a_select_requests_topics_only_for_unknown_names(
    opened: Opened, service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each look-up by key asked the broker for all its topics."""
    engine = opened()
    answers_of(engine, created(service) + "INSERT INTO s VALUES ('a', 1);")
    answers_of(engine, "SELECT * FROM s;")
    asked = MagicMock(side_effect=engine.topics.partitions)
    monkeypatch.setattr(engine.topics, "partitions", asked)

    for _ in range(3):
        answers_of(engine, "SELECT * FROM s;")
    assert asked.call_count == 0
    answers_of(
        opened("other"),
        f"CREATE STREAM n (a INT) WITH (kafka_topic='{service}n', partitions=1, value_format='json');",
    )
    answers_of(engine, "SELECT * FROM n;")

    assert asked.call_count == 1


def test_rows_are_not_inserted_into_a_table_that_a_query_writes(
    opened: Opened, service: str
) -> None:
    engine = opened()
    answers_of(engine, created(service))

    with pytest.raises(SqlError, match="query CTAS_TOTALS_1 writes it"):
        answers_of(engine, "INSERT INTO totals VALUES ('a', 1);")


def test_an_abandoned_engine_waits_for_no_owner_and_no_jvm(opened: Opened, service: str) -> None:
    with opened() as engine:
        answers_of(engine, created(service))

    engine = opened()
    engine.give_up()
    with pytest.raises(ServiceInUse):
        engine.start()

    assert not engine.runs_queries


def test_inserted_rows_are_in_the_topic_and_shown_by_print(
    opened: Opened, service: str, cluster: EmbeddedCluster
) -> None:
    engine = opened()
    answers_of(engine, created(service))
    answers_of(
        engine, "INSERT INTO s (k, a, ROWTIME) VALUES ('x', 4, 1234); INSERT INTO s (a) VALUES (5);"
    )

    records = Client(cluster.bootstrap_servers).read(f"{service}s")

    found = sorted((r.key, r.value, r.timestamp_ms == 1234) for r in records if r.key)
    assert found == [(b"x", b'{"A":4}', True)]
    assert len(records) == 2
    (answer,) = engine.execute(f"PRINT '{service}s' FROM BEGINNING LIMIT 2;")
    assert isinstance(answer, Rows)
    assert {(row[1], row[2]) for row in answer} == {("x", '{"A":4}'), ("<null>", '{"A":5}')}


def test_assert_topic_waits_for_the_topic_and_reports_a_missing_one(
    opened: Opened, service: str
) -> None:
    engine = opened()
    answers_of(engine, created(service))

    claims = f"ASSERT TOPIC '{service}s' WITH (partitions=2); ASSERT NOT EXISTS TOPIC '{service}x';"
    assert len(answers_of(engine, claims)) == 2
    with pytest.raises(SqlError, match="does not exist"):
        answers_of(engine, f"ASSERT TOPIC '{service}x' TIMEOUT 1 SECONDS;")
    assert answers_of(engine, f"ASSERT TOPIC '{service}s' WITH (replicas=1);")
    with pytest.raises(SqlError, match="For config replicas, expected 3 got 1"):
        answers_of(engine, f"ASSERT TOPIC '{service}s' WITH (replicas=3) TIMEOUT 1 SECONDS;")


def test_scripts_are_run_from_files(opened: Opened, service: str, tmp_path: Path) -> None:
    engine = opened()
    (tmp_path / "app.sql").write_text(created(service))

    answers_of(engine, f"RUN SCRIPT '{tmp_path / 'app.sql'}';")

    assert sorted(engine.catalog.sources) == ["LATE", "S", "TOTALS"]
    with pytest.raises(SqlError, match="Failed to read file"):
        answers_of(engine, "RUN SCRIPT 'nothing.sql';")
    (tmp_path / "latin.sql").write_bytes("-- grün".encode("latin-1"))
    with pytest.raises(SqlError) as refused:
        answers_of(engine, f"RUN SCRIPT '{tmp_path / 'latin.sql'}';")
    assert 'latin.sql", line 1, is not UTF-8' in refused.value.detail


def test_topics_are_shown_with_replicas_and_those_of_the_service_only_with_all(
    opened: Opened, service: str
) -> None:
    engine = opened()
    answers_of(engine, created(service))

    shown, everything = answers_of(engine, "SHOW TOPICS; SHOW ALL TOPICS EXTENDED;")

    assert (f"{service}s", 2, "1, 1") in shown  # type: ignore[operator]
    assert command_topic_of(service) not in ids(shown)
    assert (f"{service}s", 2, "1, 1", 2, 0) in everything  # type: ignore[operator]
    assert command_topic_of(service) in ids(everything)


@pytest.mark.deep
def test_queries_run_again_after_a_broker_outage_longer_than_a_session(
    starter: FakeStarter, tmp_path: Path
) -> None:
    with (
        EmbeddedCluster(settings={"durability": "os"}) as own,
        SqlEngine(own.bootstrap_servers, data=tmp_path, starter=starter) as engine,
    ):
        answers_of(engine, created("x"))
        assert engine.wait_settled(WAIT_S)

        own.stop()
        time.sleep(2 * SESSION_TIMEOUT_S)
        own.restart()

        waiting.wait_until(
            lambda: engine.runs_queries and (not starter.running["CSAS_LATE_0"].has_ended),
            "it does not happen",
        )
        assert starter.forgotten == []
        assert ids(answers_of(engine, "SHOW QUERIES;")[0]) == ["CSAS_LATE_0", "CTAS_TOTALS_1"]


def test_a_repeated_look_up_follows_the_catalog_and_the_table(opened: Opened, service: str) -> None:
    create = (
        f"CREATE TABLE t (k STRING PRIMARY KEY, {{}}) WITH (kafka_topic='{service}t', "
        "partitions=2, value_format='json');"
    )
    with opened() as engine, opened("other") as other:
        answers_of(engine, create.format("a BIGINT, b STRING"))
        for number in range(6):
            answers_of(engine, f"INSERT INTO t VALUES ('k{number}', {number}, 'b{number}');")
            found = answers_of(engine, f"SELECT a FROM t WHERE k = 'k{number}';")
            assert found == [[(number,)]]
        assert engine.look_up("SELECT a FROM t WHERE k = 'k3';") is not None
        assert engine.look_up("SELECT a FROM t WHERE k = 'k3' EMIT CHANGES LIMIT 1;") is None

        answers_of(other, "DROP TABLE t;")
        with pytest.raises(SqlError, match="T does not exist"):
            answers_of(engine, "SELECT a FROM t WHERE k = 'k1';")
        answers_of(other, create.format("b STRING, a BIGINT"))

        for number in range(6):
            found = answers_of(engine, f"SELECT a FROM t WHERE k = 'k{number}';")
            assert found == [[(number,)]]
