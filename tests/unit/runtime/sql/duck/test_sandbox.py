"""Nothing that a client sends reaches files, networks, settings, or the rest of the process."""

import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import pytest
from sqlglot import exp

from duolog.core.errors import DuologError
from duolog.ksql.errors import SqlError
from duolog.ksql.session import SqlSession, parse
from duolog.plan.types import BIGINT
from duolog.runtime.sql.duck.answers import Snapshot, answered
from duolog.runtime.sql.duck.clauses import Query, ResultColumn
from duolog.runtime.sql.duck.interrupting import AnswerLimits
from duolog.runtime.sql.duck.queries import Translator, source_columns
from duolog.runtime.sql.duck.sandbox import connect
from duolog.runtime.sql.duck.tables import DuckTable
from duolog.runtime.sql.tables.materialized_tables import placeholder
from waiting import DEADLINE_S, wait_until

_ROWS = 1_000
_BOMB = "SELECT sum(a.c0 * b.c0 % (c.c0 + 1) + d.c0) AS o0 FROM T AS a, T AS b, T AS c, T AS d"
_COUNT = Query("SELECT count(*) AS o0 FROM T", (ResultColumn("N", BIGINT),))


@pytest.fixture
def database() -> Any:
    session = _session()
    connection = connect()
    table = DuckTable(connection, "T", source_columns(session.catalog.sources["T"]))
    table.add(range(_ROWS), [(at, f"name {at}", "t", 0, 0, at) for at in range(_ROWS)])
    yield connection
    connection.close()


def _session() -> SqlSession:
    session = SqlSession()
    statement = (
        "CREATE TABLE t (id BIGINT PRIMARY KEY, name STRING) "
        "WITH (kafka_topic='t', value_format='JSON');"
    )
    list(session.run(statement))
    return session


def _ask(connection: Any, text: str, limits: AnswerLimits | None = None) -> list[Any]:
    """Answer the text of a client as pull queries do."""
    (node,) = parse(text)
    if not isinstance(node, exp.Query):
        raise SqlError("not a query")
    assert isinstance(node, exp.Expression)
    query = Translator(_session().catalog, lambda source: source.name).query(node)
    return list(answered(connection, query, limits=limits or AnswerLimits()))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('{file}')",
        "SELECT * FROM read_text('{file}')",
        "SELECT * FROM read_blob('{file}')",
        "SELECT * FROM read_json('{file}')",
        "SELECT * FROM '{file}'",
        "SELECT * FROM glob('{folder}/*')",
        "SELECT * FROM read_csv('http://127.0.0.1:1/x')",
        "COPY T TO '{folder}/out.csv'",
        "COPY T FROM '{file}'",
        "EXPORT DATABASE '{folder}/out'",
        "IMPORT DATABASE '{folder}'",
        "ATTACH '{folder}/other.db' AS other",
        "INSTALL httpfs",
        "LOAD '{folder}/x.duckdb_extension'",
        "CREATE PERSISTENT SECRET s (TYPE s3)",
        "PRAGMA enable_logging",
        "SET enable_external_access = true",
        "SET GLOBAL temp_directory = '{folder}'",
        "SET lock_configuration = false",
        "SET GLOBAL allowed_configs = ['temp_directory']",
        "RESET GLOBAL enable_external_access",
        "PRAGMA memory_limit",
        "PRAGMA threads = 64",
        "SET GLOBAL log_query_path = '{folder}/log'",
        "PRAGMA enable_profiling = 'json'",
        "SELECT * FROM variable_of_this_process",
    ],
)
def test_the_database_refuses_to_leave_the_sandbox(database: Any, sql: str, tmp_path: Path) -> None:
    variable_of_this_process = {"a": [1]}
    file = tmp_path / "file.csv"
    file.write_text("secret\n1\n")

    with pytest.raises(duckdb.Error):
        database.cursor().execute(sql.format(file=file, folder=tmp_path))

    assert variable_of_this_process
    assert [path.name for path in tmp_path.iterdir()] == ["file.csv"]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM read_csv('/etc/passwd');",
        "SELECT * FROM '/etc/passwd';",
        "SELECT * FROM `/etc/passwd`;",
        "SELECT * FROM t JOIN read_text('/etc/passwd') x ON true;",
        "SELECT read_text('/etc/passwd') FROM t;",
        "SELECT * FROM duckdb_settings();",
        "SELECT * FROM information_schema.tables;",
        "SELECT * FROM sqlite_master;",
        "SELECT current_setting('memory_limit') FROM t;",
        "SELECT getenv('HOME') FROM t;",
        "SELECT getvariable('x') FROM t;",
        "SELECT query('SELECT 1') FROM t;",
        "SELECT pragma_database_list() FROM t;",
        "SELECT sql_auto_complete('x') FROM t;",
        "SELECT duolog_user_0(id) FROM t;",
        "ATTACH 'x.db' AS x;",
        "COPY t TO 'x.csv';",
        "PRAGMA database_list;",
        "INSTALL httpfs;",
        "LOAD httpfs;",
        "SET memory_limit = '1TB';",
        "CALL pragma_version();",
        "EXPORT DATABASE 'x';",
        "DROP TABLE t; COPY t TO 'x';",
        "WITH RECURSIVE r AS (SELECT id FROM t UNION ALL SELECT id + 1 FROM r) SELECT * FROM r;",
        "WITH r AS (SELECT id FROM t UNION ALL SELECT id + 1 FROM r) SELECT * FROM r;",
        "SELECT id FROM t USING SAMPLE 5;",
        "SELECT COLUMNS('.*') FROM t;",
    ],
)
def test_the_binder_refuses_what_it_does_not_know(database: Any, text: str) -> None:
    with pytest.raises(DuologError):
        _ask(database, text)

    assert _ask(database, "SELECT COUNT(*) FROM t;") == [(_ROWS,)]


@pytest.mark.parametrize(
    "inside",
    ["'; DROP TABLE T; --", "\\'; COPY T TO 'x'; --", "$$; DROP TABLE T; $$", "a\nb\0c", "\\u0027"],
)
def test_texts_and_names_stay_texts_and_names(database: Any, inside: str) -> None:
    quoted = inside.replace("'", "''")
    name = inside.replace("`", "``")

    found = _ask(database, f"SELECT '{quoted}' AS x, name FROM t WHERE id = 7;")
    named = _ask(database, f"SELECT id AS `{name}` FROM t WHERE name <> '{quoted}' LIMIT 1;")

    assert found == [(inside, "name 7")]
    assert len(named) == 1
    assert _ask(database, "SELECT COUNT(*) FROM t;") == [(_ROWS,)]


def test_a_text_is_not_taken_for_a_table() -> None:
    assert placeholder("T") not in "\0T\0"
    assert placeholder("T") == placeholder("T")
    assert placeholder("T") != placeholder("U")


@pytest.mark.parametrize(
    "text",
    [
        (
            "SELECT SUM(a.id * b.id + c.id - d.id) FROM t a JOIN t b ON a.id >= 0 "
            "JOIN t c ON c.id >= 0 JOIN t d ON d.id >= 0;"
        ),
        (
            "SELECT COUNT(*) FROM t a CROSS JOIN t b CROSS JOIN t c CROSS JOIN t d WHERE "
            "a.name || b.name LIKE '%' || c.name || d.name;"
        ),
        (
            "SELECT a.name FROM t a JOIN t b ON a.id >= b.id - 2000 JOIN t c ON c.id >= 0 JOIN t d "
            "ON d.id >= 0 ORDER BY a.name || b.name;"
        ),
    ],
)
def test_a_bomb_ends_at_its_limits(database: Any, text: str) -> None:
    limits = AnswerLimits(timeout_ms=300, memory_bytes_max=200_000_000, rows_max=1_000_000)

    with pytest.raises(SqlError, match=r"300 ms|do not fit into memory|1000000 rows"):
        _ask(database, text, limits)

    assert _ask(database, "SELECT COUNT(*) FROM t;") == [(_ROWS,)]


@pytest.mark.parametrize(
    "call",
    [
        "LPAD(name, 2000000000, 'x')",
        "RPAD(name, 2000000000, 'x')",
        "CONCAT(LPAD(name, 16000000, 'x'), RPAD(name, 16000000, 'x'))",
        "REPLACE(LPAD('', 9000000, 'a'), 'a', 'aaaaaaaaaaaaaaaaaaaaa')",
        "GENERATE_SERIES(1, 2000000000)",
        "GENERATE_SERIES(1, 2000000000, 2)",
        "GENERATE_SERIES(2000000000, 1)",
        "GENERATE_SERIES(CAST(id AS BIGINT), 2000000000)",
        "LPAD('a', 2000000000, 'x')",
        "RPAD('a', 2000000000, 'x')",
    ],
)
def test_a_call_does_not_make_a_huge_value(database: Any, call: str) -> None:
    limits = AnswerLimits(timeout_ms=DEADLINE_S * 1000, memory_bytes_max=1_000_000_000)

    ((found,),) = _ask(database, f"SELECT {call} FROM t WHERE id = 1;", limits)

    size = len(found or "")
    assert size <= 2 * 16 * 1024 * 1024


def test_a_series_over_a_column_takes_no_gigabytes(database: Any) -> None:
    """DuckDB has the series of 2,048 rows at once in memory, whatever its memory limit is."""
    with pytest.raises(SqlError, match="more elements of a row than fit into memory") as refused:
        _ask(database, "SELECT EXPLODE(GENERATE_SERIES(id, 1000000)) FROM t WHERE id < 3;")
    assert "persistent query" in refused.value.hint

    short = "SELECT EXPLODE(GENERATE_SERIES(id, id + 30000)) FROM t WHERE id < 3;"
    assert len(_ask(database, short)) == 3 * 30_001
    constant = "SELECT EXPLODE(GENERATE_SERIES(1, 100000)) FROM t WHERE id = 1;"
    assert len(_ask(database, constant)) == 100_000


def test_deep_nesting_is_an_error_of_the_text(database: Any) -> None:
    with pytest.raises((SqlError, RecursionError)):
        _ask(database, f"SELECT {'(' * 5000}id{')' * 5000} FROM t;")
    with pytest.raises((SqlError, RecursionError)):
        _ask(database, f"SELECT {' + '.join(['id'] * 20_000)} FROM t;")


def test_answers_run_side_by_side(database: Any) -> None:
    bomb = Snapshot(database, ["T"])
    ended: list[BaseException] = []

    def explode() -> None:
        try:
            list(answered(bomb, Query(_BOMB, (ResultColumn("N", BIGINT),))))
        except SqlError as error:
            ended.append(error)

    thread = threading.Thread(target=explode)
    thread.start()

    assert list(answered(database, _COUNT)) == [(_ROWS,)]
    assert not ended

    def interrupted() -> bool:
        with suppress(duckdb.ConnectionException):  # It is closed after its end.
            bomb.cursor.interrupt()
        return not thread.is_alive()

    wait_until(interrupted, "the bomb ends")
    assert "interrupted" in str(ended[0])


def test_a_snapshot_does_not_see_later_changes(database: Any) -> None:
    snapshot = Snapshot(database, ["T"])
    database.execute("DELETE FROM T WHERE c0 < 500")

    assert list(answered(snapshot, _COUNT)) == [(_ROWS,)]
    assert list(answered(database, _COUNT)) == [(_ROWS - 500,)]
