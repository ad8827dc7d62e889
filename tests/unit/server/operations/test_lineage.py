"""Lineage over a connection: the whole, parts, and what a user without rights sees."""

import asyncio
import json
from typing import Any

import pytest

from duolog.ksql.lineage import around
from duolog.runtime.sql.figures.query_figures import Flow, QueryFigures
from unit.server.memory import MemoryServer, Reply, context
from unit.server.operations.catalog_service import Names, Service
from unit.server.users import ANN, BOB, Rules, access_with_users


def ask(
    path: str,
    authorization: str | None = None,
    rules: Rules | None = None,
    service: Service | None = None,
) -> Reply:
    async def run() -> Reply:
        access = None if rules is None else access_with_users(rules)
        server = MemoryServer(context(access, sql=service or Service()))
        headers = {} if authorization is None else {"Authorization": authorization}
        return await server.client().ask("GET", path, b"", **headers)

    return asyncio.run(run())


def found(reply: Reply) -> dict[str, Any]:
    assert reply.status == 200, reply
    assert reply.headers["content-type"] == "application/json"
    value: dict[str, Any] = json.loads(reply.body)
    return value


def test_the_whole_lineage() -> None:
    assert found(ask("/v1/lineage")) == Service().whole


@pytest.mark.parametrize("name", ["LARGE", "large"])
def test_the_lineage_of_a_stream(name: str) -> None:
    assert found(ask(f"/v1/lineage/{name}")) == around(Service().whole, "LARGE")


def test_a_direction() -> None:
    whole = Service().whole

    assert found(ask("/v1/lineage/LARGE?direction=upstream")) == around(whole, "LARGE", "upstream")
    assert found(ask("/v1/lineage/LARGE?direction=downstream")) == around(
        whole, "LARGE", "downstream"
    )
    assert ask("/v1/lineage/LARGE?direction=sideways").status == 400


def test_a_user_with_all_rights_sees_everything() -> None:
    assert found(ask("/v1/lineage", ANN, Names())) == Service().whole


def test_hidden_streams_and_all_that_names_them_are_not_there() -> None:
    seen = ask("/v1/lineage", BOB, Names("ORDERS", "LARGE", "PAID"))

    for secret in (b"SALARIES", b"salaries", b"CSAS_PAID_1", b"pay FROM"):
        assert secret not in seen.body
    assert [one["name"] for one in found(seen)["sources"]] == ["LARGE", "ORDERS", "PAID"]
    assert [one["id"] for one in found(seen)["queries"]] == ["CSAS_LARGE_0"]
    assert found(seen)["sources"][0]["readBy"] == []
    assert {one["from"] for one in found(seen)["edges"]} == {
        *("query:CSAS_LARGE_0", "source:LARGE", "source:ORDERS", "source:PAID", "topic:orders")
    }


def test_a_hidden_stream_looks_like_a_missing_one() -> None:
    rules = Names("ORDERS")
    hidden, missing = ask("/v1/lineage/SALARIES", BOB, rules), ask("/v1/lineage/NOPE", BOB, rules)

    assert (hidden.status, missing.status) == (404, 404)
    assert hidden.body.replace(b"SALARIES", b"NOPE") == missing.body


def test_a_user_without_rights_gets_an_empty_lineage() -> None:
    assert found(ask("/v1/lineage", BOB, Names())) == {
        **Service().whole,
        "sources": [],
        "queries": [],
        "topics": [],
        "edges": [],
    }


def test_edges_of_queries_have_rates_when_asked_for() -> None:
    service = Service()
    service.figures.found = {
        "CSAS_PAID_1": QueryFigures(
            "CSAS_PAID_1",
            0,
            topics_in={"LARGE": Flow(70, 2.5), "salaries": Flow(3, None)},
            topics_out={"PAID": Flow(2, 0.0)},
        )
    }

    whole = found(ask("/v1/lineage?rates=true", service=service))

    rates = {
        (one["from"], one["to"]): (one["records"], one["recordsPerSecond"])
        for one in whole["edges"]
        if "records" in one
    }
    assert rates == {
        ("source:LARGE", "query:CSAS_PAID_1"): (70, 2.5),
        ("source:SALARIES", "query:CSAS_PAID_1"): (3, None),
        ("query:CSAS_PAID_1", "source:PAID"): (2, 0.0),
        # It was not measured yet.
        ("source:ORDERS", "query:CSAS_LARGE_0"): (None, None),
        ("query:CSAS_LARGE_0", "source:LARGE"): (None, None),
    }
    for edge in whole["edges"]:
        edge.pop("records", None), edge.pop("recordsPerSecond", None)
    assert whole == service.whole
    assert found(ask("/v1/lineage/PAID?rates=true&direction=downstream", service=service))[
        "edges"
    ] == [
        {"from": "source:PAID", "to": "topic:PAID"},
    ]
