"""Groups of consumers: list, show, reset and delete them; see `server.groups`.

    GET     /v1/groups                  groups of all protocols, with members and lag
    GET     /v1/topics/{topic}/readers  groups that read a topic, with their lag in it
    GET     /v1/groups/{group}          one with its members and partitions
    POST    /v1/groups/{group}/reset    move committed offsets, or preview it
    DELETE  /v1/groups/{group}          delete a group without members
    DELETE  /v1/groups/{group}/offsets  delete committed offsets of topics

`server.groups.requests` and `server.groups.shown` have the forms. Names of groups may have slashes
and any other characters: clients encode them.
"""

import asyncio
import logging
from typing import TYPE_CHECKING, Final, TypeVar

from duolog.core.clock import SystemClock
from duolog.core.errors import DuologError, KafkaError
from duolog.protocol.error_codes import ErrorCode
from duolog.server.access.checks import Checks
from duolog.server.errors import CONFLICT, FORBIDDEN, NOT_FOUND, NOT_READY, RequestRefused
from duolog.server.failures import failure_of, message_of
from duolog.server.groups.requests import (
    read_list,
    read_offsets_deletion,
    read_page,
    read_reset,
)
from duolog.server.messages import JSON, Request, Response, json_response
from duolog.server.operations.context import ServerContext

if TYPE_CHECKING:
    from collections.abc import Callable

    from duolog.runtime.consumer_groups.monitor import GroupMonitor
    from duolog.server.groups.visible_groups import VisibleGroups

logger = logging.getLogger(__name__)

_CLOCK: Final = SystemClock()
_STATUSES: Final = {
    ErrorCode.GROUP_ID_NOT_FOUND: NOT_FOUND,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: NOT_FOUND,
    ErrorCode.NON_EMPTY_GROUP: CONFLICT,
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: CONFLICT,
    ErrorCode.UNKNOWN_MEMBER_ID: CONFLICT,
    ErrorCode.ILLEGAL_GENERATION: CONFLICT,
    ErrorCode.REBALANCE_IN_PROGRESS: CONFLICT,
    ErrorCode.GROUP_AUTHORIZATION_FAILED: FORBIDDEN,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: FORBIDDEN,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: NOT_READY,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: NOT_READY,
    ErrorCode.NOT_COORDINATOR: NOT_READY,
}
_HINTS: Final = {
    ErrorCode.NON_EMPTY_GROUP: "Stop its members first.",
    ErrorCode.UNKNOWN_MEMBER_ID: "A member has joined the group. Stop its members first.",
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: "A member is subscribed to the topic. Stop it first.",
    ErrorCode.NOT_COORDINATOR: "Another broker serves the group now. Try again.",
}
T = TypeVar("T")


async def groups(request: Request, context: ServerContext) -> Response:
    """Answer with groups that the client may see."""
    asked = read_list(request.query)
    return json_response(await _run(request, context, lambda of: of.page(asked)), media_type=JSON)


async def group(request: Request, context: ServerContext) -> Response:
    """Answer with one group."""
    skip, limit = read_page(request.query)
    name = request.path["group"]
    found = await _run(request, context, lambda of: of.one(name, skip, limit))
    return json_response(found, media_type=JSON)


async def topic_readers(request: Request, context: ServerContext) -> Response:
    """Answer with the groups that read a topic."""
    found = await _run(request, context, lambda of: of.readers(request.path["topic"]))
    return json_response(found, media_type=JSON)


async def reset_group(request: Request, context: ServerContext) -> Response:
    """Reset a group, or answer with what would change."""
    _ensure_cluster(context)
    asked = read_reset(request.body)
    name = request.path["group"]
    found = await _run(request, context, lambda of: of.reset(name, asked))
    if not asked.preview:
        _note(request, "reset", name)
    return json_response(found, media_type=JSON)


async def delete_group(request: Request, context: ServerContext) -> Response:
    """Delete a group."""
    name = request.path["group"]
    found = await _run(request, context, lambda of: of.delete(name))
    _note(request, "deleted", name)
    return json_response(found, media_type=JSON)


async def delete_group_offsets(request: Request, context: ServerContext) -> Response:
    """Delete committed offsets of a group."""
    _ensure_cluster(context)
    scopes = read_offsets_deletion(request.body)
    name = request.path["group"]
    found = await _run(request, context, lambda of: of.delete_offsets(name, scopes))
    _note(request, "offsets deleted", name)
    return json_response(found, media_type=JSON)


def _note(request: Request, change: str, name: str) -> None:
    """Write a change to the log: the cluster sees the login of this server."""
    fields = {"user": request.client.name, "change": change, "group": name}
    logger.info("group changed by a client", extra=fields)


async def _run(request: Request, context: ServerContext, call: "Callable[[VisibleGroups], T]") -> T:
    """Run a call on a thread, and translate its errors.

    Raises:
        RequestRefused: it has failed.
    """
    monitor = _ensure_cluster(context)
    checks = Checks(request.client, asyncio.get_running_loop())

    def run() -> T:
        from duolog.server.groups.visible_groups import VisibleGroups  # noqa: PLC0415 - loaded late

        return call(VisibleGroups(monitor, checks, _CLOCK.now_ms))

    try:
        return await context.workers.run(run)
    except DuologError as error:
        raise _refused(error) from error


def _ensure_cluster(context: ServerContext) -> "GroupMonitor":
    if context.groups is None:
        raise RequestRefused("The server has no cluster", NOT_READY)
    return context.groups


def _refused(error: DuologError) -> RequestRefused:
    if isinstance(error, KafkaError) and error.code in _STATUSES:
        code = ErrorCode(error.code)
        hint = "" if error.hint else _HINTS.get(code, "")
        return RequestRefused("\n".join(filter(None, (message_of(error), hint))), _STATUSES[code])
    return failure_of(error)
