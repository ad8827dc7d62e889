"""A walk over the table of routes: no endpoint answers a client that has not logged in.

The signs of life are public, and so are the files of the console, which are the same for all clients.
"""

import asyncio
import json
import re

import pytest

from duolog.core.clock import SystemClock
from duolog.runtime.administration.administration import Administration
from duolog.security.clients.brokers import Brokers
from duolog.security.clients.client_security import ClientSecurity
from duolog.server.access.console_token import ConsoleToken
from duolog.server.http.routes import ENDPOINTS, PUBLIC_PATHS, PUBLIC_PREFIXES, Endpoint
from unit.server.memory import Access, MemoryServer, Reply, context
from unit.server.users import ANN, BOB, Rules, access_with_users

ALIVE = {"/chc/live", "/chc/ready"}
NEED_A_SERVICE = (
    ".acls",
    ".demo",
    ".editor",
    ".events",
    ".graph",
    ".clients",
    ".groups",
    ".ksql",
    ".lineage",
    ".queries",
    ".schemas",
    ".settings",
    ".sources",
    ".terminating",
    ".users",
    "dead_letters",
    *(".topics", ".topic_records"),
)
"""Modules of operations that a server without a SQL service, registry or cluster refuses."""
CONSOLE = {"/console", "/console/assets/{name}", "/console/{screen:path}"}
CONSOLE_TOKEN = "t" * 43
ONLY_ASK = {
    *("/v1/completion", "/v1/check", "/v1/schemas/check", "/v1/schemas/impact"),
    # The login at the registry counts, which may have none: see `unit/server/operations`.
    *("/v1/schemas", "/v1/schemas/register", "/v1/schemas/compatibility"),
}
"""Guarded endpoints with other methods than GET that change nothing of the cluster."""


def ask(
    endpoint: Endpoint,
    authorization: str | None,
    rules: Rules | None = None,
    access: Access | None = None,
    **parts: object,
) -> Reply:
    async def run() -> Reply:
        server = MemoryServer(context(access or access_with_users(rules), **parts))
        headers = {"Origin": "http://127.0.0.1:8088"}
        if authorization is not None:
            headers["Authorization"] = authorization
        target = re.sub(r"\{[\w:]+\}", "x", endpoint.path)
        return await server.client().ask(endpoint.method, target, b"", **headers)

    return asyncio.run(run())


def test_only_the_signs_of_life_and_the_files_of_the_console_are_public() -> None:
    assert {row.path for row in ENDPOINTS if row.public} == ALIVE | CONSOLE
    assert {row.method for row in ENDPOINTS if row.public} == {"GET"}
    assert {*ALIVE, "/console"} == PUBLIC_PATHS
    assert set(PUBLIC_PREFIXES) == {"/console/", "/console/assets/"}


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda row: f"{row.method} {row.path}")
@pytest.mark.parametrize("authorization", [None, "Basic YW5uOndyb25n", "Bearer no", "Digest x"])
def test_no_endpoint_answers_without_a_valid_login(
    endpoint: Endpoint, authorization: str | None
) -> None:
    reply = ask(endpoint, authorization)

    if endpoint.path in ALIVE:
        assert (reply.status, reply.body) == (200, b"{}")
    elif endpoint.path in CONSOLE:
        assert reply.status in {200, 404}
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
    if endpoint.path in CONSOLE:
        # No file has the name of this walk; the page is there if this clone has built it.
        assert reply.status in {200, 404}
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


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda row: f"{row.method} {row.path}")
@pytest.mark.parametrize("authorization", [None, "Basic YW5uOndyb25n", "Bearer no", "Digest x"])
def test_without_users_a_guarded_endpoint_needs_the_token_of_the_console(
    endpoint: Endpoint, authorization: str | None
) -> None:
    access = Access(console_token=ConsoleToken(CONSOLE_TOKEN, SystemClock()))

    refused = ask(endpoint, authorization, access=access)
    answered = ask(endpoint, f"Bearer {CONSOLE_TOKEN}", access=access)

    needs = endpoint.guarded or (endpoint.method, endpoint.path) == ("POST", "/session")
    assert (refused.status == 401) == needs
    if needs:
        assert "token of the console" in json.loads(refused.body)["message"]
    assert answered.status != 401


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda row: f"{row.method} {row.path}")
def test_without_users_the_login_of_the_server_changes_nothing(endpoint: Endpoint) -> None:
    """Everyone with the token would have the rights of the server."""
    token = f"Bearer {CONSOLE_TOKEN}"
    access = Access(console_token=ConsoleToken(CONSOLE_TOKEN, SystemClock()))
    login = ClientSecurity("SASL_PLAINTEXT", mechanism="PLAIN", username="server", password="s")  # noqa: S106
    logged_in = Administration(Brokers("127.0.0.1:1", login))
    anonymous = Administration(Brokers("127.0.0.1:1"))
    reads = endpoint.method == "GET" or endpoint.path in ONLY_ASK

    assert endpoint.changes == (
        not reads and (endpoint.guarded or endpoint.path.startswith("/v1/dead-letters/"))
    )
    if endpoint.changes:
        refused = ask(endpoint, token, access=access, administration=logged_in)
        of_users = ask(endpoint, ANN, administration=logged_in)
        without_login = ask(endpoint, token, access=access, administration=anonymous)

        assert refused.status == 403
        assert "whose rights it does not pass on" in json.loads(refused.body)["message"]
        assert of_users.status != 403
        assert without_login.status != 403


@pytest.mark.parametrize(
    "target", ["/consolex", "/console%2Fx", "/Console", "/console/../info", "/x/console"]
)
def test_no_other_path_is_public_by_its_likeness_to_the_console(target: str) -> None:
    reply = ask(Endpoint("GET", target, ENDPOINTS[0].operation), None)

    # Below /console/ is nothing but the page: dots and encoded slashes lead nowhere else.
    assert reply.status == 401 or b"Duolog" in reply.body
    assert b"KsqlServerInfo" not in reply.body
