"""Figures in the entities of DESCRIBE … EXTENDED, SHOW QUERIES EXTENDED and EXPLAIN."""

from collections.abc import Iterable
from typing import Any

import pytest

from duolog.ksql.session import SqlSession
from duolog.runtime.sql.figures.query_figures import Flow, Lag, PartitionLag, QueryFigures
from duolog.server.ksql.entities import ServerFacts, entity_of
from unit.server.operations.catalog_service import TEXT

LARGE = "CSAS_LARGE_0"
FIGURES = QueryFigures(
    LARGE,
    0,
    topics_in={"orders": Flow(90, 4.5)},
    topics_out={"LARGE": Flow(30, 1.25)},
    lag=Lag(
        3,
        partitions=(PartitionLag("orders", 1, 7, 10), PartitionLag("orders", 0, 5, None)),
    ),
    errors={"processing": 2, "production": 0},
    last_result_at_ms=1_700_000_000_000,
)


@pytest.fixture
def session() -> SqlSession:
    found = SqlSession()
    list(found.run(TEXT))
    return found


def entity(session: SqlSession, statement: str, *figures: QueryFigures) -> dict[str, Any]:
    known = {one.id: one for one in figures}

    def asked(ids: Iterable[str]) -> dict[str, QueryFigures]:
        return {name: known[name] for name in ids if name in known}

    facts = ServerFacts("db:8088", lambda: 0, dict, asked)
    (done,) = session.run(statement)
    found = entity_of(done, session.state, statement, facts)
    assert found is not None
    return found


def test_a_stream_has_what_is_written_to_it_and_read_from_it(session: SqlSession) -> None:
    written = entity(session, "DESCRIBE large EXTENDED;", FIGURES)["sourceDescription"]
    read = entity(session, "DESCRIBE orders EXTENDED;", FIGURES)["sourceDescription"]

    assert written["statistics"] == (
        "messages-per-sec:       1.25   total-messages:        30"
        "     last-message: 2023-11-14T22:13:20Z"
    )
    assert read["statistics"] == (
        "consumer-messages-per-sec:       4.50   consumer-total-messages:        90"
    )
    assert written["errorStats"] == read["errorStats"] == "processing:         2"
    assert written["queryOffsetSummaries"] == [
        {
            "groupId": LARGE,
            "kafkaTopic": "orders",
            "offsets": [
                {
                    "partition": 0,
                    "logStartOffset": 0,
                    "logEndOffset": 5,
                    "consumerOffset": 5,
                },
                {
                    "partition": 1,
                    "logStartOffset": 0,
                    "logEndOffset": 10,
                    "consumerOffset": 7,
                },
            ],
        }
    ]
    assert read["queryOffsetSummaries"] == []


@pytest.mark.parametrize("statement", ["DESCRIBE large;", "DESCRIBE large EXTENDED;"])
def test_without_figures_there_are_no_statistics(session: SqlSession, statement: str) -> None:
    figures = [FIGURES] if "EXTENDED" not in statement else []

    found = entity(session, statement, *figures)["sourceDescription"]

    assert (found["statistics"], found["errorStats"], found["queryOffsetSummaries"]) == ("", "", [])


def test_queries_have_their_figures(session: SqlSession) -> None:
    shown = entity(session, "SHOW QUERIES EXTENDED;", FIGURES)["queryDescriptions"]
    explained = entity(session, f"EXPLAIN {LARGE};", FIGURES)["queryDescription"]

    assert {one["id"]: "figures" in one for one in shown} == {LARGE: True, "CSAS_PAID_1": False}
    assert explained["figures"]["lag"]["records"] == 3
    assert explained["figures"]["in"]["topics"]["orders"]["recordsPerSecond"] == 4.5


def test_all_streams_have_the_figures_of_their_queries(session: SqlSession) -> None:
    found = entity(session, "SHOW STREAMS EXTENDED;", FIGURES)["sourceDescriptions"]

    statistics = {one["name"]: one["statistics"][:8] for one in found}
    assert statistics == {"LARGE": "messages", "ORDERS": "consumer", "PAID": "", "SALARIES": ""}
