"""Pull queries over topics of a real broker."""

import json
import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from sqlglot import exp

from duolog.ksql.errors import SqlError
from duolog.ksql.session import SqlSession
from duolog.ksql.session import parse as statements
from duolog.runtime.sql.reply import pull
from duolog.runtime.sql.reply.lookup import lookup_of
from duolog.runtime.sql.tables.materialized_tables import MaterializedTables
from duolog.security.clients.brokers import Brokers
from duolog.testing.cluster import EmbeddedCluster

if TYPE_CHECKING:
    from pathlib import Path

_SOURCES = """
CREATE TABLE riders (id BIGINT PRIMARY KEY, name STRING, home STRUCT<city STRING>, tags ARRAY<STRING>, seen MAP<STRING, INT>)
  WITH (kafka_topic='riders', value_format='JSON');
CREATE TABLE places (area STRING PRIMARY KEY, spot INT PRIMARY KEY, rides BIGINT)
  WITH (kafka_topic='places', format='JSON');
CREATE TABLE hourly (id STRING PRIMARY KEY, rides BIGINT)
  WITH (kafka_topic='hourly', value_format='JSON', window_type='TUMBLING', window_size='1 SECOND');
CREATE TABLE brief (id STRING PRIMARY KEY, n INT) WITH (kafka_topic='brief', value_format='JSON', ttl='10 SECONDS');
CREATE STREAM rides (id BIGINT KEY, km DOUBLE, bike BYTES HEADER('bike'))
  WITH (kafka_topic='rides', value_format='JSON');
"""


class Broker:
    """A minimal engine for pull queries, with a producer."""

    def __init__(self, bootstrap: str) -> None:
        self.session = SqlSession()
        list(self.session.run(_SOURCES))
        self.catalog = self.session.catalog
        self.present = MaterializedTables(Brokers(bootstrap))
        self._producer = Producer({"bootstrap.servers": bootstrap})
        admin = AdminClient({"bootstrap.servers": bootstrap})
        topics = [NewTopic(name, 2, 1) for name in ("riders", "places", "hourly", "brief", "rides")]
        for made in admin.create_topics(topics).values():
            made.result()

    def write(self, topic: str, key: bytes, value: object, at: int = 0, **more: Any) -> None:
        data = None if value is None else json.dumps(value).encode()
        self._producer.produce(topic, key=key, value=data, timestamp=at or 1, **more)

    def flush(self) -> None:
        self._producer.flush()

    def ask(self, text: str) -> list[tuple[object, ...]]:
        self.flush()
        node = _query(text)
        with pull.select(self, node, text) as rows:
            return list(rows)

    def is_lookup(self, text: str) -> bool:
        node = _query(text)
        return lookup_of(node, self.catalog) is not None


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    path: Path = tmp_path_factory.mktemp("pull")
    with EmbeddedCluster(path / "broker") as cluster:
        found = Broker(cluster.bootstrap_servers)
        for number, name in enumerate(["Ann", "Bob", "Cy"], 1):
            value = {"NAME": name, "HOME": {"CITY": "Bonn"}, "TAGS": [name], "SEEN": {"a": number}}
            found.write("riders", _id(number), value, number * 1000)
        for area, spot, rides in (("n", 1, 5), ("n", 2, 7), ("s", 1, 9)):
            found.write(
                "places", json.dumps({"AREA": area, "SPOT": spot}).encode(), {"RIDES": rides}
            )
        for name, start, rides in (("a", 1000, 5), ("a", 2000, 6), ("b", 1000, 1)):
            found.write(
                "hourly", name.encode() + struct.pack(">q", start), {"RIDES": rides}, start + 5
            )
        for number, km in ((1, 1.5), (2, 2.5), (1, 4.0)):
            found.write("rides", _id(number), {"KM": km}, headers=[("bike", b"red")])
        found.flush()
        yield found
        found.present.close()


def _query(text: str) -> exp.Query:
    (node,) = statements(text)
    assert isinstance(node, exp.Query)
    return node


def _id(number: int) -> bytes:
    return struct.pack(">q", number)


def test_a_row_is_looked_up_by_its_key_without_a_database(broker: Broker) -> None:
    text = "SELECT name, ROWTIME, id FROM riders WHERE id = 2;"

    assert broker.is_lookup(text)
    assert broker.ask(text) == [("Bob", 2000, 2)]
    assert broker.ask("SELECT name FROM riders WHERE id = 17;") == []


@pytest.mark.parametrize(
    ("where", "names"),
    [
        ("id IN (3, 1, 99)", ["Cy", "Ann"]),
        ("2 = id", ["Bob"]),
        ("id = 2 AND name = 'Bob'", ["Bob"]),
        ("id = 2 AND name > 'Bob'", []),
        ("id IN (1, 2, 3) AND ROWTIME >= 2000 AND 3000 > ROWTIME", ["Bob"]),
    ],
)
def test_a_lookup_returns_the_rows_of_the_database(
    broker: Broker, where: str, names: list[str]
) -> None:
    asked = f"SELECT name FROM riders WHERE {where};"
    more = f"SELECT name FROM riders WHERE ({where}) OR false ORDER BY name;"

    assert broker.is_lookup(asked)
    assert not broker.is_lookup(more)
    assert [name for (name,) in broker.ask(asked)] == names
    assert [name for (name,) in broker.ask(more)] == sorted(names)


def test_a_lookup_uses_the_first_columns_of_a_key(broker: Broker) -> None:
    assert broker.is_lookup("SELECT * FROM places WHERE spot = 2 AND area = 'n';")
    assert broker.ask("SELECT * FROM places WHERE spot = 2 AND area = 'n';") == [("n", 2, 7)]
    assert broker.is_lookup("SELECT rides FROM places WHERE area = 'n';")
    assert broker.ask("SELECT rides FROM places WHERE area = 'n';") == [(5,), (7,)]
    assert not broker.is_lookup("SELECT rides FROM places WHERE area = 'n' LIMIT 1;")
    assert not broker.is_lookup("SELECT rides FROM places WHERE spot = 1;")


@pytest.mark.parametrize(
    "where",
    [
        "id > 1",
        "id >= 2 AND id < 3",
        "3 >= id AND id > 0 AND name <> 'x'",
        "id > -5 AND name = 'Bob'",
        "id > 2 AND id < 2",
        "id < 9 AND id <= 2 AND ROWTIME > 1000",
    ],
)
def test_a_range_of_keys_returns_the_rows_of_the_database(broker: Broker, where: str) -> None:
    asked = f"SELECT id, name FROM riders WHERE {where};"
    more = f"SELECT id, name FROM riders WHERE ({where}) OR false ORDER BY id;"

    assert broker.is_lookup(asked) == ("<>" not in where)
    assert sorted(broker.ask(asked), key=str) == broker.ask(more)


def test_ranges_of_several_columns_return_the_rows_of_the_database(broker: Broker) -> None:
    for where in ("area > 'm'", "area >= 'n' AND area < 's' AND spot = 2", "area <= 'n'"):
        asked = f"SELECT * FROM places WHERE {where};"
        more = f"SELECT * FROM places WHERE ({where}) OR false ORDER BY area, spot;"
        assert broker.is_lookup(asked)
        assert broker.ask(asked) == broker.ask(more)
    windows = "SELECT * FROM hourly WHERE id >= 'a' AND WINDOWSTART < 2000;"
    assert broker.is_lookup(windows)
    assert broker.ask(windows) == [("a", 1000, 2000, 5), ("b", 1000, 2000, 1)]


def test_a_wide_range_is_left_to_the_database(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duolog.runtime.sql.reply.lookup._RANGE_MAX", 1)

    assert sorted(broker.ask("SELECT id FROM riders WHERE id > 0 AND id < 4;")) == [
        (1,),
        (2,),
        (3,),
    ]
    assert broker.ask("SELECT id FROM riders WHERE id > 9223372036854775806;") == []


def test_windows_of_a_key_are_returned_with_their_bounds(broker: Broker) -> None:
    asked = "SELECT * FROM hourly WHERE id = 'a' AND WINDOWSTART > '1970-01-01T00:00:01';"

    assert broker.is_lookup(asked)
    assert broker.ask(asked) == [("a", 2000, 3000, 6)]
    exact = "SELECT rides FROM hourly WHERE id = 'a' AND WINDOWSTART = {};"
    assert broker.is_lookup(exact.format(2000))
    assert broker.ask(exact.format(2000)) == [(6,)]
    assert broker.ask(exact.format(1500)) == []
    assert broker.ask("SELECT rides FROM hourly WHERE id = 'a' AND WINDOWEND IN (2000, 5);") == [
        (5,)
    ]
    assert broker.ask("SELECT WINDOWEND, ROWTIME FROM hourly WHERE id = 'a';") == [
        (2000, 1005),
        (3000, 2005),
    ]
    assert broker.ask(
        "SELECT WINDOWSTART, SUM(rides) FROM hourly GROUP BY WINDOWSTART ORDER BY 1;"
    ) == [
        (1000, 6),
        (2000, 6),
    ]


def test_a_pull_query_includes_everything_written_before_it(broker: Broker) -> None:
    count = "SELECT COUNT(*), MAX(name) FROM riders;"
    broker.write("riders", _id(50), {"NAME": "Zoe"})
    assert broker.ask(count) == [(4, "Zoe")]

    broker.write("riders", _id(50), {"NAME": "Yan"})
    assert broker.ask(count) == [(4, "Yan")]

    broker.write("riders", _id(50), None)
    assert broker.ask(count) == [(3, "Cy")]
    assert broker.ask("SELECT name FROM riders WHERE id = 50;") == []


def test_expired_rows_are_not_returned(broker: Broker) -> None:
    broker.write("brief", b"a", {"n": 1}, at=1_000, partition=0)
    broker.write("brief", b"b", {"n": 2}, at=2_000, partition=0)
    broker.write("brief", b"c", {"n": 3}, at=1_000, partition=1)
    assert broker.ask("SELECT id, n FROM brief ORDER BY id;") == [("a", 1), ("b", 2), ("c", 3)]

    broker.write("brief", b"d", {"n": 4}, at=11_000, partition=0)

    assert broker.ask("SELECT n FROM brief WHERE id = 'a';") == []
    assert broker.ask("SELECT id, n FROM brief ORDER BY id;") == [("b", 2), ("c", 3), ("d", 4)]


def test_nested_values_are_returned_complete(broker: Broker) -> None:
    rows = broker.ask(
        "SELECT home, tags, seen, home->city, seen['a'] + 1 FROM riders ORDER BY id LIMIT 1;"
    )

    assert rows == [({"CITY": "Bonn"}, ["Ann"], {"a": 1}, "Bonn", 2)]


def test_a_select_over_a_stream_ends_at_the_end_of_its_topic(broker: Broker) -> None:
    rows = broker.ask("SELECT id, km, bike FROM rides ORDER BY km;")
    assert rows == [(1, 1.5, b"red"), (2, 2.5, b"red"), (1, 4.0, b"red")]

    joined = broker.ask(
        "SELECT r.name, SUM(s.km) AS km FROM rides s JOIN riders r ON r.id = s.id GROUP BY r.name ORDER BY km DESC;"
    )
    assert joined == [("Ann", 5.5), ("Bob", 2.5)]


def test_columns_are_returned_with_their_types(broker: Broker) -> None:
    node = _query("SELECT * FROM hourly WHERE id = 'a';")

    with pull.select(broker, node, "") as rows:
        assert rows.columns == (
            ("ID", "STRING"),
            ("WINDOWSTART", "BIGINT"),
            ("WINDOWEND", "BIGINT"),
            ("RIDES", "BIGINT"),
        )


def test_concurrent_pull_queries_do_not_change_a_result(broker: Broker) -> None:
    node = _query("SELECT id FROM riders ORDER BY id;")
    first = pull.select(broker, node, "")
    broker.write("riders", _id(60), {"NAME": "Late"})
    assert broker.ask("SELECT COUNT(*) FROM riders;") == [(4,)]

    assert list(first) == [(1,), (2,), (3,)]
    broker.write("riders", _id(60), None)


def test_a_missing_topic_is_an_error_until_it_exists(broker: Broker) -> None:
    list(
        broker.session.run(
            "CREATE TABLE gone (id INT PRIMARY KEY, v INT) WITH (kafka_topic='gone', value_format='JSON', partitions=1);"
        )
    )

    with pytest.raises(Exception, match="gone"):
        broker.ask("SELECT * FROM gone;")


def test_a_scan_of_a_stream_releases_everything_even_if_unread(broker: Broker) -> None:
    node = _query("SELECT km FROM rides;")

    pull.select(broker, node, "").close()
    with pull.select(broker, node, "") as rows:
        next(iter(rows))

    assert broker.ask("SELECT COUNT(*) FROM rides;") == [(3,)]
    database = broker.present._duck.database  # noqa: SLF001
    tables = database.execute("SHOW TABLES").fetchall()
    assert not [name for (name,) in tables if name.startswith("s")]


def test_strict_refuses_what_ksqldb_refuses(broker: Broker) -> None:
    broker.session.state.settings.given["ksql.compatibility"] = "strict"
    try:
        assert broker.ask("SELECT name FROM riders WHERE id = 2;") == [("Bob",)]
        for text, said in (
            ("SELECT name, COUNT(*) FROM riders GROUP BY name;", "GROUP BY clauses"),
            ("SELECT name FROM riders ORDER BY name;", "line 1:31: Syntax Error"),
            ("SELECT id FROM riders UNION SELECT id FROM riders;", "UNION"),
        ):
            with pytest.raises(SqlError, match=said):
                broker.ask(text)
    finally:
        del broker.session.state.settings.given["ksql.compatibility"]


def test_an_overflowing_sum_wraps_as_in_a_table(broker: Broker) -> None:
    large = 9223372036854775000
    ids = [row[0] for row in broker.ask("SELECT id FROM riders;")]

    found = broker.ask(f"SELECT SUM(id + {large}) FROM riders;")

    total = sum(int(str(one)) + large for one in ids)
    assert found == [((total + 2**63) % 2**64 - 2**63,)]
