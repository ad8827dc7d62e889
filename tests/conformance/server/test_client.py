"""`duolog.connect` against a server in its own process: DB-API, frames, live queries, asyncio."""

import asyncio
import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from itertools import islice
from pathlib import Path

import pytest

import duolog
from conformance.server.processes import SqlServerProcess
from duolog.client import (
    Connection,
    DataError,
    InterfaceError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Row,
)
from duolog.testing import EmbeddedCluster

EARLIEST = {"auto.offset.reset": "earliest"}
WORDS = "CREATE STREAM words (id STRING KEY, n BIGINT) WITH (kafka_topic='words', partitions=2, value_format='json')"


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"durability": "os"}) as one:
        yield one


@pytest.fixture(scope="module")
def server(
    cluster: EmbeddedCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SqlServerProcess]:
    path = tmp_path_factory.mktemp("server")
    with SqlServerProcess(cluster.bootstrap_servers, path, "--service-id", "shared_") as one:
        with connected(one) as connection:
            connection.execute(WORDS)
            connection.insert("words", ({"ID": str(n), "N": n} for n in range(200)))
        yield one


def connected(server: SqlServerProcess) -> Connection:
    host, port = server.address
    return duolog.connect(f"http://{host}:{port}", properties=EARLIEST)


@pytest.fixture
def connection(server: SqlServerProcess) -> Iterator[Connection]:
    with connected(server) as one:
        yield one


def test_every_type_comes_back_as_the_value_that_was_given(connection: Connection) -> None:
    made = connection.execute(
        "CREATE STREAM kinds (id STRING KEY, i INT, n BIGINT, d DOUBLE, p DECIMAL(10, 2), day DATE, t TIME, "
        "at TIMESTAMP, tags ARRAY<STRING>, ok BOOLEAN) "
        "WITH (kafka_topic='kinds', partitions=1, value_format='json')"
    )
    assert made.message == "Stream created"
    assert made.description is None
    at = dt.datetime.fromisoformat("2026-01-02T03:04:05.678")
    given = (
        "it's ${not} a ?\u2028variable", -1, 2**40, 1.5, Decimal("12.30"), dt.date(2026, 1, 31),
        dt.time(10, 15), at, ["a", "b"], True,
    )  # fmt: skip
    places = ", ".join("?" * len(given))

    inserted = connection.cursor().executemany(
        f"INSERT INTO kinds VALUES ({places})",  # noqa: S608 - question marks
        [given, ("empty", *[None] * 9)],
    )
    cursor = connection.execute("SELECT * FROM kinds WHERE n = ? OR id = 'empty'", (2**40,))

    assert inserted.rowcount == 2
    assert [column[:2] for column in cursor.description or ()] == [
        ("ID", "STRING"), ("I", "INTEGER"), ("N", "BIGINT"), ("D", "DOUBLE"), ("P", "DECIMAL(10, 2)"),
        ("DAY", "DATE"), ("T", "TIME"), ("AT", "TIMESTAMP"), ("TAGS", "ARRAY<STRING>"), ("OK", "BOOLEAN"),
    ]  # fmt: skip
    assert sorted(cursor, key=lambda row: str(row.id)) == [("empty", *[None] * 9), given]
    assert cursor.rowcount == 2


def test_inserted_decimals_keep_their_digits(connection: Connection) -> None:
    connection.execute(
        "CREATE STREAM prices (id STRING KEY, p DECIMAL(20, 2), d DOUBLE) "
        "WITH (kafka_topic='prices', partitions=1, value_format='json')"
    )
    price = Decimal("123456789012345678.90")

    count = connection.insert("prices", [{"ID": "a", "P": price, "D": 1.5}, {"ID": "b", "P": None}])

    assert count == 2
    assert sorted(connection.execute("SELECT * FROM prices")) == [
        ("a", price, 1.5),
        ("b", None, None),
    ]


def test_a_cursor_fetches_one_many_and_all(connection: Connection) -> None:
    cursor = connection.execute("SELECT id, n FROM words WHERE n < 10")

    one = cursor.fetchone()
    many = cursor.fetchmany(3)
    rest = cursor.fetchall()

    assert isinstance(one, Row)
    assert len(many) == 3
    assert sorted([one, *many, *rest]) == [(str(n), n) for n in range(10)]
    assert cursor.fetchone() is None
    assert cursor.fetchall() == []


def test_frames_have_the_types_of_the_columns(connection: Connection) -> None:
    query = "SELECT id, n FROM words WHERE n < 3"

    frame = connection.execute(query).fetch_df()
    table = connection.execute(query).fetch_arrow()

    assert sorted(frame["N"].tolist()) == [0, 1, 2]
    assert str(frame["N"].dtype) == "Int64"
    assert [str(field.type) for field in table.schema] == ["string", "int64"]
    assert "<th>ID</th>" in connection.execute(query)._repr_html_()


def test_statements_that_show_something_have_rows(connection: Connection) -> None:
    streams = connection.execute("SHOW STREAMS").fetchall()
    (described,) = connection.execute("DESCRIBE words").fetchall()

    assert {"WORDS"} <= {row["name"] for row in streams}
    assert described["name"] == "WORDS"


@pytest.mark.parametrize("statement", ["SELEC 1", "SELECT nope FROM words", "DROP STREAM missing"])
def test_a_wrong_statement_names_its_error(connection: Connection, statement: str) -> None:
    with pytest.raises(ProgrammingError) as raised:
        connection.execute(statement)

    assert raised.value.code == 40001
    assert raised.value.statement.startswith(statement)


def test_a_refused_row_says_how_many_were_written(connection: Connection) -> None:
    with pytest.raises(DataError) as raised:
        connection.insert("words", [{"ID": "good", "N": 1000}, {"ID": "bad", "N": "many"}])

    assert "written before it: 1" in raised.value.detail


def test_what_streams_do_not_have_is_refused(connection: Connection) -> None:
    connection.commit()
    with pytest.raises(NotSupportedError):
        connection.rollback()
    with pytest.raises(InterfaceError, match="no rows"):
        connection.cursor().fetchone()
    connection.close()
    with pytest.raises(InterfaceError, match="closed"):
        connection.execute("SHOW STREAMS")


def test_a_server_that_is_not_there_is_named() -> None:
    with (
        duolog.connect("http://127.0.0.1:1") as nobody,
        pytest.raises(OperationalError, match=r"no answer from http://127.0.0.1:1"),
    ):
        nobody.execute("SHOW STREAMS")
    with pytest.raises(InterfaceError, match="is not the address"):
        duolog.connect("localhost:8088")


def test_a_live_query_has_a_limit_or_is_closed(connection: Connection) -> None:
    limited = connection.execute("SELECT id FROM words EMIT CHANGES LIMIT 5").fetchall()
    with connection.subscribe("SELECT id, n FROM words EMIT CHANGES") as changes:
        first = list(islice(changes, 20))

    assert len(limited) == 5
    assert len(first) == 20
    assert [column.name for column in changes.columns] == ["ID", "N"]
    assert list(changes) == []


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_a_subscription_continues_after_the_server_was_killed_or_stopped(
    cluster: EmbeddedCluster, tmp_path: Path, end: str
) -> None:
    """Every row comes at least once, and those before the last token only once."""
    servers = cluster.bootstrap_servers
    with (
        SqlServerProcess(servers, tmp_path, "--service-id", f"after_{end}_") as server,
        connected(server) as connection,
    ):
        connection.execute(WORDS.replace("words'", f"after_{end}'"))
        connection.insert("words", ({"ID": str(n), "N": n} for n in range(50)))
        with connection.subscribe("SELECT n FROM words EMIT CHANGES") as changes:
            seen = [row.n for row in islice(changes, 50)]
            getattr(server, end)()
            server.restart()
            with connected(server) as other:
                other.insert("words", ({"ID": str(n), "N": n} for n in range(50, 100)))
            for row in changes:
                seen.append(row.n)
                if len(set(seen)) == 100:
                    break

    assert sorted(set(seen)) == list(range(100))


def test_asyncio_has_the_same_statements_and_live_queries(server: SqlServerProcess) -> None:
    host, port = server.address

    async def scenario() -> tuple[list[Row], list[Row], str]:
        async with duolog.connect_async(f"http://{host}:{port}", properties=EARLIEST) as one:
            cursor = await one.execute("SELECT n FROM words WHERE n = ?", (7,))
            changes = one.subscribe("SELECT n FROM words EMIT CHANGES")
            came = []
            async for change in changes:
                came.append(change)
                if len(came) == 10:
                    break
            await changes.aclose()
            with pytest.raises(ProgrammingError):
                await one.execute("SELECT nope FROM words")
            shown = await one.execute("SHOW TYPES")
            return await cursor.fetchall(), came, shown.message

    found, came, message = asyncio.run(scenario())

    assert found == [(7,)]
    assert len(came) == 10
    assert message == ""
