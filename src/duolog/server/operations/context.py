"""The parts of a server that its operations use."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from duolog.server.access.server_access import ServerAccess
from duolog.server.access.session_cookie import SessionCookie, session_cookie
from duolog.server.limits import DEFAULT_LIMITS
from duolog.server.messages import Messages, Request, Response, Streamed
from duolog.server.operations.broker_health import BrokerHealth
from duolog.server.operations.counts import Counts
from duolog.server.operations.shares import Shares, topic_readers
from duolog.server.operations.workers import Workers

if TYPE_CHECKING:
    from duolog.runtime.administration.administration import Administration
    from duolog.runtime.clients.monitor import ClientMonitor
    from duolog.runtime.consumer_groups.monitor import GroupMonitor
    from duolog.runtime.demo_flights import DemoFlights
    from duolog.runtime.sql.service import SqlService
    from duolog.runtime.sql.tables.progress import Progress
    from duolog.server.ksql.endpoints import Endpoints
    from duolog.server.operations.changes import Changes
    from duolog.server.operations.command_waits import CommandWaits
    from duolog.server.operations.quick_lookups import QuickLookups
    from duolog.server.schemas.place import RegistryPlace


@dataclass(slots=True)
class ServerContext:
    """One server.

    Attributes:
        version: the version that clients see.
        cluster_id: the id of the Kafka cluster.
        service_id: the prefix of this service's topics.
        base_path: the prefix of all paths, without a slash at its end; usually empty.
        sql: catalog, queries and rows of tables; make a session for each request.
        workers: threads for statements: `await context.workers.run(...)`.
        readers: threads for responses that block between their pieces, such as push queries.
        ksql: ksqlDB's endpoints over `sql`; None in a server without them.
        commands: requests that wait for commands; None in a server without `sql`.
        quick: repeated look-ups, answered on the event loop; None in a server without them.
        registry: the schema registry; None in a server without one.
        administration: users, rules and settings of the cluster; None without one.
        changes: reports to pages what has changed; None in a server without `sql`.
        clients: clients of the cluster; None in a server without them.
        groups: groups of consumers of the cluster; None in a server without them.
        flights: the flights of the demo; None in a server without `sql`.
        address: `HOST:PORT` of this server.
        topic_readers: places for followers and exports of topics.
        stopping: set when the server stops; responses without an end then end.
    """

    version: str
    cluster_id: str
    service_id: str
    access: ServerAccess
    sql: "SqlService"
    workers: Workers
    readers: Workers
    health: BrokerHealth
    ksql: "Endpoints | None" = None
    commands: "CommandWaits | None" = None
    quick: "QuickLookups | None" = None
    registry: "RegistryPlace | None" = None
    administration: "Administration | None" = None
    changes: "Changes | None" = None
    clients: "ClientMonitor | None" = None
    groups: "GroupMonitor | None" = None
    flights: "DemoFlights | None" = None
    address: str = ""
    base_path: str = ""
    counts: Counts = field(default_factory=Counts)
    topic_readers: Shares = field(
        default_factory=partial(topic_readers, DEFAULT_LIMITS.topic_readers_max)
    )
    stopping: asyncio.Event = field(default_factory=asyncio.Event)

    def session_cookie(self, host: str, *, secure: bool) -> SessionCookie:
        """Return the cookie of clients that address this server by a header Host."""
        return session_cookie(host, self.base_path, self.access.cookie_scope, secure=secure)

    def tables_read(self) -> "dict[str, Progress]":
        """Return the progress of the first read of tables; none in a server without tables."""
        sql: SqlService | None = self.sql
        return {} if sql is None else sql.tables_read()


Operation = Callable[[Request, ServerContext], Awaitable[Response | Streamed | Messages]]
