"""Origins of columns: copied, computed or aggregated; and the columns that decide about rows."""

import pytest

from duolog.ksql.session import SqlSession
from duolog.plan.cutting.origins import Decider, Kind, deciders_of, origins_of, ways_to
from duolog.plan.nodes import Node

DECLARED = """
CREATE STREAM orders (id STRING KEY, n INT, who STRING, items ARRAY<STRING>)
  WITH (KAFKA_TOPIC='orders', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM paid (id STRING KEY, n INT)
  WITH (KAFKA_TOPIC='paid', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE people (id STRING PRIMARY KEY, name STRING, level INT, boss STRING)
  WITH (KAFKA_TOPIC='people', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE GLOBAL TABLE places (id STRING PRIMARY KEY, name STRING)
  WITH (KAFKA_TOPIC='places', VALUE_FORMAT='JSON', PARTITIONS=1);
"""


def result_of(select: str) -> Node:
    """Return the node whose records a query writes."""
    session = SqlSession()
    *_, last = session.run(f"{DECLARED} CREATE {select};")
    assert last.query is not None
    (sink,) = last.query.planned.plan.sinks
    return sink.parent


def ways(node: Node, column: str) -> set[tuple[str, str, Kind]]:
    return {
        (origin.source.topic, origin.column, kind)  # type: ignore[attr-defined]
        for origin, kinds in ways_to(node, column).items()
        for kind in kinds
    }


def deciders(node: Node) -> set[tuple[str, str, Decider]]:
    return {
        (origin.source.topic, origin.column, decider)  # type: ignore[attr-defined]
        for origin, found in deciders_of(node).items()
        for decider in found
    }


@pytest.mark.parametrize(
    ("select", "column", "expected"),
    [
        ("n AS m", "M", {("N", Kind.COPIED)}),
        ("n + 1 AS m", "M", {("N", Kind.COMPUTED)}),
        ("CAST(n AS BIGINT) AS m", "M", {("N", Kind.COMPUTED)}),
        (
            "CONCAT(who, CAST(n AS STRING)) AS m",
            "M",
            {("N", Kind.COMPUTED), ("WHO", Kind.COMPUTED)},
        ),
        ("CASE WHEN n > 1 THEN who END AS m", "M", {("N", Kind.COMPUTED), ("WHO", Kind.COMPUTED)}),
        ("EXPLODE(items) AS m", "M", {("ITEMS", Kind.COMPUTED)}),
        ("3 AS m", "M", set()),
        ("ROWTIME AS m", "M", set()),
    ],
)
def test_a_projected_column(select: str, column: str, expected: set[tuple[str, Kind]]) -> None:
    node = result_of(f"STREAM x AS SELECT id, {select} FROM orders")  # noqa: S608

    assert ways(node, column) == {("orders", name, kind) for name, kind in expected}


def test_an_aggregate_is_stronger_than_the_expressions_around_it() -> None:
    node = result_of(
        "TABLE x AS SELECT UCASE(who) AS who, SUM(n * 2) + 1 AS total, COUNT(*) AS c "
        "FROM orders GROUP BY UCASE(who)"
    )

    assert ways(node, "WHO") == {("orders", "WHO", Kind.COMPUTED)}
    assert ways(node, "TOTAL") == {("orders", "N", Kind.AGGREGATED)}
    assert ways(node, "C") == set()


def test_a_group_key_that_is_a_column_is_a_copy() -> None:
    for key in ("id", "who"):  # With a step that sets the key, and without.
        node = result_of(f"TABLE x AS SELECT {key}, MAX(n) AS m FROM orders GROUP BY {key}")  # noqa: S608

        assert ways(node, key.upper()) == {("orders", key.upper(), Kind.COPIED)}
        assert deciders(node) == {("orders", key.upper(), Decider.KEY)}


def test_one_column_can_have_several_ways() -> None:
    node = result_of(
        "STREAM x AS SELECT a.id, a.n + b.n AS m, b.n AS n FROM orders a JOIN paid b "
        "WITHIN 1 HOUR ON a.id = b.id WHERE a.n > 3"
    )

    assert ways(node, "M") == {("orders", "N", Kind.COMPUTED), ("paid", "N", Kind.COMPUTED)}
    assert ways(node, "N") == {("paid", "N", Kind.COPIED)}
    assert deciders(node) == {
        ("orders", "ID", Decider.KEY),
        ("paid", "ID", Decider.KEY),
        ("orders", "N", Decider.FILTER),
    }


@pytest.mark.parametrize(("join", "both"), [("FULL OUTER", True), ("LEFT", False)])
def test_the_key_of_an_outer_join_is_that_of_either_side(join: str, *, both: bool) -> None:
    key = "ROWKEY" if both else "a.id"
    node = result_of(
        f"STREAM x AS SELECT {key} AS k, a.n AS n FROM orders a {join} JOIN paid b "  # noqa: S608
        "WITHIN 1 HOUR ON a.id = b.id"
    )

    right = {("paid", "ID", Kind.COPIED)} if both else set()
    assert ways(node, "K") == {("orders", "ID", Kind.COPIED), *right}
    assert ways(node, "N") == {("orders", "N", Kind.COPIED)}


def test_a_table_that_is_looked_up_decides_by_its_key() -> None:
    node = result_of(
        "STREAM x AS SELECT o.who, p.name, UCASE(p.name) AS loud FROM orders o "
        "LEFT JOIN people p ON o.who = p.id WHERE p.level > 2"
    )

    assert ways(node, "NAME") == {("people", "NAME", Kind.COPIED)}
    assert ways(node, "LOUD") == {("people", "NAME", Kind.COMPUTED)}
    assert deciders(node) == {
        ("orders", "WHO", Decider.KEY),
        ("people", "ID", Decider.KEY),
        ("people", "LEVEL", Decider.FILTER),
    }


def test_a_global_table_is_looked_up_by_an_expression() -> None:
    node = result_of(
        "STREAM x AS SELECT o.id, g.name FROM orders o JOIN places g ON UCASE(o.who) = g.id"
    )

    assert ways(node, "NAME") == {("places", "NAME", Kind.COPIED)}
    assert deciders(node) == {("orders", "WHO", Decider.KEY), ("places", "ID", Decider.KEY)}


def test_a_foreign_key_decides() -> None:
    node = result_of(
        "TABLE x AS SELECT a.id AS id, b.name AS boss FROM people a JOIN people b ON a.boss = b.id"
    )

    assert ways(node, "BOSS") == {("people", "NAME", Kind.COPIED)}
    assert deciders(node) == {("people", "BOSS", Decider.KEY), ("people", "ID", Decider.KEY)}


def test_having_filters_by_what_is_aggregated() -> None:
    node = result_of(
        "TABLE x AS SELECT who, COUNT(*) AS c FROM orders GROUP BY who HAVING SUM(n) > 10"
    )

    assert deciders(node) == {("orders", "WHO", Decider.KEY), ("orders", "N", Decider.FILTER)}


def test_origins_are_the_sources_of_the_ways() -> None:
    node = result_of("STREAM x AS SELECT id, n + LEN(who) AS m FROM orders")

    assert {origin.column for origin in origins_of(node, "M")} == {"N", "WHO"}
