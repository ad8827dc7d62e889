"""Logging in to the console of a server without users: token, cookie, guarded endpoints."""

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest

from duolog.server.access.console_token import ConsoleToken
from duolog.server.access.session_cookie import session_cookie
from duolog.server.http.routes import ENDPOINTS, Endpoint
from duolog.server.messages import Request, Response, json_response
from duolog.server.operations.context import ServerContext
from unit.server.memory import Access, Client, MemoryServer, context
from unit.server.users import Clock

TOKEN = "t" * 43
ORIGIN = "http://127.0.0.1:8088"
BEARER = f"Bearer {TOKEN}"
NAME = session_cookie("127.0.0.1:8088", "", ConsoleToken(TOKEN, Clock()).scope, secure=False).name


async def _guarded(request: Request, _context: ServerContext) -> Response:
    return json_response({"user": request.client.name, "login": request.client.login.value})


ROWS = (
    *ENDPOINTS,
    Endpoint("GET", "/guarded", _guarded, guarded=True),
    Endpoint("POST", "/guarded", _guarded, guarded=True),
    Endpoint("GET", "/open", _guarded),
)


def run(body: Callable[[Client, Clock], Awaitable[None]]) -> None:
    async def started() -> None:
        clock = Clock()
        access = Access(console_token=ConsoleToken(TOKEN, clock))
        server = MemoryServer(context(access), endpoints=ROWS)
        await body(server.client(), clock)

    asyncio.run(started())


async def logged_in(client: Client) -> str:
    """Exchange the token for a cookie, and return the header Cookie."""
    reply = await client.ask("POST", "/session", Origin=ORIGIN, Authorization=BEARER)
    assert reply.status == 204
    cookie = reply.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert reply.headers["cache-control"] == "no-store"
    return cookie.partition(";")[0]


def test_the_token_is_exchanged_for_a_cookie_which_opens_guarded_endpoints() -> None:
    async def body(client: Client, clock: Clock) -> None:
        cookie = await logged_in(client)
        assert TOKEN not in cookie

        found = await client.ask("GET", "/guarded", Cookie=cookie)
        assert (found.status, json.loads(found.body)["login"]) == (200, "session")
        who = await client.ask("GET", "/session", Cookie=cookie)
        assert json.loads(who.body) == {"user": "ANONYMOUS", "login": "session", "users": False}
        clock.now += 13 * 3600
        assert (await client.ask("GET", "/guarded", Cookie=cookie)).status == 401

    run(body)


def test_a_program_may_send_the_token_with_each_request() -> None:
    async def body(client: Client, _clock: Clock) -> None:
        found = await client.ask("GET", "/guarded", Authorization=BEARER)

        assert (found.status, json.loads(found.body)["login"]) == (200, "token")

    run(body)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer no"},
        {"Authorization": "Basic YW5uOnNlY3JldA=="},
        {"Authorization": "Bearer"},
        {"Cookie": f"{NAME}=x"},
        {"Cookie": f"{NAME}={TOKEN}"},
    ],
)
def test_other_endpoints_ignore_what_guarded_ones_refuse(headers: dict[str, str]) -> None:
    async def body(client: Client, _clock: Clock) -> None:
        refused = await client.ask("GET", "/guarded", b"", **headers)
        answered = await client.ask("GET", "/open", b"", **headers)

        assert (refused.status, json.loads(refused.body)["error_code"]) == (401, 40100)
        assert (answered.status, json.loads(answered.body)["login"]) == (200, "none")
        assert (await client.ask("POST", "/session", b"", Origin=ORIGIN, **headers)).status == 401

    run(body)


def test_a_cookie_does_not_open_the_door_to_requests_that_another_site_sends() -> None:
    async def body(client: Client, _clock: Clock) -> None:
        cookie = await logged_in(client)

        own = await client.ask("POST", "/guarded", Cookie=cookie, Origin=ORIGIN)
        other = await client.ask("POST", "/guarded", Cookie=cookie, Origin="http://evil.example")
        none = await client.ask("POST", "/guarded", Cookie=cookie)
        rebound = await client.ask("GET", "/guarded", Cookie=cookie, Host="evil.example")

        assert (own.status, other.status, none.status, rebound.status) == (200, 403, 403, 403)

    run(body)


def test_log_out_ends_the_session_and_removes_the_cookie() -> None:
    async def body(client: Client, _clock: Clock) -> None:
        cookie, other = await logged_in(client), await logged_in(client)

        reply = await client.ask("DELETE", "/session", Cookie=cookie, Origin=ORIGIN)

        assert reply.status == 204
        assert reply.headers["set-cookie"].startswith(f"{NAME}=; Path=/; ")
        assert "Max-Age=0" in reply.headers["set-cookie"]
        assert (await client.ask("GET", "/guarded", Cookie=cookie)).status == 401
        assert (await client.ask("GET", "/guarded", Cookie=other)).status == 200

    run(body)


def test_of_several_cookies_of_one_name_the_valid_one_counts_and_a_logout_ends_them_all() -> None:
    async def body(client: Client, _clock: Clock) -> None:
        first, second = await logged_in(client), await logged_in(client)

        found = await client.ask("GET", "/guarded", Cookie=f"{NAME}=old; {first}; {second}")
        ended = f"{NAME}=old; {first}; {second}"
        await client.ask("DELETE", "/session", Cookie=ended, Origin=ORIGIN)

        assert found.status == 200
        for cookie in (first, second):
            assert (await client.ask("GET", "/guarded", Cookie=cookie)).status == 401

    run(body)


def test_endpoints_of_ksqldb_and_of_programs_stay_open_without_users() -> None:
    """Programs of the time before the console have no token."""
    open_v1 = {row.path for row in ENDPOINTS if row.path.startswith("/v1/") and not row.guarded}

    assert open_v1 <= {
        *("/v1/metadata", "/v1/metadata/id", "/v1/queries", "/v1/queries/{query}"),
        *("/v1/lineage", "/v1/lineage/{source}"),
        *("/v1/dead-letters", "/v1/dead-letters/{topic}", "/v1/dead-letters/{topic}/replay"),
        "/v1/dead-letters/{topic}/{partition}/{offset}/{part}",
        # Names of streams and tables, which SHOW lists, too; figures of queries.
        *("/v1/completion", "/v1/check", "/v1/sources", "/v1/sources/{source}", "/v1/graph"),
    }
    assert all(
        row.guarded is False for row in ENDPOINTS if row.path.startswith(("/ksql", "/query"))
    )
