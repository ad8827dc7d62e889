"""Streams and tables shared by topologies and SQL: `sql_declare`, `sql_stream`, `sql_table`."""

import datetime as dt
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import duolog
from duolog import Topology, col, session, tumbling
from duolog.core.errors import StatementError
from duolog.plan.formats import DIALECT, Format
from duolog.plan.nodes import StreamSource, TableSource
from duolog.plan.types import DATE, TIMESTAMP, parts_of
from duolog.plan.windows import Windows
from duolog.runtime.sql import asking, shared
from duolog.runtime.sql.shared import sql_declare, sql_statements, sql_stream, sql_table
from duolog.testing.client import Client
from duolog.testing.cluster import EmbeddedCluster
from duolog.testing.reference import ReferenceEvaluator, SourceRecord

COLUMNS = (
    "count INT, `a b` ARRAY<STRUCT<`select` STRING, N DECIMAL(4,2)>>, tags MAP<STRING, BOOLEAN>"
)
TIMES = "at TIMESTAMP, day DATE"
PLAIN = "who STRING, age BIGINT, weight DOUBLE"


def taken_back(topology: Topology, kind: str, name: str) -> StreamSource | TableSource:
    """Return the source that a topology has of what another one has declared."""
    statements = "\n".join(sql_statements(topology).values())
    take = sql_stream if kind == "stream" else sql_table
    node = take(Topology("other"), name, statements=statements).node
    assert isinstance(node, StreamSource | TableSource)
    return node


def bytes_alike(one: Format, other: Format, *, times: bool) -> bool:
    """Return True if two formats encode alike: the two kinds of JSON do for values without a time or date."""
    if times or one.name != "JSON":
        return one == other
    return {*one.options} - {*other.options} <= {(DIALECT, "ksqldb")} and one.name == other.name


@given(
    value=st.sampled_from([COLUMNS, TIMES, PLAIN, f"{PLAIN}, {TIMES}", "alone INT", "day DATE"]),
    key=st.sampled_from(["id BIGINT", "a INT, b STRING", "day DATE", "`my key` STRING"]),
    value_format=st.sampled_from(["JSON", "DELIMITED"]),
    kind=st.sampled_from(["stream", "table"]),
    windows=st.sampled_from([None, tumbling("90 seconds"), session("5 minutes")]),
)
def test_a_topic_that_is_declared_and_taken_back_is_the_same(
    value: str, key: str, value_format: str, kind: str, windows: Windows | None
) -> None:
    if value == COLUMNS:
        value_format = "JSON"
    if key == "day DATE" and "day" in value:
        key = "id BIGINT"
    topology = Topology("t")
    read = topology.stream if kind == "stream" else topology.table
    read("things", key=key, value=value, value_format=value_format, windowed=windows).print()
    (wanted,) = topology.build().sources

    found = taken_back(topology, kind, "things")

    assert (type(found), found.topic, found.schema) == (type(wanted), "things", wanted.schema)
    for mine, theirs, columns in (
        (found.key_format, wanted.key_format, wanted.schema.inner_key),
        (found.value_format, wanted.value_format, wanted.schema.value),
    ):
        parts = {part for column in columns for part in parts_of(column.type)}
        assert bytes_alike(mine, theirs, times=bool(parts & {TIMESTAMP, DATE}))


def test_results_are_tables_or_streams_and_a_topic_in_both_roles_is_what_writes_it() -> None:
    topology = Topology("t")
    orders = topology.stream("orders", key="id BIGINT", value="city STRING, paid BIGINT")
    orders.filter(col("paid") > 10).to("large-orders")
    by_city = orders.group_by("city").count("n")
    by_city.to("by-city")
    topology.table("by-city", key="city STRING", value="n BIGINT").print()

    made = sql_statements(topology)

    assert {name: text.split(" (")[0] for name, text in made.items()} == {
        "LARGE_ORDERS": "CREATE OR REPLACE STREAM LARGE_ORDERS",
        "BY_CITY": "CREATE OR REPLACE TABLE BY_CITY",
        "ORDERS": "CREATE OR REPLACE STREAM ORDERS",
    }


def test_names_select_topics_and_rename_them() -> None:
    topology = Topology("t")
    topology.stream("orders", key="id BIGINT", value="n BIGINT").to("copy")

    assert list(sql_statements(topology, {"copy": "mine"})) == ["MINE"]
    assert list(sql_statements(topology, {"copy": "`mine`", "orders": "all"})) == ["mine", "ALL"]
    with pytest.raises(StatementError, match='has no topic "other"'):
        sql_statements(topology, {"other": "x"})
    with pytest.raises(StatementError, match='two topics have the name "X" in SQL'):
        sql_statements(topology, {"copy": "x", "orders": "X"})


def test_a_timestamp_is_a_column_in_sql_and_nothing_else() -> None:
    topology = Topology("t")
    topology.stream("a", key=None, value="at BIGINT, n INT", timestamp="at").print()

    assert str(taken_back(topology, "stream", "a").times.of) == "at"

    topology.stream("b", key=None, value="at BIGINT, n INT", timestamp=col("at") * 1000).print()
    with pytest.raises(StatementError, match='topic "b" cannot be declared as a stream in SQL'):
        sql_statements(topology)
    assert list(sql_statements(topology, {"a": "a"})) == ["A"]


def test_headers_delimiters_and_single_values_of_sql_are_kept() -> None:
    made = """
    CREATE STREAM s (k STRING KEY, v INT, t STRING, h ARRAY<STRUCT<key STRING, value BYTES>> HEADERS, x BYTES HEADER('x'))
      WITH (kafka_topic='s', value_format='DELIMITED', value_delimiter='TAB', timestamp='t', timestamp_format='yyyy');
    CREATE STREAM bare (v INT) WITH (kafka_topic='b', value_format='JSON', wrap_single_value=false);
    CREATE TABLE n WITH (kafka_topic='counts') AS SELECT v, COUNT(*) AS n FROM bare WINDOW SESSION (5 MINUTES) GROUP BY v;
    """
    topology = Topology("t")

    stream = sql_stream(topology, "s", statements=made, start="latest")
    bare = sql_stream(topology, "BARE", statements=made).node
    counts = sql_table(topology, "`N`", statements=made).node

    assert str(stream.schema) == (
        "key (K STRING) value (V INT, T STRING, H ARRAY<STRUCT<KEY STRING, VALUE BYTES>>, X BYTES)"
    )
    (source,) = stream.node.parents
    assert isinstance(source, StreamSource)
    assert source.value_format == Format("DELIMITED", (("delimiter", "\t"),))
    assert (source.times.invalid, source.start.kind) == ("skip", "latest")
    assert isinstance(bare, StreamSource)
    assert str(bare.value_format) == "JSON(dialect=ksqldb, single=bare)"
    assert bare.schema.key == ()
    assert isinstance(counts, TableSource)
    assert (counts.topic, counts.schema.window) == ("counts", session("1 s").key)


def test_missing_sources_and_sources_of_the_other_kind_are_refused() -> None:
    made = "CREATE STREAM s (v INT) WITH (kafka_topic='s', value_format='JSON');"

    with pytest.raises(StatementError, match="stream T does not exist in SQL") as missing:
        sql_stream(Topology("t"), "t", statements=made)
    with pytest.raises(StatementError, match="S is a stream in SQL") as other:
        sql_table(Topology("t"), "s", statements=made)

    assert missing.value.detail == "Existing streams and tables: S."
    assert "sql_stream" in other.value.hint


def test_a_result_of_sql_is_the_same_when_a_topology_declares_it() -> None:
    made = """
    CREATE STREAM o (c STRING KEY, v INT) WITH (kafka_topic='o', value_format='JSON');
    CREATE TABLE n AS SELECT c, COUNT(*) AS n FROM o GROUP BY c;
    CREATE TABLE w WITH (kafka_topic='w-t', value_format='DELIMITED', value_delimiter='|')
      AS SELECT c, COUNT(*) AS n FROM o WINDOW HOPPING (SIZE 1 HOUR, ADVANCE BY 1 MINUTE) GROUP BY c;
    """
    topology = Topology("t")
    for name in ("n", "w"):
        sql_table(topology, name, statements=made).print()
    catalog = shared._catalog_of(made)  # noqa: SLF001 - of a broker's otherwise

    alike = {
        name: shared._alike(catalog, name, text)  # noqa: SLF001 - as above
        for name, text in sql_statements(topology).items()
    }

    assert alike == {"N": ["N"], "W_T": ["W"]}


def test_a_lower_case_column_without_quotes_is_suggested() -> None:
    made = "CREATE STREAM s (`user` STRING KEY, v INT) WITH (kafka_topic='s', value_format='JSON');"

    with pytest.raises(StatementError, match="'USER' cannot be resolved") as raised:
        shared._catalog_of(f"{made} CREATE STREAM t AS SELECT user, v FROM s;")  # noqa: SLF001 - as above

    assert raised.value.hint == "Did you mean `user`?"


def visits_topology(name: str) -> Topology:
    topology = Topology(name)
    seen = topology.stream(f"{name}-seen", key="user STRING", value="place STRING, at TIMESTAMP")
    seen.with_columns(day=col("at").cast("DATE")).to_table().to(f"{name}-last")
    return topology


def records_of(cluster: EmbeddedCluster, topic: str) -> list[SourceRecord]:
    found = Client(cluster.bootstrap_servers).read(topic)
    return [SourceRecord(topic, 0, n, 0, one.key, one.value) for n, one in enumerate(found)]


def test_rows_of_sql_go_through_a_topology_and_its_rows_back_to_sql(
    cluster: EmbeddedCluster, service: str, tmp_path: Path
) -> None:
    at_broker = cluster.bootstrap_servers
    ask = partial(duolog.sql, bootstrap=at_broker, service_id=service, data=tmp_path)
    declare = partial(sql_declare, bootstrap=at_broker, service_id=service, data=tmp_path)
    topology = visits_topology(service)
    seen, last = f"{service}-seen", f"{service}-last"
    client = Client(at_broker)
    client.create_topic(seen)
    names = {seen: "seen", last: "last_seen"}
    try:
        assert declare(topology, names) == ["SEEN", "LAST_SEEN"]
        assert declare(topology) == ["LAST_SEEN", "SEEN"]
        ask("INSERT INTO seen (`user`, `place`) VALUES ('ann', 'park')")

        written = ReferenceEvaluator(topology.build()).run(records_of(cluster, seen))
        (out,) = written
        assert out.value == b'{"place":"park","at":null,"day":null}'
        moment = b'{"place":"zoo","at":"2026-01-02T03:04:05.000Z","day":"2026-01-02"}'
        client.produce(last, out.key, out.value)
        client.produce(last, b"bob", moment)

        rows = ask("SELECT * FROM last_seen ORDER BY `user`").rows()
        at = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
        assert rows == [("ann", "park", None, None), ("bob", "zoo", at, dt.date(2026, 1, 2))]
        third = Topology("third")
        taken = sql_table(third, "last_seen", bootstrap=at_broker, service_id=service).node
        assert isinstance(taken, TableSource)
        assert (taken.topic, str(taken.value_format)) == (last, "JSON")
    finally:
        asking._close_all()  # noqa: SLF001 - the broker goes before the process does


def test_a_dialect_is_one_of_two_and_of_json_alone() -> None:
    def made(format_and_dialect: str) -> TableSource | StreamSource:
        text = (
            f"CREATE STREAM s (at DATE) WITH (kafka_topic='s', value_format={format_and_dialect});"
        )
        node = sql_stream(Topology("t"), "s", statements=text).node
        assert isinstance(node, StreamSource)
        return node

    assert str(made("'JSON', value_dialect='duolog', wrap_single_value=false").value_format) == (
        "JSON(single=bare)"
    )
    assert str(made("'JSON', value_dialect='KsqlDB'").value_format) == "JSON(dialect=ksqldb)"
    with pytest.raises(StatementError, match="must be one of: KSQLDB, DUOLOG"):
        made("'JSON', value_dialect='other'")
    with pytest.raises(StatementError, match="DELIMITED does not support the following configs"):
        made("'DELIMITED', value_dialect='DUOLOG'")


def test_a_stream_over_several_topics_is_one_in_a_topology_too() -> None:
    made = """
        CREATE STREAM both (id STRING KEY, n INT) WITH (KAFKA_TOPIC = 'eu,us', VALUE_FORMAT = 'JSON');
        CREATE STREAM matched (id STRING KEY, n INT) WITH (TOPIC_PATTERN = 'orders-.*', VALUE_FORMAT = 'JSON');
    """
    topology = Topology("shop")

    sql_stream(topology, "both", statements=made).to("first")
    sql_stream(topology, "matched", statements=made).to("second")

    sources = [(source.topic, source.is_pattern) for source in topology.build().sources]
    assert sources == [("eu", False), ("us", False), ("orders-.*", True)]
