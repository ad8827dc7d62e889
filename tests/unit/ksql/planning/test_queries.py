"""Queries over one source: select items, refusals, and results."""

import json

import pytest

from duolog.engine.lowering.lower import lower
from duolog.ksql.catalog.catalog import SourceWindow
from duolog.ksql.errors import SqlError
from duolog.ksql.planning.planner import Planned
from duolog.ksql.session import SqlSession
from duolog.ksql.settings import LIMIT, RANGE_SCAN, TABLE_SCAN
from duolog.plan.cutting.levels import find_levels
from duolog.plan.expressions import Call
from duolog.plan.nodes import Repartition, SetTime, StreamSource, ToTable
from duolog.testing.reference import ReferenceEvaluator, SourceRecord

BEGIN = """
    CREATE STREAM rides (id INT KEY, city STRING, km INT, tags ARRAY<STRING>, codes ARRAY<INT>,
        at STRUCT<street STRING, n INT>, sent BIGINT, left MAP<STRING, INT>)
        WITH (kafka_topic='rides', format='JSON');
    CREATE STREAM loose (a INT, b STRING) WITH (kafka_topic='loose', value_format='JSON');
    CREATE STREAM pages (id INT KEY, H ARRAY<STRUCT<key STRING, value BYTES>> HEADERS, n INT)
        WITH (kafka_topic='pages', value_format='JSON');
    CREATE STREAM visits (id INT KEY, n INT)
        WITH (kafka_topic='visits', value_format='JSON', window_type='TUMBLING', window_size='1 SECOND');
    CREATE TABLE cities (name STRING PRIMARY KEY, land STRING, people INT)
        WITH (kafka_topic='cities', value_format='JSON');
""".replace("left MAP", "`left` MAP")


def planned(query: str) -> Planned:
    """Return the plan of a statement."""
    *_, done = SqlSession().run(BEGIN + query)
    assert done.query is not None
    return done.query.planned


def columns(query: str) -> str:
    return ", ".join(map(str, planned(query).columns))


Given = tuple[object, object, int]
"""Key and value as JSON, and a timestamp."""


def run(query: str, *given: Given, topic: str = "rides") -> list[tuple[object, object, int]]:
    """Return what a query writes for these records, key and value as JSON."""
    evaluator = ReferenceEvaluator(planned(query).plan)
    records = [
        SourceRecord(topic, 0, offset, at, _bytes(key), _bytes(value))
        for offset, (key, value, at) in enumerate(given)
    ]
    return [
        (_read(one.key), _read(one.value), one.timestamp_ms)
        for record in records
        for one in evaluator.run([record])
    ]


def _bytes(value: object) -> bytes | None:
    return None if value is None else json.dumps(value).encode()


def _read(data: bytes | None) -> object:
    return None if data is None else json.loads(data)


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("SELECT id, km, km + 1, at->street FROM rides",
         "`ID` INTEGER KEY, `KM` INTEGER, `KSQL_COL_0` INTEGER, `STREET` STRING"),
        ("SELECT km AS id, id AS ride FROM rides", "`RIDE` INTEGER KEY, `ID` INTEGER"),
        ("SELECT id, at->* FROM rides", "`ID` INTEGER KEY, `STREET` STRING, `N` INTEGER"),
        ("SELECT r.* FROM loose r", "`A` INTEGER, `B` STRING"),
        ("SELECT * FROM loose PARTITION BY b", "`B` STRING KEY, `A` INTEGER"),
        ("SELECT *, 1 AS one FROM loose PARTITION BY a + 1",
         "`KSQL_COL_0` INTEGER KEY, `A` INTEGER, `B` STRING, `ONE` INTEGER"),
        ("SELECT city, km, id FROM rides PARTITION BY id, city",
         "`ID` INTEGER KEY, `CITY` STRING KEY, `KM` INTEGER"),
        ("SELECT km, id FROM rides PARTITION BY NULL", "`KM` INTEGER, `ID` INTEGER"),
        ("SELECT id, ROWTIME AS t, ROWPARTITION AS p, ROWOFFSET AS o FROM rides",
         "`ID` INTEGER KEY, `T` BIGINT, `P` INTEGER, `O` BIGINT"),
        ("SELECT id, WINDOWSTART AS since, n FROM visits",
         "`ID` INTEGER KEY, `SINCE` BIGINT, `N` INTEGER"),
        ("SELECT * FROM pages",
         "`ID` INTEGER KEY, `N` INTEGER, `H` ARRAY<STRUCT<`KEY` STRING, `VALUE` BYTES>>"),
        ("SELECT * FROM pages PARTITION BY n",
         "`N` INTEGER KEY, `H` ARRAY<STRUCT<`KEY` STRING, `VALUE` BYTES>>, `ID` INTEGER"),
        ("SELECT id, EXPLODE(tags) AS tag, EXPLODE(codes) FROM rides",
         "`ID` INTEGER KEY, `TAG` STRING, `KSQL_COL_0` INTEGER"),
        ("SELECT id, CUBE_EXPLODE(codes) AS c FROM rides", "`ID` INTEGER KEY, `C` ARRAY<INTEGER>"),
    ],
)  # fmt: skip
def test_a_stream_has_the_columns_that_are_selected(query: str, wanted: str) -> None:
    assert columns(f"CREATE STREAM made AS {query};") == wanted


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("SELECT COUNT(*) AS n, city FROM rides GROUP BY city", "`CITY` STRING KEY, `N` BIGINT"),
        ("SELECT km, city, COUNT(*), km + 1 FROM rides GROUP BY city, km",
         "`CITY` STRING KEY, `KM` INTEGER KEY, `KSQL_COL_0` BIGINT, `KSQL_COL_1` INTEGER"),
        ("SELECT r.at->n AS house, COUNT(*) + 1 AS n FROM rides r GROUP BY at->n",
         "`HOUSE` INTEGER KEY, `N` BIGINT"),
        ("SELECT city, WINDOWEND AS until, COUNT(*) AS n FROM rides WINDOW SESSION (1 MINUTE) GROUP BY city",
         "`CITY` STRING KEY, `UNTIL` BIGINT, `N` BIGINT"),
        ("SELECT land, COUNT(*) AS n FROM cities GROUP BY land HAVING COUNT(*) > 1",
         "`LAND` STRING KEY, `N` BIGINT"),
        ("SELECT city, TRANSFORM(ARRAY[COUNT(*)], n => n + km) AS n, km FROM rides GROUP BY city, km",
         "`CITY` STRING KEY, `KM` INTEGER KEY, `N` ARRAY<BIGINT>"),
        ("SELECT name, ROWOFFSET AS o FROM cities", "`NAME` STRING KEY, `O` BIGINT"),
    ],
)  # fmt: skip
def test_a_table_has_the_columns_that_are_selected(query: str, wanted: str) -> None:
    assert columns(f"CREATE TABLE made AS {query};") == wanted


@pytest.mark.parametrize(
    ("query", "expected_message"),
    [
        ("SELECT km FROM rides", "must include the key column ID in its projection (eg, SELECT ID...)."),
        ("SELECT id, id AS other, km FROM rides",
         "The projection contains a key column (`ID`) more than once, aliased as: ID and OTHER."),
        ("SELECT id FROM rides", "The projection contains no value columns."),
        ("SELECT id, km AS n, city AS n FROM rides", "Duplicate value columns found in schema: `N` STRING"),
        ("SELECT id, NULL AS n FROM rides", "Can't infer a type of null."),
        ("SELECT id, ROWTIME FROM rides", "Reserved column name in select: `ROWTIME`. Please remove or alias the column."),
        ("SELECT id, km AS ROWOFFSET FROM rides",
         "`ROWOFFSET` is a reserved column name. You cannot use it as an alias for a column."),
        ("SELECT id, WINDOWSTART FROM visits", "Reserved column name in select: `WINDOWSTART`."),
        ("SELECT id, x.* FROM rides r", "'X' is not a valid stream/table name or alias."),
        ("SELECT id, r.colour FROM rides r", "SELECT column 'R.COLOUR' cannot be resolved."),
        ("SELECT id, km FROM rides WHERE colour = 'red'", "WHERE column 'COLOUR' cannot be resolved."),
        ("SELECT id, km AS far FROM rides PARTITION BY far",
         "PARTITION BY column 'FAR' cannot be resolved. 'FAR' must be a column in the source schema"),
        ("SELECT id, city FROM rides PARTITION BY city, km",
         "must include the partitioning expressions CITY and KM in its projection (eg, SELECT CITY, KM...)."),
        ("SELECT * FROM rides PARTITION BY `left`", "Key column name: `left`. Column type: MAP<STRING, INTEGER>."),
        ("SELECT * FROM rides WINDOW TUMBLING (SIZE 1 HOUR)", "WINDOW clause requires a GROUP BY clause."),
        ("SELECT id, EXPLODE(km) AS n FROM rides", "Function 'explode' does not accept parameters (INTEGER)."),
        ("SELECT id, CASE WHEN km > 1 THEN EXPLODE(tags) END AS n FROM rides", "Table functions cannot be used in CASE: EXPLODE("),
        ("SELECT id, EXPLODE(EXPLODE(tags)) AS n FROM rides", "Table functions cannot be nested"),
        ("SELECT id, km FROM rides EMIT FINAL", "EMIT FINAL is only supported for windowed aggregations."),
    ],
)  # fmt: skip
def test_invalid_stream_queries_are_refused(query: str, expected_message: str) -> None:
    with pytest.raises(SqlError) as caught:
        planned(f"CREATE STREAM made AS {query};")
    assert expected_message in caught.value.message


@pytest.mark.parametrize(
    ("query", "expected_message"),
    [
        ("SELECT city, km, COUNT(*) FROM rides GROUP BY city",
         "Non-aggregate SELECT expression(s) not part of GROUP BY: KM"),
        ("SELECT city, km + 1, id, COUNT(*) FROM rides GROUP BY city",
         "Non-aggregate SELECT expression(s) not part of GROUP BY: (KM + 1), ID\nEither add the column(s)"),
        ("SELECT city, COUNT(*) + sent FROM rides GROUP BY city",
         "outside of aggregate functions not part of GROUP BY: [SENT]"),
        ("SELECT city, nowhere(km), COUNT(*) FROM rides GROUP BY city",
         "Can't find any functions with the name 'NOWHERE'"),
        ("SELECT COUNT(*) AS n FROM rides GROUP BY city, km",
         "must include the grouping expressions CITY and KM in its projection (eg, SELECT CITY, KM...)."),
        ("SELECT city, city AS town, COUNT(*) AS n FROM rides GROUP BY city",
         "The projection contains a key column more than once: `CITY` and `TOWN`."),
        ("SELECT city, COUNT(*) FROM rides", "Non-aggregate SELECT expression(s) not part of GROUP BY: CITY"),
        ("SELECT city FROM rides GROUP BY city",
         "GROUP BY requires aggregate functions in either the SELECT or HAVING clause."),
        ("SELECT city, COUNT(*) FROM rides GROUP BY city HAVING km > 1",
         "Non-aggregate HAVING expression not part of GROUP BY: [KM]"),
        ("SELECT city, MAX(WINDOWEND) FROM rides WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY city",
         "Window bounds column WINDOWEND can only be used in the SELECT clause of windowed aggregations"),
        ("SELECT city, EXPLODE(tags), COUNT(*) FROM rides GROUP BY city", "Table functions cannot be used with aggregations."),
        ("SELECT name, EXPLODE(land) AS l FROM cities", "Table source is not supported with table functions"),
    ],
)  # fmt: skip
def test_invalid_table_queries_are_refused(query: str, expected_message: str) -> None:
    with pytest.raises(SqlError) as caught:
        planned(f"CREATE TABLE made AS {query};")
    assert expected_message in caught.value.message


def test_a_condition_that_is_true_of_nulls_still_drops_null_values() -> None:
    query = "CREATE STREAM made AS SELECT id, city FROM rides WHERE city IS NULL;"

    assert run(query, (1, None, 0), (2, {"KM": 1}, 0)) == [(2, {"CITY": None}, 0)]


def test_a_key_computed_from_the_value_is_null_without_a_value() -> None:
    query = """CREATE STREAM made WITH (key_format='JSON') AS
        SELECT * FROM loose PARTITION BY (b IS NULL);"""

    written = run(query, (None, None, 0), (None, {"A": 1}, 0), topic="loose")

    assert written == [(None, None, 0), (True, {"A": 1, "B": None}, 0)]


def test_a_key_computed_from_pseudocolumns_is_null_without_a_value() -> None:
    query = """CREATE STREAM made WITH (key_format='JSON') AS
        SELECT ID, ROWTIME AS t, ROWOFFSET AS o, 7 AS c, km FROM rides PARTITION BY id, ROWTIME, ROWOFFSET, 7;"""

    written = run(query, (1, None, 5), (2, {"KM": 1}, 6))

    assert written == [
        ({"ID": 1, "T": None, "O": None, "C": 7}, None, 5),
        ({"ID": 2, "T": 6, "O": 1, "C": 7}, {"KM": 1}, 6),
    ]


def test_arrays_are_exploded_in_parallel_up_to_the_longest() -> None:
    query = "CREATE STREAM made AS SELECT id, EXPLODE(tags) AS t, EXPLODE(codes) AS c FROM rides;"

    written = run(
        query,
        (1, {"TAGS": ["a"], "CODES": [1, 2]}, 0),
        (2, {"TAGS": None, "CODES": [3]}, 0),
        (3, {"TAGS": []}, 0),
        (4, None, 0),
    )

    assert written == [
        (1, {"T": "a", "C": 1}, 0),
        (1, {"T": None, "C": 2}, 0),
        (2, {"T": None, "C": 3}, 0),
    ]


def test_a_group_is_keyed_and_named_as_it_is_selected() -> None:
    query = (
        "CREATE TABLE made AS SELECT COUNT(*) AS n, city AS town, km FROM rides GROUP BY city, km;"
    )

    written = run(
        query, (1, {"CITY": "a", "KM": 2}, 5), (2, {"CITY": "a", "KM": 2}, 4), (3, {"CITY": "b"}, 6)
    )

    assert written == [
        ({"TOWN": "a", "KM": 2}, {"N": 1}, 5),
        ({"TOWN": "a", "KM": 2}, {"N": 2}, 5),
    ]


def test_a_window_closes_after_its_grace_and_is_emitted_once() -> None:
    query = """CREATE TABLE made AS SELECT id, COUNT(*) AS n, WINDOWSTART AS since FROM rides
        WINDOW TUMBLING (SIZE 10 MILLISECONDS, GRACE PERIOD 5 MILLISECONDS) GROUP BY id EMIT FINAL;"""
    found = planned(query)

    assert found.window == SourceWindow("TUMBLING", 10)
    evaluator = ReferenceEvaluator(found.plan)
    records = [
        SourceRecord("rides", 0, offset, at, b"1", b'{"KM": 1}')
        for offset, at in enumerate([3, 11, 14, 16])
    ]
    written = [one for record in records for one in evaluator.run([record])]
    assert [(json.loads(one.value or b""), one.timestamp_ms) for one in written] == [
        ({"N": 1, "SINCE": 0}, 3)
    ]


def test_late_records_are_accepted_for_a_day_by_default() -> None:
    query = "CREATE TABLE made AS SELECT id, COUNT(*) AS n FROM rides WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY id;"
    nodes = [node for node in planned(query).plan.nodes if node.stores]

    assert "grace 82800000 ms" in nodes[0].action


def test_a_sink_takes_its_timestamps_from_the_timestamp_column() -> None:
    query = "CREATE STREAM made WITH (timestamp='sent') AS SELECT id, sent FROM rides;"

    assert run(query, (1, {"SENT": 7}, 1), (1, None, 2)) == [
        (1, {"SENT": 7}, 7),
        (1, None, 2),
    ]


def test_a_tombstone_keeps_its_record_time_despite_a_timestamp_column() -> None:
    session = SqlSession()
    text = (
        "CREATE TABLE t (id INT PRIMARY KEY, sent TIMESTAMP) WITH (kafka_topic='t', value_format='JSON');"
        "CREATE TABLE made WITH (timestamp='sent') AS SELECT id, sent FROM t;"
    )

    *_, done = session.run(text)

    assert done.query is not None
    (timed,) = [node for node in done.query.planned.plan.nodes if isinstance(node, SetTime)]
    assert isinstance(timed.time, Call)
    assert timed.time.function == "CASE"


def test_a_table_with_pseudocolumns_reads_its_topic_as_a_stream() -> None:
    query = "CREATE TABLE made AS SELECT name, ROWOFFSET AS o FROM cities;"
    found = planned(query)

    assert [type(node) for node in found.plan.nodes if node.stores] == [ToTable]
    assert isinstance(found.plan.nodes[0], StreamSource)


def test_the_newer_planner_takes_the_key_as_it_is_selected() -> None:
    query = """SET 'ksql.new.query.planner.enabled'='true';
        CREATE STREAM made AS SELECT km FROM rides;"""

    assert columns(query) == "`KM` INTEGER"


def test_renaming_columns_adds_no_node() -> None:
    plan = planned("CREATE STREAM made AS SELECT id AS ride, km AS far FROM rides;").plan
    spec = lower(find_levels(plan), "names", cache_bytes_max=0)

    assert sorted(node["kind"] for node in spec["nodes"].values()) == ["project", "sink"]


def test_a_group_on_the_key_is_not_shuffled() -> None:
    query = "CREATE TABLE made AS SELECT id AS ride, COUNT(*) AS n FROM rides GROUP BY id;"
    levels = find_levels(planned(query).plan)

    assert not any(edge.rekeyed for edge in levels.edges)
    assert not any(isinstance(node, Repartition) for node in levels.nodes)


def test_a_sink_without_a_key_has_no_format_of_one() -> None:
    (sink,) = planned(
        "CREATE STREAM made AS SELECT km, id FROM rides PARTITION BY NULL;"
    ).plan.sinks

    assert sink.key_format.name == "NONE"


KEYED = """
    CREATE STREAM rides (id INT KEY, city STRING, km INT) WITH (kafka_topic='r', value_format='JSON');
    CREATE TABLE cities (name STRING PRIMARY KEY, land STRING) WITH (kafka_topic='c', value_format='JSON');
    CREATE TABLE pairs (a INT PRIMARY KEY, b INT PRIMARY KEY, v INT) WITH (kafka_topic='p', format='JSON');
"""


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT * FROM rides GROUP BY city", "Pull queries don't support GROUP BY clauses. See https://"),
        ("SELECT * FROM rides WINDOW TUMBLING (SIZE 1 HOUR)", "Pull queries don't support WINDOW clauses."),
        ("SELECT * FROM rides PARTITION BY city", "Pull queries don't support PARTITION BY clauses."),
        ("SELECT * FROM rides ORDER BY km", "line 1:27: Syntax Error\n\nStatement: SELECT * FROM rides ORDER BY km;"),
        ("SELECT *, ROWOFFSET FROM cities", "the following columns in SELECT clauses: `ROWOFFSET`"),
        ("SELECT * FROM cities WHERE ROWPARTITION = 1", "columns in WHERE clauses: `ROWPARTITION`"),
        ("SELECT * FROM rides LIMIT -1", "Pull queries don't support negative integers in the LIMIT"),
        ("SELECT * FROM rides LIMIT 1", "LIMIT clause in pull queries is currently disabled."),
        ("SELECT * FROM cities", "Missing WHERE clause."),
        ("SELECT * FROM cities WHERE land = 'x'", "WHERE clause missing key column for disjunct: (LAND = 'x')"),
        ("SELECT * FROM cities WHERE name = 'a' OR land = 'x'", "WHERE clause missing key column for disjunct"),
        ("SELECT * FROM cities WHERE name <> 'a'", "Bound on key columns '[`NAME` STRING KEY]' must currently be '='"),
        ("SELECT * FROM cities WHERE UCASE(name) = 'A'", "A comparison must directly reference a key column."),
        ("SELECT * FROM cities WHERE name = land", "A comparison must be between a key column and a resolvable"),
        ("SELECT * FROM cities WHERE name = 'a' AND name > 'b'", "cannot be combined with other comparisons"),
        ("SELECT * FROM cities WHERE name >= 'a'", "Query requires table scan to be enabled"),
        ("SELECT * FROM pairs WHERE a = 1", "Multi-column sources must specify every key in the WHERE clause."),
    ],
)  # fmt: skip
def test_strict_mode_refuses_pull_queries_that_are_switched_off(query: str, message: str) -> None:
    switched_off = dict.fromkeys((TABLE_SCAN, RANGE_SCAN, LIMIT), "false")
    session = SqlSession(given=switched_off | {"ksql.compatibility": "strict"})
    list(session.run(KEYED))

    with pytest.raises(SqlError) as expected_message:
        list(session.run(f"{query};"))

    assert message in expected_message.value.message


def test_a_lookup_by_the_whole_key_needs_no_scan() -> None:
    session = SqlSession(given={TABLE_SCAN: "false", "ksql.compatibility": "strict"})
    list(session.run(KEYED))

    for where in ("name IN ('a', 'b')", "name > 'a' AND land = 'x'", "name = 'a' OR name = 'b'"):
        (done,) = session.run(f"SELECT * FROM cities WHERE {where};")  # noqa: S608
        assert done.selected is not None
