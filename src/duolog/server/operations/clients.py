"""Clients of the cluster: `GET /v1/clients`, for those who may describe the cluster.

    ?search=…&topic=…&role=producer|consumer|other&closed=true&skip=0&max=200

`server.clients.visible_clients` has the form of the answer.
"""

import asyncio
from collections.abc import Mapping
from typing import Final

from duolog.core.clock import SystemClock
from duolog.core.errors import DuologError
from duolog.server.access.checks import Checks
from duolog.server.clients.visible_clients import ClientsRequest, VisibleClients
from duolog.server.errors import NOT_READY, RequestRefused
from duolog.server.failures import failure_of
from duolog.server.messages import JSON, Request, Response, json_response
from duolog.server.operations.context import ServerContext

_CLOCK: Final = SystemClock()
_ROLES: Final = ("producer", "consumer", "other")
_KNOWN: Final = frozenset({"search", "topic", "role", "closed", "skip", "max"})
_PAGE: Final = "200"
_PAGE_MAX: Final = 1_000
_SKIP_MAX: Final = 1_000_000
_DIGITS_MAX: Final = 7


async def clients(request: Request, context: ServerContext) -> Response:
    """Answer with clients and producers seen lately.

    Raises:
        RequestRefused: a parameter is invalid, or no broker answers.
    """
    monitor, groups = context.clients, context.groups
    if monitor is None or groups is None:
        raise RequestRefused("The server has no cluster", NOT_READY)
    asked = read_clients(request.query)
    checks = Checks(request.client, asyncio.get_running_loop())
    visible = VisibleClients(monitor, groups.groups, checks, _CLOCK.now_ms)
    try:
        found = await context.workers.run(visible.page, asked)
    except DuologError as error:
        raise failure_of(error) from error
    return json_response(found, media_type=JSON)


def read_clients(given: Mapping[str, str]) -> ClientsRequest:
    """Return the request of a query string.

    Raises:
        RequestRefused: a parameter is unknown or invalid.
    """
    if unknown := sorted(given.keys() - _KNOWN):
        known = ", ".join(sorted(_KNOWN))
        raise RequestRefused(f"'{unknown[0][:100]}' is not a parameter; use {known}")
    role = given.get("role", "")
    if role and role not in _ROLES:
        raise RequestRefused(f"'role' is not one of {', '.join(_ROLES)}")
    closed = given.get("closed", "false")
    if closed not in ("true", "false"):
        raise RequestRefused("'closed' is neither true nor false")
    return ClientsRequest(
        given.get("search", "").strip().lower(),
        role,
        closed == "true",
        given.get("topic", ""),
        _number("skip", given.get("skip", "0"), 0, _SKIP_MAX),
        _number("max", given.get("max", _PAGE), 1, _PAGE_MAX),
    )


def _number(name: str, text: str, least: int, most: int) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS_MAX):
        raise RequestRefused(f"'{name}' is not a whole number")
    if not least <= int(text) <= most:
        raise RequestRefused(f"'{name}' is not between {least} and {most}")
    return int(text)
