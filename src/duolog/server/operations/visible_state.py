"""The catalog and the queries that the client of a request may describe."""

import asyncio
from typing import Final

from duolog.ksql.session import parse
from duolog.ksql.statements.state import SessionState
from duolog.server.access.checks import Checks
from duolog.server.access.visible_service import VisibleService, ensure_runs
from duolog.server.errors import NOT_READY, RequestRefused
from duolog.server.messages import Request
from duolog.server.operations.context import ServerContext

_SHOW: Final = "SHOW QUERIES;"


async def visible_state(request: Request, context: ServerContext) -> SessionState:
    """Return streams, tables and queries with their states, without what the client may not see.

    A query is visible if all streams and tables that it reads and writes are.

    Raises:
        RequestRefused: there is no SQL service, it is terminated, or too many statements wait.
    """
    if context.sql is None:
        raise RequestRefused("The server has no SQL service", NOT_READY)
    ensure_runs(context.sql)
    service = VisibleService(context.sql, Checks(request.client, asyncio.get_running_loop()))
    mine = context.sql.session().state
    (node,) = parse(_SHOW)
    return await context.workers.run(service.state_for, node, mine)
