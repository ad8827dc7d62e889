"""A walk over the table of routes: no endpoint answers a client that has not logged in."""

import asyncio
import json
import re

import pytest

from duolog.server.http.routes import ENDPOINTS, PUBLIC_PATHS, Endpoint
from unit.server.memory import MemoryServer, Reply, context
from unit.server.users import ANN, BOB, Rules, access_with_users

ALIVE = {"/chc/live", "/chc/ready"}
NEED_A_SERVICE = (
    *("dead_letters", ".editor", ".ksql", ".lineage", ".queries", ".terminating"),
    *(".acls", ".schemas", ".settings", ".users"),
)
"""Modules of operations that a server without a SQL service, registry or cluster refuses."""


def ask(endpoint: Endpoint, authorization: str | None, rules: Rules | None = None) -> Reply:
    async def run() -> Reply:
        server = MemoryServer(context(access_with_users(rules)))
        headers = {"Origin": "http://127.0.0.1:8088"}
        if authorization is not None:
            headers["Authorization"] = authorization
        target = re.sub(r"\{\w+\}", "x", endpoint.path)
        return await server.client().ask(endpoint.method, target, b"", **headers)

    return asyncio.run(run())


def test_only_the_signs_of_life_are_public() -> None:
    assert PUBLIC_PATHS == ALIVE


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda row: f"{row.method} {row.path}")
@pytest.mark.parametrize("authorization", [None, "Basic YW5uOndyb25n", "Bearer no", "Digest x"])
def test_no_endpoint_answers_without_a_valid_login(
    endpoint: Endpoint, authorization: str | None
) -> None:
    reply = ask(endpoint, authorization)

    if endpoint.path in ALIVE:
        assert (reply.status, reply.body) == (200, b"{}")
    else:
        assert reply.status == 401
        assert json.loads(reply.body) == {
            "@type": "generic_error",
            "error_code": 40100,
            "message": "Unauthorized",
        }
        assert reply.headers["www-authenticate"].startswith(("Basic", "Bearer"))


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda row: f"{row.method} {row.path}")
def test_an_endpoint_with_a_right_refuses_a_user_without_it(endpoint: Endpoint) -> None:
    rules = Rules()

    reply = ask(endpoint, BOB, rules)

    assert (reply.status == 403) == (endpoint.right is not None)
    if endpoint.right is not None:
        assert rules.refused == [("bob", *endpoint.right)]


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda row: f"{row.method} {row.path}")
def test_every_endpoint_answers_a_user_with_all_rights(endpoint: Endpoint) -> None:
    reply = ask(endpoint, ANN)

    # There is no SQL service, and the request to a WebSocket lacks the upgrade.
    if endpoint.socket:
        assert reply.status == 426
        return
    assert reply.status < 400 or (
        reply.status == 503 and endpoint.operation.__module__.endswith(NEED_A_SERVICE)
    )


@pytest.mark.parametrize("target", ["/nope", "/info/", "//info", "/chc/live/", "/chc", "/%69nfo2"])
def test_a_missing_path_looks_like_any_other_without_a_login(target: str) -> None:
    reply = ask(Endpoint("GET", target, ENDPOINTS[0].operation), None)

    assert reply.status == 401


def test_the_signs_of_life_have_no_other_methods_for_anyone() -> None:
    for path in ALIVE:
        reply = ask(Endpoint("POST", path, ENDPOINTS[0].operation), None)

        assert reply.status == 405
