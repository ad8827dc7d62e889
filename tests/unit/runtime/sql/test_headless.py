import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from duolog.engine.query.reports.progress import Progress
from duolog.ksql.errors import SqlError
from duolog.runtime.broker_watch import BrokerWatch, ProbeResult
from duolog.runtime.sql.engine import SqlEngine
from duolog.runtime.sql.headless import Reporter, apply_script, run_script
from duolog.runtime.sql.persistent.query_supervisor import LiveQuery
from duolog.testing import EmbeddedCluster
from unit.runtime.sql.fake_queries import FakeStarter, answers_of

WAIT_S = 60.0


@pytest.fixture
def starter() -> FakeStarter:
    return FakeStarter()


@pytest.fixture
def engine(
    cluster: EmbeddedCluster, service: str, starter: FakeStarter, tmp_path: Path
) -> Iterator[SqlEngine]:
    with SqlEngine(
        cluster.bootstrap_servers, data=tmp_path / "data", service_id=service, starter=starter
    ) as engine:
        yield engine


def script(service: str, condition: str = "a > 3") -> str:
    return f"""
-- what it reads
SET 'auto.offset.reset' = 'earliest';
CREATE TYPE place AS STRUCT<x INT>;
CREATE STREAM s (k STRING KEY, a BIGINT)
  WITH (kafka_topic='{service}s', partitions=1, value_format='json');
/* what is late */ CREATE STREAM late WITH (kafka_topic='{service}late') AS
  SELECT * FROM s WHERE {condition};
INSERT INTO late SELECT * FROM s;
INSERT INTO late SELECT * FROM s;
"""


def applied(engine: SqlEngine, directory: Path, text: str) -> list[str]:
    path = directory / "app.sql"
    path.write_text(text)
    return list(apply_script(engine, path, set()))


def test_the_second_start_of_a_file_continues_the_first(
    engine: SqlEngine, service: str, tmp_path: Path
) -> None:
    first = applied(engine, tmp_path, script(service))
    second = applied(engine, tmp_path, script(service).replace("SELECT *", "select   *"))

    assert first[-3:] == [
        f"Created query with ID {name}"
        for name in ("CSAS_LATE_0", "INSERTQUERY_1", "INSERTQUERY_2")
    ]
    assert second[-4:] == [
        "S continues",
        "CSAS_LATE_0 continues",
        "INSERTQUERY_1 continues",
        "INSERTQUERY_2 continues",
    ]
    assert len(engine.queries()) == 3


def test_a_changed_statement_replaces_the_old_one_or_reports_the_broken_rule(
    engine: SqlEngine, service: str, starter: FakeStarter, tmp_path: Path
) -> None:
    applied(engine, tmp_path, script(service))
    assert engine.wait_settled(WAIT_S)

    reported = applied(engine, tmp_path, script(service, "a > 9"))

    assert reported[-3] == "Created query with ID CSAS_LATE_0"
    assert "a > 9" in engine.statements()["CSAS_LATE_0"]
    assert engine.wait_settled(WAIT_S)
    assert starter.starts.count("CSAS_LATE_0") == 2
    with pytest.raises(SqlError, match="Cannot upgrade data source"):
        applied(engine, tmp_path, script(service).replace("a BIGINT", "b BIGINT"))


def test_a_terminated_query_starts_again_with_its_file(
    engine: SqlEngine, service: str, tmp_path: Path
) -> None:
    applied(engine, tmp_path, script(service))
    answers_of(engine, "TERMINATE ALL;")

    reported = applied(engine, tmp_path, script(service))

    assert "Created query with ID CSAS_LATE_0" in reported
    assert len(engine.queries()) == 3


def test_statements_that_would_repeat_at_each_start_are_refused(
    engine: SqlEngine, service: str, tmp_path: Path
) -> None:
    with pytest.raises(SqlError, match="INSERT INTO is not allowed in a file") as refused:
        applied(engine, tmp_path, script(service) + "INSERT INTO s VALUES ('a', 1);")

    assert refused.value.at is not None
    assert refused.value.at.line == 11


def test_a_file_runs_until_it_is_stopped_with_a_line_for_each_query(
    engine: SqlEngine, service: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "warm_up", lambda: None)
    answers_of(
        engine,
        f"CREATE STREAM o (a INT) WITH (kafka_topic='{service}o', partitions=1, value_format='json');",
    )
    answers_of(engine, f"CREATE STREAM old WITH (kafka_topic='{service}old') AS SELECT * FROM o;")
    path = tmp_path / "app.sql"
    path.write_text(script(service))
    reported: list[str] = []
    stop = threading.Event()

    def collect(line: str) -> None:
        reported.append(line)
        if "CSAS_LATE_1  RUNNING" in line:
            stop.set()

    run_script(engine, path, collect, every_s=0.1, stop=stop)

    assert "CSAS_OLD_0 is not in app.sql and keeps running; TERMINATE ends it" in reported
    assert "CSAS_LATE_1  RUNNING  0 events/s  lag 3 records" in reported


def test_a_line_shows_events_per_second_and_the_time_left(engine: SqlEngine) -> None:
    now = 0.0
    reporter = Reporter(engine, lambda: now)

    def line(records_in: int, lag: int) -> str:
        progress = Progress("micro-batch", "running", records_in=records_in, lag_records={"t": lag})
        return reporter.line(LiveQuery("Q_1", "RUNNING", progress=progress))

    line(1000, 0)
    now = 2.0
    assert line(5000, 8000) == "Q_1  RUNNING  2,000 events/s  lag 8,000 records, about 4 s"
    assert reporter.line(LiveQuery("Q_2", "ERROR", "no topic\nhint")) == "Q_2  ERROR  no topic"


def test_a_lost_broker_and_its_return_are_reported() -> None:
    found = ["", "h:1: refused", "h:1: refused", "", ""]
    watch = BrokerWatch("h:1", "its queries wait for it", lambda _: ProbeResult(found.pop(0)))

    assert [watch.look() for _ in range(5)] == [
        [],
        ["no broker answers at h:1: h:1: refused; its queries wait for it"],
        [],
        ["a broker answers again at h:1"],
        [],
    ]


def test_stopping_a_file_while_it_starts_cancels_the_start(
    engine: SqlEngine, service: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C waited for the JVM."""
    given_up, stop = threading.Event(), threading.Event()
    monkeypatch.setattr(engine, "warm_up", lambda: None)

    def start() -> None:
        stop.set()
        given_up.wait(WAIT_S)

    monkeypatch.setattr(engine, "start", start)
    monkeypatch.setattr(engine, "give_up", given_up.set)
    path = tmp_path / "app.sql"
    path.write_text(script(service))

    run_script(engine, path, lambda _line: None, stop=stop)

    assert given_up.is_set()
