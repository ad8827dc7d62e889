"""Lineage of a catalog: its form, its order, its parts, and columns with their ways."""

import json
from pathlib import Path
from typing import Any

import pytest

from duolog.ksql.lineage import VERSION, around, lineage_of
from duolog.ksql.session import SqlSession
from duolog.ksql.statements.state import SessionState

GOLDEN = Path(__file__).parents[2] / "golden" / "lineage" / "shop.json"
SHOP = """
CREATE STREAM orders (id STRING KEY, n INT, who STRING)
  WITH (KAFKA_TOPIC='orders', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE people (id STRING PRIMARY KEY, name STRING, level INT)
  WITH (KAFKA_TOPIC='people', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM rich AS SELECT o.who AS who, p.name AS name, o.n * 2 AS twice
  FROM orders o LEFT JOIN people p ON o.who = p.id WHERE p.level > 2;
CREATE TABLE totals AS SELECT name, SUM(twice) AS total, COUNT(*) AS c FROM rich
  WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY name;
CREATE STREAM raw (line STRING) WITH (KAFKA_TOPIC='RICH', VALUE_FORMAT='KAFKA');
CREATE STREAM lonely (a INT) WITH (KAFKA_TOPIC='lonely', VALUE_FORMAT='JSON', PARTITIONS=1);
INSERT INTO orders SELECT id, 0 AS n, name AS who FROM late;
"""
LATE = """
CREATE STREAM late (id STRING KEY, name STRING)
  WITH (KAFKA_TOPIC='late', VALUE_FORMAT='JSON', PARTITIONS=1);
"""


def state_of(text: str) -> SessionState:
    session = SqlSession()
    for _ in session.run(text):
        pass
    return session.state


def lineage(text: str) -> dict[str, Any]:
    return lineage_of(state_of(text), "default_")


def names(found: dict[str, Any]) -> dict[str, list[str]]:
    return {
        "sources": [one["name"] for one in found["sources"]],
        "queries": [one["id"] for one in found["queries"]],
        "topics": [one["name"] for one in found["topics"]],
    }


def test_the_form_is_stable() -> None:
    # After a change of the form that readers could notice, increase VERSION, and write the file
    # with `json.dumps(found, indent=1)`.
    found = lineage(LATE + SHOP)

    assert found["version"] == VERSION == 1
    assert json.dumps(found, indent=1) + "\n" == GOLDEN.read_text()


def test_the_order_does_not_depend_on_that_of_the_statements() -> None:
    first, second = state_of(LATE + SHOP), state_of(LATE + SHOP)
    second.queries = dict(reversed(second.queries.items()))
    second.catalog.sources = dict(reversed(second.catalog.sources.items()))

    assert json.dumps(lineage_of(first, "x")) == json.dumps(lineage_of(second, "x"))


def test_a_part_has_what_leads_to_a_source_and_what_follows() -> None:
    found = around(lineage(LATE + SHOP), "RICH")

    assert names(found) == {
        "sources": ["LATE", "ORDERS", "PEOPLE", "RAW", "RICH", "TOTALS"],
        "queries": ["CSAS_RICH_0", "CTAS_TOTALS_1", "INSERTQUERY_2"],
        "topics": ["RICH", "TOTALS", "late", "orders", "people"],
    }
    assert {"from": "topic:RICH", "to": "source:RAW"} in found["edges"]
    assert {"from": "source:RICH", "to": "topic:RICH"} in found["edges"]


def test_a_part_can_be_upstream_or_downstream_only() -> None:
    whole = lineage(LATE + SHOP)

    assert names(around(whole, "RICH", "upstream"))["sources"] == [
        *("LATE", "ORDERS", "PEOPLE", "RICH")
    ]
    assert names(around(whole, "RICH", "downstream"))["sources"] == ["RAW", "RICH", "TOTALS"]
    # PEOPLE is joined with what follows ORDERS, but does not follow it.
    assert names(around(whole, "ORDERS", "downstream"))["sources"] == [
        *("ORDERS", "RAW", "RICH", "TOTALS")
    ]
    assert names(around(whole, "LONELY")) == {
        "sources": ["LONELY"],
        "queries": [],
        "topics": ["lonely"],
    }


def test_every_edge_of_a_part_has_both_ends_in_it() -> None:
    whole = lineage(LATE + SHOP)

    for source in names(whole)["sources"]:
        part = around(whole, source)
        ends = {
            *(f"source:{one['name']}" for one in part["sources"]),
            *(f"query:{one['id']}" for one in part["queries"]),
            *(f"topic:{one['name']}" for one in part["topics"]),
        }
        assert {one[end] for one in part["edges"] for end in ("from", "to")} <= ends


JOINED = "FROM orders a JOIN other b WITHIN 1 HOUR ON a.id = b.id"
OF_A_SUBQUERY = JOINED.replace("other", "(SELECT id, n FROM other)")


@pytest.mark.parametrize(
    ("select", "source"),
    [
        (f"SELECT a.id AS id, b.n AS m {JOINED}", "OTHER"),
        (f"SELECT a.id AS id, a.n AS m {JOINED}", "ORDERS"),
        (f"SELECT a.id AS id, b.n AS m {OF_A_SUBQUERY}", "OTHER"),
    ],
    ids=["right", "left", "subquery"],
)
def test_two_streams_over_one_topic_are_told_apart(select: str, source: str) -> None:
    found = lineage(
        SHOP.partition("CREATE TABLE")[0]
        + "CREATE STREAM other (id STRING KEY, n INT) WITH (KAFKA_TOPIC='orders', VALUE_FORMAT='JSON');"
        + f"CREATE STREAM x AS {select};"
    )

    columns = {one["name"]: one["inputs"] for one in found["queries"][0]["columns"]}
    assert columns["M"] == [{"source": source, "column": "N", "kind": "copied"}]


def test_a_stream_of_several_topics_has_an_edge_from_each() -> None:
    found = lineage("CREATE STREAM both (a INT) WITH (KAFKA_TOPIC='a,b', VALUE_FORMAT='JSON');")

    assert found["edges"] == [
        {"from": "topic:a", "to": "source:BOTH"},
        {"from": "topic:b", "to": "source:BOTH"},
    ]


def test_an_empty_catalog_has_an_empty_lineage() -> None:
    assert lineage("") == {
        "version": VERSION,
        "service": "default_",
        "sources": [],
        "queries": [],
        "topics": [],
        "edges": [],
    }
