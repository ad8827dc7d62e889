"""The graph of an application over a connection: rates, parts, limits, rights."""

import asyncio
import json
from typing import Any

import pytest

from duolog.runtime.sql.figures.query_figures import Flow, Lag, QueryFigures
from duolog.runtime.sql.figures.topic_growth import TopicSize
from unit.server.memory import MemoryServer, Reply, context
from unit.server.operations.catalog_service import Names, Service
from unit.server.operations.test_sources import NamesAndTopics
from unit.server.users import BOB, Rules, access_with_users

PAID = "CSAS_PAID_1"


def service() -> Service:
    found = Service()
    found.figures.growth = {"orders": TopicSize(120, 2.5)}
    found.figures.found = {
        PAID: QueryFigures(
            PAID,
            0,
            server="db:8088",
            topics_in={"LARGE": Flow(70, 1.5), "salaries": Flow(3, None)},
            topics_out={"PAID": Flow(2, 0.0)},
            lag=Lag(7, "rising", 2_000, "steady"),
            errors={"processing": 2, "production": 1},
        )
    }
    found.note(PAID, state="ERROR", error="no disk")
    return found


def ask(path: str, rules: Rules | None = None) -> Reply:
    async def run() -> Reply:
        access = None if rules is None else access_with_users(rules)
        server = MemoryServer(context(access, sql=service()))
        headers = {} if rules is None else {"Authorization": BOB}
        return await server.client().ask("GET", path, b"", **headers)

    return asyncio.run(run())


def found(path: str = "/v1/graph", rules: Rules | None = None) -> dict[str, Any]:
    reply = ask(path, rules)
    assert reply.status == 200, reply
    value: dict[str, Any] = json.loads(reply.body)
    return value


def test_nodes_have_what_their_kind_has() -> None:
    nodes = {one["id"]: one for one in found()["nodes"]}

    assert nodes["topic:orders"] == {
        "id": "topic:orders",
        "kind": "topic",
        "name": "orders",
        "records": 120,
    }
    assert nodes["source:LARGE"] == {"id": "source:LARGE", "kind": "stream", "name": "LARGE"}
    assert nodes[f"query:{PAID}"] == {
        "id": f"query:{PAID}",
        "kind": "query",
        "name": PAID,
        "state": "ERROR",
        "error": "no disk",
        "server": "db:8088",
        "lagRecords": 7,
        "lagMs": 2_000,
        "lagMsTrend": "steady",
        "errors": 3,
    }
    unknown = nodes["query:CSAS_LARGE_0"]
    assert (unknown["lagMs"], unknown["errors"], unknown["server"]) == (None, None, "")
    assert unknown.keys() == nodes[f"query:{PAID}"].keys()


def test_edges_have_the_rates_of_queries_and_of_topics() -> None:
    edges = {(one["from"], one["to"]): one["recordsPerSecond"] for one in found()["edges"]}

    assert edges == {
        ("topic:orders", "source:ORDERS"): 2.5,
        ("topic:salaries", "source:SALARIES"): None,
        ("source:ORDERS", "query:CSAS_LARGE_0"): None,
        ("query:CSAS_LARGE_0", "source:LARGE"): None,
        ("source:LARGE", f"query:{PAID}"): 1.5,
        ("source:SALARIES", f"query:{PAID}"): None,
        (f"query:{PAID}", "source:PAID"): 0.0,
        ("source:LARGE", "topic:LARGE"): None,
        ("source:PAID", "topic:PAID"): None,
    }


def test_what_is_around_a_node_leads_to_it_or_follows_it() -> None:
    part = found("/v1/graph?around=source:ORDERS")

    names = {one["id"] for one in part["nodes"]}
    assert "source:SALARIES" not in names
    assert names == {
        *("topic:orders", "source:ORDERS", "query:CSAS_LARGE_0", "source:LARGE", "topic:LARGE"),
        *(f"query:{PAID}", "source:PAID", "topic:PAID"),
    }
    assert part["leftOut"] == 0


def test_the_nearest_nodes_are_shown_if_there_are_too_many() -> None:
    part = found("/v1/graph?around=query:CSAS_LARGE_0&limit=3")

    assert {one["id"] for one in part["nodes"]} == {
        *("query:CSAS_LARGE_0", "source:LARGE", "source:ORDERS"),
    }
    assert part["leftOut"] == 5
    assert [(one["from"], one["to"]) for one in part["edges"]] == [
        ("query:CSAS_LARGE_0", "source:LARGE"),
        ("source:ORDERS", "query:CSAS_LARGE_0"),
    ]
    whole = found("/v1/graph?limit=4")
    assert (len(whole["nodes"]), whole["leftOut"]) == (4, 6)


@pytest.mark.parametrize("limit", ["0", "1001", "x", "-1", "99999", "٣"])
def test_a_limit_that_is_not_valid_is_refused(limit: str) -> None:
    from urllib.parse import quote  # noqa: PLC0415

    assert ask(f"/v1/graph?limit={quote(limit)}").status == 400


def test_hidden_nodes_are_not_there() -> None:
    seen = ask("/v1/graph", NamesAndTopics("ORDERS", "LARGE", "PAID"))

    for secret in (b"SALARIES", b"salaries", PAID.encode()):
        assert secret not in seen.body
    rules = NamesAndTopics("ORDERS")
    hidden = ask("/v1/graph?around=source:SALARIES", rules)
    missing = ask("/v1/graph?around=source:NOPE", rules)
    assert (hidden.status, missing.status) == (404, 404)
    assert hidden.body.replace(b"SALARIES", b"NOPE") == missing.body


def test_the_growth_of_a_topic_needs_the_right_to_describe_it() -> None:
    part = found(rules=Names("ORDERS", "LARGE", "PAID"))

    nodes = {one["id"]: one for one in part["nodes"]}
    assert nodes["topic:orders"]["records"] is None
    rates = {one["from"]: one["recordsPerSecond"] for one in part["edges"]}
    assert rates["topic:orders"] is None
