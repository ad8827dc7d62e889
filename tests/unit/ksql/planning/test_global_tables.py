"""GLOBAL tables: streams look them up by any expression, and keep their key."""

import json

import pytest

from duolog.ksql.errors import SqlError
from duolog.ksql.session import SqlSession
from duolog.plan.nodes import GlobalTableSource
from duolog.testing.reference import ReferenceEvaluator, SourceRecord
from unit.ksql import join_queries

GLOBAL = """
    CREATE GLOBAL TABLE towns (town STRING PRIMARY KEY, people INT) WITH (kafka_topic='towns', format='JSON', partitions=5);
    CREATE GLOBAL TABLE roads (one STRING PRIMARY KEY, other STRING PRIMARY KEY, km INT)
        WITH (kafka_topic='roads', format='JSON');
    CREATE STREAM nokey (driver INT, city STRING) WITH (kafka_topic='nokey', value_format='JSON');
"""
TOWNS = [
    ("towns", '"BONN"', {"PEOPLE": 5}, 3),
    ("towns", '"ULM"', {}, 4),
]
RIDES = [
    ("rides", "1", {"DRIVER": 7, "CITY": "BONN"}, 10),
    ("rides", "2", {"DRIVER": 8, "CITY": "ULM"}, 11),
    ("rides", "3", {"DRIVER": 9, "CITY": "ROM"}, 12),
]


def run(
    statement: str, *given: tuple[str, str | None, object, int]
) -> list[tuple[bytes | None, object]]:
    *_, done = SqlSession().run(f"{join_queries.BEGIN}{GLOBAL}{statement};")
    assert done.query is not None
    evaluator = ReferenceEvaluator(done.query.planned.plan, tasks=3)
    records = [
        SourceRecord(
            topic, 0, at, at, None if key is None else key.encode(), json.dumps(value).encode(), ()
        )
        for topic, key, value, at in given
    ]
    outs = [out for record in records for out in evaluator.run([record])]
    return [(out.key, json.loads(out.value or b"null")) for out in outs]


def columns(select: str) -> str:
    *_, done = SqlSession().run(f"{join_queries.BEGIN}{GLOBAL}CREATE STREAM made AS {select};")
    assert done.query is not None
    return ", ".join(map(str, done.query.planned.columns))


def test_each_record_is_joined_by_an_expression_and_keeps_its_key() -> None:
    select = "SELECT r.id, r.driver, t.town, t.people FROM rides r {} towns t ON t.town = r.city"

    assert columns(select.format("JOIN")) == (
        "`ID` INTEGER KEY, `DRIVER` INTEGER, `TOWN` STRING, `PEOPLE` INTEGER"
    )
    bonn = (b"1", {"DRIVER": 7, "TOWN": "BONN", "PEOPLE": 5})
    ulm = (b"2", {"DRIVER": 8, "TOWN": "ULM", "PEOPLE": None})
    made = "CREATE STREAM made AS " + select
    assert run(made.format("JOIN"), *TOWNS, *RIDES) == [bonn, ulm]
    # If there is no row, its key is null too.
    missing = (b"3", {"DRIVER": 9, "TOWN": None, "PEOPLE": None})
    assert run(made.format("LEFT JOIN"), *TOWNS, *RIDES) == [bonn, ulm, missing]


def test_a_stream_without_a_key_may_look_up_rows_by_their_time() -> None:
    made = "CREATE STREAM made AS SELECT n.driver, t.ROWTIME AS at FROM nokey n JOIN towns t ON n.city = t.town"

    found = run(made, *TOWNS, ("nokey", None, {"DRIVER": 7, "CITY": "ULM"}, 9))

    assert found == [(None, {"DRIVER": 7, "AT": 4})]


def test_all_columns_of_its_key_are_matched_in_any_order() -> None:
    made = "CREATE STREAM made AS SELECT r.id, g.km FROM rides r JOIN roads g ON g.other = r.city AND g.one = 'ULM' || ''"
    with pytest.raises(SqlError, match="Each side of the join comparision must contain references"):
        run(made)

    made = (
        "CREATE STREAM made AS SELECT r.id, g.km FROM rides r JOIN towns t ON t.town = r.city "
        "JOIN roads g ON g.other = t.town AND g.one = r.city"
    )
    roads = ("roads", '{"ONE":"BONN","OTHER":"BONN"}', {"KM": 30}, 5)
    assert run(made, *TOWNS, roads, *RIDES) == [(b"1", {"KM": 30})]


def test_several_lookups_may_be_followed_by_joins_by_key() -> None:
    made = (
        "CREATE STREAM made AS SELECT r.id, t.people, d.name FROM rides r "
        "LEFT JOIN towns t ON t.town = r.city LEFT JOIN towns u ON u.town = r.city JOIN drivers d ON d.id = r.id"
    )

    found = run(made, *TOWNS, ("drivers", "2", {"NAME": "eva"}, 1), *RIDES)

    assert found == [(b"2", {"T_PEOPLE": None, "NAME": "eva"})]


def test_joined_with_tables_or_alone_it_is_an_ordinary_table() -> None:
    alone = "CREATE TABLE made AS SELECT town, people FROM towns"
    tables = (
        "CREATE TABLE made AS SELECT t.town, c.people FROM towns t JOIN cities c ON t.town = c.city"
    )

    assert run(alone, TOWNS[0]) == [(b'"BONN"', {"PEOPLE": 5})]
    *_, done = SqlSession().run(f"{join_queries.BEGIN}{GLOBAL}{tables};")
    assert done.query is not None
    assert not [one for one in done.query.planned.plan.nodes if isinstance(one, GlobalTableSource)]


def test_describe_shows_that_it_is_global() -> None:
    *_, done = SqlSession().run(f"{GLOBAL}DESCRIBE towns EXTENDED;")

    assert ("Global", True) in done.rows[1].rows


@pytest.mark.parametrize(
    ("statement", "expected_message"),
    [
        ("CREATE GLOBAL TABLE made AS SELECT town, people FROM towns", "A global table must read a topic"),
        ("CREATE GLOBAL STREAM made (a INT) WITH (kafka_topic='a', format='JSON')", "found 'GLOBAL'"),
        ("CREATE GLOBAL TABLE made (a INT PRIMARY KEY, h ARRAY<STRUCT<key STRING, value BYTES>> HEADERS) WITH (kafka_topic='a', format='JSON')",
         "cannot have a windowed key, headers or a TTL"),
        ("CREATE GLOBAL TABLE made (a INT PRIMARY KEY, n INT) WITH (kafka_topic='a', format='JSON', window_type='SESSION')",
         "cannot have a windowed key, headers"),
        ("CREATE STREAM made AS SELECT r.id, t.people FROM rides r JOIN towns t ON r.city = t.town AND r.driver = t.people",
         "joins with a global table require to join on the whole primary key of that table"),
        ("CREATE STREAM made AS SELECT r.id, g.km FROM rides r JOIN roads g ON r.city = g.one",
         "joins with a global table require to join on the whole primary key of that table"),
        ("CREATE STREAM made AS SELECT r.id, t.people FROM rides r RIGHT JOIN towns t ON r.city = t.town",
         "Right outer joins between streams and tables"),
        ("CREATE STREAM made AS SELECT r.id, t.people FROM rides r JOIN towns t WITHIN 1 HOUR ON r.city = t.town",
         "These joins are not windowed"),
        ("CREATE STREAM made AS SELECT r.driver, t.people FROM rides r JOIN towns t ON r.city = t.town", "must include the key column"),
        ("CREATE OR REPLACE TABLE towns (town STRING PRIMARY KEY, people INT) WITH (kafka_topic='towns', format='JSON')",
         "GLOBAL = True which is not upgradeable to False"),
    ],
)  # fmt: skip
def test_invalid_uses_are_refused(statement: str, expected_message: str) -> None:
    with pytest.raises(SqlError) as caught:
        list(SqlSession().run(f"{join_queries.BEGIN}{GLOBAL}{statement};"))

    assert expected_message in caught.value.message


def test_strict_mode_cannot_parse_it() -> None:
    with pytest.raises(SqlError, match="found 'GLOBAL'"):
        list(SqlSession(given=join_queries.STRICT).run(GLOBAL))
