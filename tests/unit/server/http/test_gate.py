"""The gate: Host and Origin, logins, base path, and what is logged and counted."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Sequence

import pytest

from duolog.security.identity.principal import Identity
from duolog.server.access.authentication import UserAuthentication
from duolog.server.access.sessions import IDLE_S, LIFE_S, Sessions
from duolog.server.http.routes import ENDPOINTS, Endpoint
from duolog.server.limits import Limits
from duolog.server.messages import Request, Response, json_response
from duolog.server.operations.context import ServerContext
from unit.server.memory import Access, Client, MemoryServer, context
from unit.server.users import (
    ANN,
    BOB,
    BUSY,
    TOKEN,
    Authenticator,
    Clock,
    Rules,
    access_with_users,
)
from waiting import DEADLINE_S

OWN = "http://127.0.0.1:8088"


async def fail(_request: Request, _context: ServerContext) -> Response:
    raise ValueError


async def show(request: Request, _context: ServerContext) -> Response:
    return json_response(
        {
            "user": request.client.name,
            "host": request.client.identity.host,
            "query": dict(request.query),
            "a": request.headers.get("x-a"),
        }
    )


MORE = (
    *ENDPOINTS,
    Endpoint("GET", "/fail", fail),
    Endpoint("GET", "/show", show),
    Endpoint("POST", "/show", show),
)


def with_client(
    test: Callable[[Client], Awaitable[None]],
    server_context: ServerContext | None = None,
    hosts: Sequence[str] = (),
) -> None:
    async def run() -> None:
        async with asyncio.timeout(DEADLINE_S):
            server = MemoryServer(server_context, Limits(), MORE, hosts)
            await test(server.client())

    asyncio.run(run())


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 403),
        ({"Host": "evil.example:8088"}, 403),
        ({"Host": "localhost:8088"}, 200),
        ({"Host": "[::1]:8088"}, 200),
        ({"Host": "db.example"}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "https://127.0.0.1:8088"}, 403),
        ({"Origin": OWN}, 200),
        ({"Origin": "https://db.example"}, 200),
    ],
    ids=str,
)
@pytest.mark.parametrize("path", ["/info", "/chc/live"])
def test_a_page_of_another_site_is_refused(path: str, headers: dict[str, str], status: int) -> None:
    async def test(client: Client) -> None:
        reply = await client.ask("GET", path, b"", **headers)

        assert reply.status == status
        if status == 403:
            assert json.loads(reply.body)["error_code"] == 40300

    with_client(test, hosts=["db.example"])


@pytest.mark.parametrize(
    ("header", "challenges"), [("", 2), ("X-Requested-With: duolog-console\r\n", 1)]
)
def test_a_page_with_a_form_of_its_own_is_not_answered_by_the_dialog_of_a_browser(
    header: str, challenges: int
) -> None:
    async def test(client: Client) -> None:
        client.send(f"GET /session HTTP/1.1\r\nHost: 127.0.0.1:8088\r\n{header}\r\n".encode())
        await client.until(lambda: b"Unauthorized" in client.transport.written)

        head = client.transport.written.lower()
        assert head.startswith(b"http/1.1 401")
        assert head.count(b"www-authenticate: ") == challenges
        assert b"www-authenticate: bearer" in head

    with_client(test, context(access_with_users()))


def test_a_password_a_token_and_a_session_log_in() -> None:
    async def test(client: Client) -> None:
        by_password = await client.ask("GET", "/session", Authorization=ANN)
        by_token = await client.ask("GET", "/session", Authorization=TOKEN)
        begun = await client.ask("POST", "/session", Authorization=ANN)
        cookie = begun.headers["set-cookie"].partition(";")[0]
        by_cookie = await client.ask("GET", "/session", Cookie=cookie)
        other = await client.ask("GET", "/session", Cookie=cookie, Authorization=BOB)
        name = cookie.partition("=")[0]
        old = await client.ask("GET", "/session", Cookie=f"{name}=old; {cookie}")
        wrong = await client.ask("GET", "/session", Cookie=f"{name}=old; x{cookie}")

        logins = [by_password, by_token, by_cookie, old, other]
        assert [json.loads(each.body) for each in logins] == [
            {"user": "ann", "login": "password", "users": True},
            {"user": "ann", "login": "token", "users": True},
            {"user": "ann", "login": "session", "users": True},
            {"user": "ann", "login": "session", "users": True},
            {"user": "bob", "login": "password", "users": True},
        ]
        assert wrong.status == 401

    with_client(test, context(access_with_users()))


def test_a_token_gets_no_session() -> None:
    async def test(client: Client) -> None:
        assert (await client.ask("POST", "/session", Authorization=TOKEN)).status == 400

    with_client(test, context(access_with_users()))


def test_a_session_changes_nothing_without_the_header_origin() -> None:
    async def test(client: Client) -> None:
        begun = await client.ask("POST", "/session", Authorization=ANN)
        cookie = begun.headers["set-cookie"].partition(";")[0]
        without = await client.ask("POST", "/show", b"", Cookie=cookie)
        foreign = await client.ask(
            "POST", "/show", b"", Cookie=cookie, Origin="http://evil.example"
        )
        own = await client.ask("POST", "/show", b"", Cookie=cookie, Origin=OWN)

        assert (without.status, foreign.status, own.status) == (403, 403, 200)

    with_client(test, context(access_with_users()))


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://127.0.0.1:9999", 403),
        ("https://db.example:9999", 403),
        ("http://127.0.0.1:08088", 403),
        ("http://127.0.0.1:8088", 200),
        ("https://db.example", 200),
    ],
)
@pytest.mark.parametrize("kind", ["Cookie", "Authorization"])
def test_a_page_of_another_port_does_not_use_what_a_browser_sends_by_itself(
    kind: str, origin: str, status: int
) -> None:
    async def test(client: Client) -> None:
        begun = await client.ask("POST", "/session", Authorization=ANN)
        login = begun.headers["set-cookie"].partition(";")[0] if kind == "Cookie" else ANN
        for method in ("POST", "GET"):
            reply = await client.ask(method, "/show", b"", Origin=origin, **{kind: login})
            assert reply.status == status, method

    with_client(test, context(access_with_users()), hosts=["127.0.0.1", "db.example"])


@pytest.mark.parametrize("passed_s", [IDLE_S, LIFE_S])
def test_a_session_ends(passed_s: float) -> None:
    clock = Clock()

    async def test(client: Client) -> None:
        begun = await client.ask("POST", "/session", Authorization=ANN)
        cookie = begun.headers["set-cookie"].partition(";")[0]
        end = clock.now + passed_s
        while clock.now < end - IDLE_S / 2 and passed_s > IDLE_S:
            clock.now += IDLE_S / 2
            if clock.now < end:
                assert (await client.ask("GET", "/session", Cookie=cookie)).status == 200
        clock.now = end
        assert (await client.ask("GET", "/session", Cookie=cookie)).status == 401

    with_client(test, context(access_with_users(clock=clock)))


def test_a_password_that_changes_while_its_client_logs_in_gives_no_session() -> None:
    """A client can hold its body back, which is read after its password was checked."""
    epoch = 0

    class Changing(Authenticator):
        async def by_password(self, user: str, password: str, host: str) -> Identity:
            nonlocal epoch
            found = await super().by_password(user, password, host)
            epoch += 1
            return found

    sessions = Sessions(Clock(), lambda _: epoch)
    authentication = UserAuthentication(Changing(), Rules, sessions)

    async def test(client: Client) -> None:
        begun = await client.ask("POST", "/session", Authorization=ANN)
        cookie = begun.headers["set-cookie"].partition(";")[0]

        assert (await client.ask("GET", "/session", Cookie=cookie)).status == 401

    with_client(test, context(Access(authentication, sessions)))


def test_a_session_ends_by_a_logout() -> None:
    async def test(client: Client) -> None:
        begun = await client.ask("POST", "/session", Authorization=ANN)
        cookie = begun.headers["set-cookie"].partition(";")[0]
        ended = await client.ask("DELETE", "/session", Cookie=cookie, Origin=OWN)
        after = await client.ask("GET", "/session", Cookie=cookie)

        assert (ended.status, after.status) == (204, 401)
        assert "Max-Age=0" in ended.headers["set-cookie"]

    with_client(test, context(access_with_users()))


def test_too_many_passwords_at_once_are_refused() -> None:
    async def test(client: Client) -> None:
        reply = await client.ask("GET", "/info", Authorization=BUSY)

        assert (reply.status, json.loads(reply.body)["error_code"]) == (429, 42900)

    with_client(test, context(access_with_users()))


def test_without_users_there_are_no_sessions() -> None:
    async def test(client: Client) -> None:
        assert (await client.ask("POST", "/session")).status == 400
        who = await client.ask("GET", "/session")
        assert json.loads(who.body) == {"user": "ANONYMOUS", "login": "none", "users": False}

    with_client(test)


@pytest.mark.parametrize(
    ("target", "status"),
    [("/sql/info", 200), ("/sql/chc/live", 200), ("/info", 404), ("/sqlinfo", 404), ("/sql", 404)],
)
def test_all_paths_have_the_base_path(target: str, status: int) -> None:
    async def test(client: Client) -> None:
        assert (await client.ask("GET", target)).status == status

    with_client(test, context(base_path="/sql"))


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("http://127.0.0.1:8088/sql/info", 200),
        ("HTTPS://db.example/sql/info?x=1", 200),
        ("http://evil.example/sql/info", 403),
        ("http://127.0.0.1:8088/info", 404),
        ("http://127.0.0.1:8088", 404),
        ("http://ann@127.0.0.1:8088/sql/info", 404),
        ("ftp://127.0.0.1/sql/info", 404),
        ("*", 404),
    ],
)
def test_an_absolute_target_is_its_path_at_its_host(target: str, status: int) -> None:
    """PyPI's ksql sends them. The header Host does not count then, see RFC 9112, section 3.2.2."""

    async def test(client: Client) -> None:
        assert (await client.ask("GET", target)).status == status

    with_client(test, context(base_path="/sql"), hosts=["db.example"])


def test_the_header_host_does_not_count_with_an_absolute_target() -> None:
    async def test(client: Client) -> None:
        reply = await client.ask("GET", "http://127.0.0.1/info", b"", Host="evil.example")
        assert reply.status == 200

    with_client(test)


@pytest.mark.parametrize("target", ["/info", "/chc/live", "/sql/chc/live2", "/sql"])
def test_a_path_outside_the_base_path_needs_a_login_like_any_other(target: str) -> None:
    async def test(client: Client) -> None:
        assert (await client.ask("GET", target)).status == 401

    with_client(test, context(access_with_users(), base_path="/sql"))


def test_an_error_of_an_operation_is_logged_and_hidden(caplog: pytest.LogCaptureFixture) -> None:
    async def test(client: Client) -> None:
        reply = await client.ask("GET", "/fail")

        assert reply.status == 500
        assert json.loads(reply.body) == {
            "@type": "generic_error",
            "error_code": 50000,
            "message": "Internal Server Error",
        }
        assert (await client.ask("GET", "/info")).status == 200

    with_client(test)

    assert [record.message for record in caplog.records if record.exc_info] == ["request failed"]


def test_the_access_log_has_no_password(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="duolog.server.access")

    async def test(client: Client) -> None:
        await client.ask("GET", "/info?a=b", Authorization=ANN)
        await client.ask("GET", "/info", Authorization="Basic YW5uOndyb25n")

    with_client(test, context(access_with_users()))

    first, second = (vars(record) for record in caplog.records)
    assert (first["user"], first["path"], first["status"]) == ("ann", "/info", 200)
    assert ("user" in second, second["status"], second["error_code"]) == (False, 401, "40100")
    assert "YW5u" not in str([first, second])


def test_a_request_id_is_given_back_or_made() -> None:
    async def test(client: Client) -> None:
        given = await client.ask("GET", "/info", X_Request_Id="abc-1")
        made = await client.ask("GET", "/info", X_Request_Id="x" * 200)

        assert given.headers["x-request-id"] == "abc-1"
        assert len(made.headers["x-request-id"]) == 32
        assert given.headers["x-content-type-options"] == "nosniff"

    with_client(test)


def test_a_stopping_server_refuses_requests_and_is_alive_but_not_ready() -> None:
    async def run() -> None:
        stopping = context()
        stopping.stopping.set()
        client = MemoryServer(stopping).client()
        refused = await client.ask("GET", "/info")

        assert (refused.status, json.loads(refused.body)["error_code"]) == (503, 50303)
        assert (await client.ask("GET", "/chc/live")).status == 200
        assert (await client.ask("GET", "/chc/ready")).status == 503

    asyncio.run(run())


def test_a_request_that_a_stopping_server_gives_up_gets_an_answer_in_json() -> None:
    """It was "500 Internal Server Error" in plain text."""
    begun = asyncio.Event()

    async def wait(_request: Request, _context: ServerContext) -> Response:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    async def run() -> None:
        server = MemoryServer(endpoints=(*ENDPOINTS, Endpoint("GET", "/wait", wait)))
        client = server.client()
        client.send(b"GET /wait HTTP/1.1\r\nHost: 127.0.0.1:8088\r\n\r\n")
        await begun.wait()
        server.context.stopping.set()
        for task in tuple(server.door.state.tasks):
            task.cancel()

        reply = await client.reply()

        assert reply.status == 503
        assert json.loads(reply.body)["error_code"] == 50303

    asyncio.run(run())


def test_methods_of_a_path() -> None:
    async def test(client: Client) -> None:
        options = await client.ask("OPTIONS", "/session")
        head = await client.ask("HEAD", "/info")
        wrong = await client.ask("PUT", "/session")

        assert (options.status, options.headers["allow"]) == (204, "DELETE, GET, OPTIONS, POST")
        assert (head.status, head.body, int(head.headers["content-length"]) > 100) == (
            200,
            b"",
            True,
        )
        assert json.loads(wrong.body)["error_code"] == 40500

    with_client(test)


def test_parameters_are_decoded_and_repeated_headers_are_joined() -> None:
    async def test(client: Client) -> None:
        client.send(
            b"GET /show?x=%C3%A4+b&y=&x=2 HTTP/1.1\r\nHost: localhost\r\nX-A: 1\r\nx-a: 2\r\n\r\n"
        )
        value = json.loads((await client.reply()).body)
        wrong = await client.ask("GET", "/show?x=%FF")

        assert value == {
            "user": "ANONYMOUS",
            "host": "127.0.0.1",
            "query": {"x": "2", "y": ""},
            "a": "1, 2",
        }
        assert wrong.status == 400

    with_client(test)


def test_metrics_count_requests_by_endpoint_and_status() -> None:
    async def test(client: Client) -> None:
        await client.ask("GET", "/info")
        await client.ask("GET", "/info")
        await client.ask("GET", "/nope")
        text = (await client.ask("GET", "/metrics")).body.decode()

        assert 'duolog_server_requests_total{operation="info",status="200"} 2' in text
        assert 'duolog_server_requests_total{operation="none",status="404"} 1' in text
        assert 'duolog_server_request_seconds_count{operation="info"} 2' in text
        assert "duolog_server_connections 1\n" in text

    with_client(test)
