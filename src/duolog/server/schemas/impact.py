"""The readers that a draft of a schema would break, as far as the client may see them.

    topics                      READ
    consumer groups             DESCRIBE
    streams, tables             DESCRIBE on them
    queries of this server      DESCRIBE on all that they read and write
    applications                READ on the topics that they read

The computation reads command topics with the login of the server: the client gets findings about
sources that it may describe, and nothing else of them.

Source: ADR 0120; `duolog.registry.operations.rights`.
"""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from duolog.security.authorization.operations import Operation, ResourceType
from duolog.server.access.checks import Checks
from duolog.server.access.statement_rights import source_name
from duolog.server.schemas.requests import Draft

if TYPE_CHECKING:
    from duolog.server.schemas.place import RegistryPlace

_COMMAND_TOPIC: Final = re.compile(r"_duolog-ksql-.+_command_topic")
_NOTE: Final = "readers that you may not see are left out"


class VisibleToClient:
    """The topics and groups of a computation for one client; see `service.Visible`."""

    def __init__(self, checks: Checks) -> None:
        self._checks = checks

    def may_read_topic(self, topic: str) -> bool:
        """Return whether the client may read a topic; command topics are filtered later."""
        if _COMMAND_TOPIC.fullmatch(topic):
            return True
        return bool(self._checks.allowed(Operation.READ, ResourceType.TOPIC, [topic]))

    def may_see_group(self, group: str) -> bool:
        """Return whether the client may describe a consumer group."""
        return bool(self._checks.allowed(Operation.DESCRIBE, ResourceType.GROUP, [group]))


class VisibleReaders(NamedTuple):
    """The streams, tables and queries that a client may see.

    Attributes:
        service_id: the SQL service of this server.
        queries: ids of its queries that the client sees; those of other services are left out.
    """

    checks: Checks
    service_id: str
    queries: frozenset[str]

    def has(self, reader: Mapping[str, Any]) -> bool:
        """Return whether the client may see a reader of a report."""
        service = reader.get("service")
        if not service:
            return True
        if reader["kind"] == "query":
            return service == self.service_id and reader["name"] in self.queries
        name = source_name(service, reader["name"])
        return bool(self.checks.visible(ResourceType.SOURCE, [name]))


def impact_of(draft: Draft, place: "RegistryPlace", seen: VisibleReaders, records: int) -> Any:
    """Return the report about a draft whose subject and references the client may read.

    Raises:
        DuologError: the registry or the cluster does not answer, or the draft is not a schema.
    """
    schema = place.admin.resolved(draft.schema)
    checks = seen.checks
    report: Any = place.impact(
        draft.subject, schema, place.source, records, VisibleToClient(checks)
    )
    if not checks.decide:
        return report
    readers = [one for one in report["readers"] if seen.has(one)]
    return {
        **report,
        "readers": readers,
        # Notes name services and applications that the client may not know.
        "notes": [_NOTE],
        "verdict": _verdict(readers, broken=bool(report["records"]["broken"])),
    }


def _verdict(readers: Sequence[Mapping[str, Any]], *, broken: bool) -> str:
    """Return the worst verdict of what the client sees; what it does not see is unknown."""
    breaks = broken or any(one["verdict"] == "breaks" for one in readers)
    return "breaks" if breaks else "unknown"
