"""The endpoints of a SQL service: its sessions, its topics, the number of its last command."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

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
    return Endpoints.of(opened, facts, lambda number: _is_known(service, number))


def prepared_of(
    service: SqlService, sql: str, properties: Mapping[str, str]
) -> "PreparedLookup | None":
    """Prepare a look-up; None if a statement is something else. As `StatementRunner.prepared`."""
    ensure_runs(service)
    return StatementRunner(service, service.session(properties)).prepared(sql)


def _is_known(service: SqlService, number: int) -> bool:
    """Return whether a command is known; `CommandWaits` has waited for it."""
    if service.last_command < number:
        service.follow()
    return service.last_command >= number
