"""Run calls about a cluster for a client, with the login of this server.

The client's rights were checked before, as for Kafka's requests: the login of this server may have
more. A server without users cannot check anything. If it has a login of its own, it refuses
all requests about users and rules, and all changes: everyone who reaches it would have its rights.

Thread: the event loop; the calls run on threads.
"""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from duolog.core.errors import DuologError
from duolog.server.administration.refusals import refused
from duolog.server.errors import FORBIDDEN, NOT_READY, RequestRefused
from duolog.server.messages import Request
from duolog.server.operations.context import ServerContext

if TYPE_CHECKING:
    from duolog.runtime.administration.administration import Administration

logger = logging.getLogger(__name__)
T = TypeVar("T")


def administration_of(context: ServerContext, *, secret: bool) -> "Administration":
    """Return the administration of the server's cluster.

    Args:
        context: the server.
        secret: whether the call is about users or rules, or changes something.

    Raises:
        RequestRefused: the server has none, or must not pass on its own rights.
    """
    found = context.administration
    if found is None:
        raise RequestRefused("The server has no cluster", NOT_READY)
    if secret:
        ensure_own_rights(context)
    return found


def ensure_own_rights(context: ServerContext) -> None:
    """Ensure that a change would be made by the rights of the client, not by those of the server.

    Raises:
        RequestRefused: the server has a login at the cluster, but no users.
    """
    found = context.administration
    if found is not None and found.has_login and context.access.sessions is None:
        raise RequestRefused(
            "This server has no users, but a login of its own, whose rights it does not pass on\n"
            "Start it with --cluster-users, so that each user has rights of its own.",
            FORBIDDEN,
        )


async def run(context: ServerContext, call: Callable[[], T]) -> T:
    """Return the result of a call that runs on a thread.

    Raises:
        RequestRefused: it has failed.
    """
    try:
        return await context.workers.run(call)
    except DuologError as error:
        raise refused(error) from error


def note_change(request: Request, change: str, name: str) -> None:
    """Write a change to the log: the cluster sees the login of this server."""
    logger.info(
        "changed by a client",
        extra={"user": request.client.name, "change": change, "object": name},
    )
