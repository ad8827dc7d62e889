"""The SQL service as one client may see it: what it may not describe does not exist.

A view instead of checks, as in the registry (ADR 0127): SHOW, DESCRIBE, EXPLAIN and the errors of
other statements cannot show what the state of the session lacks. `GuardedSession` checks the
rights before a statement runs. Statements that write are checked again on the state that they
change: meanwhile, another request may have declared a source of the same name over another topic.

A session may be older than a request to terminate the service, so that is checked here, too.

Threads: as `SqlService`.
"""

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from duolog.ksql.syntax import nodes
from duolog.security.authorization.operations import ResourceType
from duolog.server.access.checks import Checks
from duolog.server.access.statement_rights import (
    Known,
    rights_after,
    rights_before,
    source_name,
)
from duolog.server.errors import SHUT_DOWN, SHUTTING_DOWN, RequestRefused

if TYPE_CHECKING:
    from duolog.ksql.settings import Settings
    from duolog.ksql.statements.state import Done, SessionState
    from duolog.runtime.sql.service import SqlService


class VisibleService:
    """Has all attributes of a `SqlService`; states are reduced to what a client may see."""

    def __init__(self, service: "SqlService", checks: Checks) -> None:
        self._service = service
        self._checks = checks

    def __getattr__(self, name: str) -> Any:
        return getattr(self._service, name)

    def state_for(self, node: exp.Expression, mine: "SessionState") -> "SessionState":
        """Return the state of a session for its next statement; see `SqlService.state_for`."""
        ensure_runs(self._service)
        state = self._service.state_for(node, mine)
        if self._checks.decide:
            if isinstance(node, nodes.InsertValues | nodes.DeleteRows):
                self._checks.ensure(rights_before(node, self._known(state)))
            self._reduce(state)
            if isinstance(node, nodes.Show):
                partitions = state.catalog.partitions
                for topic in partitions.keys() - self._checks.visible(
                    ResourceType.TOPIC, partitions
                ):
                    del partitions[topic]
        return state

    def change(self, node: exp.Expression, text: str, given: "Settings") -> "Done":
        """Run a statement that may change the catalog; see `SqlService.change`."""

        def ensure(before: "SessionState", after: "SessionState") -> None:
            ensure_runs(self._service)
            self._checks.ensure(
                (*rights_before(node, self._known(before)), *rights_after(node, self._known(after)))
            )

        return self._service.change(node, text, given, ensure)

    def _known(self, state: "SessionState") -> Known:
        return Known(self._service.service_id, state.catalog.sources, state.queries)

    def _reduce(self, state: "SessionState") -> None:
        service_id = self._service.service_id
        sources = state.catalog.sources
        names = {source_name(service_id, name): name for name in sources}
        seen = self._checks.visible(ResourceType.SOURCE, names)
        hidden = {name for full, name in names.items() if full not in seen}
        for name in hidden:
            del sources[name]
        for query_id, query in tuple(state.queries.items()):
            if query.sink in hidden or not hidden.isdisjoint(query.reads):
                del state.queries[query_id]


def ensure_runs(service: "SqlService") -> None:
    """Ensure that the service is not terminated.

    Raises:
        RequestRefused: it is, or it is about to be.
    """
    if service.ending:
        ended = service.ending == "TERMINATED"
        raise RequestRefused(
            "The server is shut down" if ended else "The server is shutting down",
            SHUT_DOWN if ended else SHUTTING_DOWN,
        )
