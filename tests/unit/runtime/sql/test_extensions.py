"""Extensions to ksqlDB on a broker: DELETE, headers, several topics, dead letters; without Spark."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from duolog.ksql.errors import SqlError
from duolog.runtime.sql.engine import SqlEngine
from duolog.testing import EmbeddedCluster
from duolog.testing.client import Client
from unit.runtime.sql.fake_queries import FakeStarter, answers_of

Opened = Callable[[], SqlEngine]


@pytest.fixture
def starter() -> FakeStarter:
    return FakeStarter()


@pytest.fixture
def opened(
    cluster: EmbeddedCluster, service: str, starter: FakeStarter, tmp_path: Path
) -> Iterator[Opened]:
    """Opens engines of one service, whose queries run in `starter`."""
    engines: list[SqlEngine] = []

    def open_one() -> SqlEngine:
        engine = SqlEngine(
            cluster.bootstrap_servers, data=tmp_path, service_id=service, starter=starter
        )
        engines.append(engine)
        return engine

    yield open_one
    for engine in engines:
        engine.close()


def test_a_deleted_row_is_gone_and_its_tombstone_is_in_the_topic(
    opened: Opened, service: str, cluster: EmbeddedCluster
) -> None:
    engine = opened()
    topic = f"{service}users"
    declared = f"(name STRING PRIMARY KEY, age INT) WITH (kafka_topic='{topic}', partitions=3, value_format='JSON')"
    answers_of(engine, f"CREATE TABLE users {declared};")
    for name in ("ann", "bob", "eve"):
        answers_of(engine, f"INSERT INTO users VALUES ('{name}', 5);")

    answers_of(engine, "DELETE FROM users WHERE name IN ('ann', 'bob', 'nobody');")
    (left,) = answers_of(engine, "SELECT name FROM users;")
    answers_of(engine, "INSERT INTO users (name, ROWTIME) NULL VALUES KEY ('eve', 1234);")
    (after,) = answers_of(engine, "SELECT name FROM users;")

    assert (left, after) == ([("eve",)], [])
    records = Client(cluster.bootstrap_servers).read(topic)
    gone = sorted((record.key or b"") for record in records if record.value is None)
    assert gone == [b"ann", b"bob", b"eve", b"nobody"]
    assert [r.timestamp_ms for r in records if r.key == b"eve"][-1] == 1234


def test_inserted_headers_are_written_byte_for_byte_and_read_back(
    opened: Opened, service: str, cluster: EmbeddedCluster
) -> None:
    engine = opened()
    columns = "k STRING KEY, n INT, a BYTES HEADER('x-a'), b BYTES HEADER('b')"
    declared = f"({columns}) WITH (kafka_topic='{service}s', partitions=1, value_format='JSON')"
    answers_of(engine, f"CREATE STREAM s {declared};")

    answers_of(engine, "INSERT INTO s (k, n, b, a) VALUES ('1', 1, 'bär', NULL);")
    answers_of(engine, "INSERT INTO s (k, n) VALUES ('2', 2);")

    records = Client(cluster.bootstrap_servers).read(f"{service}s")
    found = [list(record.headers) for record in records]
    assert found == [[("x-a", None), ("b", "bär".encode())], []]
    (rows,) = answers_of(engine, "SELECT k, FROM_BYTES(b, 'utf8'), a FROM s;")
    assert rows == [("1", "bär", None), ("2", None, None)]


def test_several_topics_are_created_and_read_as_one_stream(opened: Opened, service: str) -> None:
    engine = opened()
    topics = [f"{service}orders-{name}" for name in ("eu", "us")]
    form = "value_format='JSON'"
    columns = "(k STRING KEY, n INT)"
    answers_of(
        engine,
        f"CREATE STREAM both {columns} WITH (kafka_topic='{','.join(topics)}', partitions=2, {form});"
        f"CREATE STREAM matched {columns} WITH (topic_pattern='{service}orders-.*', {form});"
        f"CREATE STREAM eu {columns} WITH (kafka_topic='{topics[0]}', {form});"
        f"CREATE STREAM us {columns} WITH (kafka_topic='{topics[1]}', {form});"
        "INSERT INTO eu VALUES ('a', 1); INSERT INTO us VALUES ('b', 2); INSERT INTO us VALUES ('c', 3);",
    )

    for name in ("both", "matched"):
        (rows,) = answers_of(engine, f"SELECT k, ROWTOPIC FROM {name} ORDER BY k;")
        assert rows == [("a", topics[0]), ("b", topics[1]), ("c", topics[1])]
        (counted,) = answers_of(
            engine, f"SELECT ROWTOPIC AS t, SUM(n) FROM {name} GROUP BY ROWTOPIC;"
        )
        assert isinstance(counted, list)
        assert sorted(counted) == [(topics[0], 1), (topics[1], 5)]
    strict = "SET 'ksql.compatibility' = 'strict'; SELECT k, ROWTOPIC FROM eu"
    for statement in (f"{strict};", f"{strict} EMIT CHANGES;"):
        with pytest.raises(SqlError, match="'ROWTOPIC' cannot be resolved"):
            answers_of(engine, statement)
    answers_of(engine, "UNSET 'ksql.compatibility';")
    missing = f"CREATE STREAM x {columns} WITH (kafka_topic='{topics[0]},{service}none', {form});"
    with pytest.raises(SqlError, match=f"Topic '{service}none' does not exist"):
        answers_of(engine, missing)
    answers_of(
        engine, f"CREATE STREAM none {columns} WITH (topic_pattern='{service}no.*', {form});"
    )
    for statement in ("SELECT * FROM none;", "CREATE STREAM o AS SELECT * FROM none;"):
        with pytest.raises(SqlError, match="No topic matches"):
            answers_of(engine, statement)


def test_a_query_begins_at_the_ends_of_all_topics_and_knows_its_dead_letters_later(
    opened: Opened, service: str, starter: FakeStarter
) -> None:
    columns = "(k STRING KEY, n INT)"
    with opened() as engine:
        answers_of(
            engine,
            f"CREATE STREAM a {columns} WITH (kafka_topic='{service}x-a', partitions=1, value_format='JSON');"
            f"CREATE STREAM b {columns} WITH (kafka_topic='{service}x-b', partitions=1, value_format='JSON');"
            f"CREATE STREAM x {columns} WITH (topic_pattern='{service}x-.', value_format='JSON');"
            "INSERT INTO a VALUES ('a', 1); SET 'errors.dead.letter.queue.topic.name' = 'letters';"
            f"CREATE STREAM o WITH (kafka_topic='{service}o') AS SELECT * FROM x;"
            # The topic is there before the query is.
            "CREATE STREAM letters (k STRING KEY) WITH (kafka_topic='letters', value_format='JSON');",
        )
        assert engine.wait_settled(60)

    assert starter.offsets["CSAS_O_0"] == {f"{service}x-a": {0: 1}, f"{service}x-b": {0: 0}}
    with opened() as again:
        facts, *_ = answers_of(again, "EXPLAIN CSAS_O_0;")
    assert isinstance(facts, list)
    assert ("Dead letters", "letters") in facts
