"""The checks that every request passes before an operation answers it.

    size of the headers    431
    Host, Origin           403   a web page must not use a server on loopback
    requests in progress   503   public endpoints are answered nevertheless; clients that do not
                                 send their bodies or read their responses make room
    stopping               503
    login                  401   429 if too many passwords are being checked; not for public ones
    requests of a client   429   if it has its share of those in progress
    base path              404

Then the application finds the endpoint, checks its right and reads the body. All errors of a
request end here, in ksqlDB's form. A client without a login cannot distinguish endpoints that
exist from others, and no byte of its body is kept.

Thread: the event loop.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import replace
from typing import Any

from duolog.registry.http.hosts import AllowedHosts
from duolog.server.access.authentication import TooManyChecks, Unauthenticated
from duolog.server.access.client import Login
from duolog.server.errors import (
    FORBIDDEN,
    HEADERS_TOO_LARGE,
    NOT_FOUND,
    OVERLOADED,
    SERVER_ERROR,
    SHUTTING_DOWN,
    TOO_MANY_REQUESTS,
    UNAUTHORIZED,
    UPGRADE_REQUIRED,
    RequestRefused,
)
from duolog.server.http.access_log import log_access
from duolog.server.http.bodies import ClientGone, Receive
from duolog.server.http.passage import KEY, PAGE_HEADER, Passage, Send, answering, token_of
from duolog.server.http.responses import send_response
from duolog.server.http.routes import PUBLIC_PATHS, PUBLIC_PREFIXES
from duolog.server.http.targets import use_origin_form
from duolog.server.limits import Limits
from duolog.server.messages import Response, error_response
from duolog.server.operations.context import ServerContext
from duolog.server.operations.shares import HOLDER, Shares, holder_of

logger = logging.getLogger(__name__)

Scope = MutableMapping[str, Any]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_SENT_BY_BROWSERS = frozenset({Login.SESSION, Login.PASSWORD})
"""Browsers send these by themselves, also with requests of pages of other servers."""
_TURNS_MAX = 200
_TURNS_OF_END = 4
_FULL = "Too many requests are being answered"


class Gate:
    """An ASGI application around another one."""

    def __init__(
        self,
        application: Application,
        context: ServerContext,
        hosts: AllowedHosts,
        limits: Limits,
    ) -> None:
        self._application = application
        self._context = context
        self._hosts = hosts
        self._limits = limits
        self._requests = Shares(
            limits.requests_max,
            full=_FULL,
            noun="places for requests that are being answered",
            hint="Wait for the end of some of them before you send more.",
        )
        self.evict: Callable[[], bool] = lambda: False
        """Closes a connection whose request waits for its client, if there is one."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; only errors after the start of the response are raised."""
        assert scope["type"] in {"http", "websocket"}, scope["type"]
        counts = self._context.counts
        counts.in_progress += 1
        passage: Passage | None = None
        try:
            use_origin_form(scope)
            passage = Passage(scope, send)
            scope[KEY] = passage
            await self._answer(scope, passage, receive)
        except RequestRefused as error:  # Of the headers: there is no passage yet.
            refused = error_response(error)
            await send_response(refused, answering(scope, send), head=scope["method"] == "HEAD")
        finally:
            counts.in_progress -= 1
            if passage is not None:
                # The passage refers to what sends, and that to the scope: a reference cycle.
                scope.pop(KEY, None)
                passage.give_back()
                self._note(passage)

    async def _answer(self, scope: Scope, passage: Passage, receive: Receive) -> None:
        try:
            await self._pass(scope, passage)
            await self._application(scope, receive, passage.send)
        except RequestRefused as error:
            if passage.started:
                raise
            passage.note = str(error.code)
            await self._refuse(error, passage)
        except ClientGone:
            pass
        except asyncio.CancelledError:
            # A stopping server cancels what is not finished in time, for instance because no
            # broker answers. Without an answer here, uvicorn sends one that is not JSON.
            if passage.started or not self._context.stopping.is_set():
                raise
            passage.note = str(SHUTTING_DOWN)
            await self._refuse(_shutting_down(), passage)
        except Exception as error:  # The edge of the request.
            logger.exception("request failed", extra={"operation": passage.operation})
            if passage.started:
                raise
            passage.note = str(SERVER_ERROR)
            internal = RequestRefused("Internal Server Error", SERVER_ERROR)
            await self._refuse(internal, passage)
            del error

    async def _pass(self, scope: Scope, passage: Passage) -> None:
        head_bytes = sum(len(name) + len(value) + 4 for name, value in scope["headers"])
        if head_bytes + passage.target_bytes > self._limits.head_bytes_max:
            raise RequestRefused("The headers of the request are too large", HEADERS_TOO_LARGE)
        self._ensure_same_site(passage)
        base = self._context.base_path
        path: str = scope["path"]
        below = path == base or path.startswith(f"{base}/")
        if not (below and _is_public(path.removeprefix(base))):
            await self._make_room()
            self._ensure_capacity()
            await self._log_in(scope, passage)
            HOLDER.set(holder_of(passage.client, passage.host))
            passage.give_back = self._requests.take()
        else:
            HOLDER.set(holder_of(passage.client, passage.host))
        if not below:
            raise RequestRefused("HTTP 404 Not Found", NOT_FOUND)
        scope["root_path"] = base

    def _ensure_same_site(self, passage: Passage) -> None:
        host, origin = passage.headers.get("host"), passage.headers.get("origin")
        if not self._hosts.allows_host(host):
            raise RequestRefused(
                f"The host '{(host or '')[:100]}' is not allowed here. "
                "Start `duolog server` with --allow-host, or `duolog start` with --profile team "
                "and --host, to allow it.",
                FORBIDDEN,
            )
        own = f"{'https' if passage.secure else 'http'}://{host}"
        if origin != own and not self._hosts.allows_origin(origin):
            raise RequestRefused(f"The origin '{(origin or '')[:100]}' is not allowed", FORBIDDEN)

    async def _make_room(self) -> None:
        """Close the connection of a request that waits for its client, if all places are taken."""
        # The task of that request ends some turns of the loop later, and another request may have
        # taken its place by then.
        for turn in range(_TURNS_MAX):
            if self._has_room():
                return
            if turn % _TURNS_OF_END == 0 and not self.evict():
                return
            await asyncio.sleep(0)

    def _has_room(self) -> bool:
        return self._requests.taken < self._limits.requests_max

    def _ensure_capacity(self) -> None:
        if not self._has_room():
            raise RequestRefused(_FULL, OVERLOADED)
        if self._context.stopping.is_set():
            raise _shutting_down()

    async def _log_in(self, scope: Scope, passage: Passage) -> None:
        headers = passage.headers
        authorization = headers.get("authorization")
        if authorization is None and passage.is_socket and (token := token_of(scope)) is not None:
            authorization = f"Bearer {token}"
        cookies: tuple[str, ...] = ()
        if (sent := headers.get("cookie")) is not None:
            cookie = self._context.session_cookie(headers.get("host", ""), secure=passage.secure)
            cookies = cookie.tokens(sent)
        try:
            client = await self._context.access.authentication.client(
                authorization, cookies, passage.host
            )
        except Unauthenticated:
            raise RequestRefused("Unauthorized", UNAUTHORIZED) from None
        except TooManyChecks:
            raise RequestRefused(
                "Too many passwords are being checked now", TOO_MANY_REQUESTS
            ) from None
        # A WebSocket is not subject to the browser's rules about other sites.
        guarded = passage.is_socket or passage.method not in _READING
        if client.login is Login.SESSION and guarded and "origin" not in headers:
            # A browser sends Origin with each such request; it was checked above.
            raise RequestRefused("A session needs the header Origin", FORBIDDEN)
        if client.login in _SENT_BY_BROWSERS and _is_elsewhere(
            headers.get("origin"), headers.get("host", "")
        ):
            raise RequestRefused(
                f"A page of '{headers['origin'][:100]}' must not use a login at this server\n"
                "Open the page of this server, or send the request without a browser.",
                FORBIDDEN,
            )
        passage.client = client

    async def _refuse(self, error: RequestRefused, passage: Passage) -> None:
        response = error_response(error)
        if error.code == UNAUTHORIZED:
            challenges = self._challenges(passage)
            response = Response(
                response.body,
                response.status,
                response.media_type,
                tuple(("WWW-Authenticate", each) for each in challenges),
                response.note,
            )
        if error.code == UPGRADE_REQUIRED:
            response = replace(response, headers=(("Upgrade", "websocket"),))
        await send_response(response, passage.send, head=passage.method == "HEAD")

    def _challenges(self, passage: Passage) -> tuple[str, ...]:
        challenges = self._context.access.authentication.challenges
        if PAGE_HEADER not in passage.headers:
            return challenges
        # A page that asks by a script has its own form: for Basic, a browser would show a dialog.
        return tuple(each for each in challenges if not each.startswith("Basic"))

    def _note(self, passage: Passage) -> None:
        seconds = passage.seconds
        self._context.counts.note(passage.operation or "none", passage.status, seconds)
        log_access(
            client=passage.host,
            method=passage.method,
            path=passage.path,
            status=passage.status,
            seconds=seconds,
            user=passage.client.name if passage.client.login is not Login.NONE else "",
            note=passage.note,
            is_poll=passage.is_poll,
        )


def _is_elsewhere(origin: str | None, host: str) -> bool:
    """Return whether a listed origin is another server of the same machine, by its port.

    Browsers send cookies to all ports of a host, and every user of a machine may listen on one. A
    proxy that replaces the header Host listens on the port of its scheme.

    Example:
        >>> _is_elsewhere("http://127.0.0.1:9999", "127.0.0.1:8088")
        True
        >>> _is_elsewhere("https://db.example", "127.0.0.1:8088"), _is_elsewhere(None, "h:1")
        (False, False)
    """
    if origin is None:
        return False
    _, _, address = origin.partition("://")
    has_port = ":" in address.rpartition("]")[2]
    return has_port and address.lower() != host.lower()


def _is_public(path: str) -> bool:
    return path in PUBLIC_PATHS or path.startswith(PUBLIC_PREFIXES)


def _shutting_down() -> RequestRefused:
    return RequestRefused("The server is shutting down", SHUTTING_DOWN)
