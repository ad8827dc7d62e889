"""The cookie of a session: names that keep servers apart, and headers."""

import asyncio

import pytest

from duolog.core.clock import SystemClock
from duolog.server.access.console_token import ConsoleToken
from duolog.server.access.session_cookie import session_cookie
from unit.server.memory import Access, MemoryServer, context
from unit.server.users import ANN, access_with_users

HOST = "127.0.0.1:8088"


@pytest.mark.parametrize(
    ("secure", "base_path", "prefix"),
    [
        (False, "", ""),
        (False, "/sql", ""),
        (True, "", "__Host-"),
        (True, "/sql", "__Secure-"),
    ],
)
def test_the_cookie_is_kept_from_scripts_other_sites_and_pages_without_encryption(
    base_path: str, prefix: str, *, secure: bool
) -> None:
    cookie = session_cookie(HOST, base_path, "x", secure=secure)

    assert cookie.name.startswith(f"{prefix}duolog_session_")
    assert set(cookie.set("token", 60).split("; ")) == {
        f"{cookie.name}=token",
        f"Path={base_path or '/'}",
        "HttpOnly",
        "SameSite=Strict",
        "Max-Age=60",
        *(["Secure"] if secure else []),
    }
    assert cookie.removal().startswith(f"{cookie.name}=; Path={base_path or '/'}; ")


def test_servers_that_a_browser_does_not_separate_have_names_of_their_own() -> None:
    names = [
        session_cookie(host, base_path, scope, secure=False).name
        for host in ("127.0.0.1:8088", "127.0.0.1:9088", "127.0.0.1")
        for base_path in ("", "/a", "/b")
        for scope in ("10.0.0.1:8088", "10.0.0.2:8088")
    ]

    assert len(set(names)) == len(names) == 18
    assert session_cookie("DB.example", "", "", secure=False) == session_cookie(
        "db.example", "", "", secure=False
    )


def test_a_header_has_no_end_of_cookies_that_are_tried() -> None:
    cookie = session_cookie(HOST, "", "", secure=False)
    many = "; ".join(f"{cookie.name}={number}" for number in range(100))

    assert len(cookie.tokens(many)) == 8
    assert cookie.tokens(f"{cookie.name}={'x' * 129}; {cookie.name}=; other=1") == ()
    assert cookie.tokens(None) == ()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((HOST, "token-1"), ("127.0.0.1:9088", "token-2")),
        # A proxy serves both on one host and port.
        (("db.example", "token-1"), ("db.example", "token-2")),
        ((HOST, None), ("127.0.0.1:9088", None)),
    ],
)
def test_a_login_at_one_server_does_not_end_that_at_another_of_the_same_host(
    first: tuple[str, str | None], second: tuple[str, str | None]
) -> None:
    """A browser keeps cookies by name and path, and sends them to all ports."""
    jar: dict[str, str] = {}

    async def body() -> None:
        clients = []
        for host, token in (first, second):
            access = access_with_users()
            if token is not None:
                access = Access(console_token=ConsoleToken(token * 5, SystemClock()))
            server = MemoryServer(context(access), hosts=["127.0.0.1", "db.example"])
            login = ANN if token is None else f"Bearer {token * 5}"
            client = server.client()
            reply = await client.ask("POST", "/session", Host=host, Authorization=login)
            assert reply.status == 204
            name, _, value = reply.headers["set-cookie"].partition(";")[0].partition("=")
            jar[name] = value
            clients.append((client, host))
        cookies = "; ".join(f"{name}={value}" for name, value in jar.items())
        for client, host in clients:
            reply = await client.ask("GET", "/session", Host=host, Cookie=cookies)
            assert b'"login":"session"' in reply.body, host

    asyncio.run(body())
