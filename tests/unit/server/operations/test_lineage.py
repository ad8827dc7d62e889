"""Lineage over a connection: the whole, parts, and what a user without rights sees."""

import asyncio
import json
from typing import Any

import pytest
from sqlglot import exp

from duolog.ksql.lineage import around, lineage_of
from duolog.ksql.session import SqlSession
from duolog.ksql.statements.state import SessionState
from duolog.security.authorization.operations import Operation, ResourceType
from duolog.security.identity.principal import Identity
from unit.server.memory import MemoryServer, Reply, context
from unit.server.users import ANN, BOB, Rules, access_with_users

TEXT = """
CREATE STREAM orders (id STRING KEY, n INT)
  WITH (KAFKA_TOPIC='orders', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM salaries (id STRING KEY, n INT)
  WITH (KAFKA_TOPIC='salaries', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM large AS SELECT * FROM orders WHERE n > 3;
CREATE STREAM paid AS SELECT o.id AS id, s.n AS pay FROM large o
  JOIN salaries s WITHIN 1 HOUR ON o.id = s.id;
"""


class Service:
    """A service over a catalog in memory."""

    service_id = "default_"

    def __init__(self) -> None:
        self._session = SqlSession()
        for _ in self._session.run(TEXT):
            pass

    def session(self) -> SqlSession:
        return SqlSession()

    def state_for(self, node: exp.Expression, mine: SessionState) -> SessionState:
        del node
        shared = self._session.state
        return SessionState(shared.catalog.copy(), mine.settings, {}, dict(shared.queries))

    @property
    def whole(self) -> dict[str, Any]:
        return lineage_of(self._session.state, self.service_id)


class Names(Rules):
    """Ann may do everything, bob may describe some streams."""

    def __init__(self, *described: str) -> None:
        super().__init__()
        self._described = {f"default_.{name}" for name in described}

    def allows(
        self, client: Identity, operation: Operation, resource: ResourceType, name: str
    ) -> bool:
        if (operation, resource) == (Operation.DESCRIBE, ResourceType.SOURCE):
            return client.principal.name == "ann" or name in self._described
        return super().allows(client, operation, resource, name)


def ask(path: str, authorization: str | None = None, rules: Rules | None = None) -> Reply:
    async def run() -> Reply:
        access = None if rules is None else access_with_users(rules)
        server = MemoryServer(context(access, sql=Service()))
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
