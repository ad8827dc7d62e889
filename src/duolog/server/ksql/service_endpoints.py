"""The endpoints of a SQL service: its sessions, its topics, the number of its last command."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from duolog.runtime.sql.service import SqlService
from duolog.runtime.sql.statement_runner import StatementRunner
from duolog.server.access.checks import Checks
from duolog.server.access.client_properties import ClientProperties, limits_of
from duolog.server.access.guarded_session import GuardedSession
from duolog.server.access.visible_service import VisibleService, ensure_runs
from duolog.server.ksql.endpoints import Endpoints
from duolog.server.ksql.entities import ServerFacts
from duolog.server.ksql.statements import StatementSession

if TYPE_CHECKING:
    from duolog.runtime.sql.reply.prepared import PreparedLookup

_WAIT_S: Final = 5.0
"""Time to wait for a command that a request names, as in ksqlDB."""
_PAUSE_S: Final = 0.05


def endpoints_of(service: SqlService, address: str) -> Endpoints:
    """Return the endpoints of a service.

    Args:
        service: the service; the caller closes it after the last request.
        address: the address of this server, as `host:port`.
    """
    of_server = limits_of(service.session().state.settings)

    def opened(
        properties: Mapping[str, str], variables: Mapping[str, str], checks: Checks
    ) -> StatementSession:
        ensure_runs(service)
        rules = ClientProperties(checks, of_server)
        rules.ensure(properties)
        visible: Any = VisibleService(service, checks)
        inner = StatementRunner(visible, service.session(properties, variables))
        return GuardedSession(inner, service.service_id, checks, rules)

    facts = ServerFacts(
        address, lambda: service.last_command, service.topics.replicas, service.figures.all
    )
    return Endpoints.of(opened, facts, lambda number: _wait_for(service, number))


def prepared_of(
    service: SqlService, sql: str, properties: Mapping[str, str]
) -> "PreparedLookup | None":
    """Prepare a look-up; None if a statement is something else. As `StatementRunner.prepared`."""
    ensure_runs(service)
    return StatementRunner(service, service.session(properties)).prepared(sql)


def _wait_for(service: SqlService, number: int) -> bool:
    """Read the command topic up to a command; return false if it is not written in time."""
    deadline = time.monotonic() + _WAIT_S
    while service.last_command < number:
        if time.monotonic() > deadline:
            return False
        service.follow()
        if service.last_command < number:
            time.sleep(_PAUSE_S)
    return True
