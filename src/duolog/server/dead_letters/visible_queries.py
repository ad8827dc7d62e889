"""The queries whose letters a client may see: those whose sources and result it may describe."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from duolog.runtime.sql.persistent.spark_queries import application_id_of
from duolog.security.authorization.operations import ResourceType
from duolog.server.access.checks import Checks
from duolog.server.access.statement_rights import source_name

if TYPE_CHECKING:
    from duolog.runtime.sql.command_log.desired_query import DesiredQuery


class VisibleQueries(NamedTuple):
    """The persistent queries of a service, as one client may see them.

    Attributes:
        ids: the query of each application id that letters have.
        hidden: application ids of queries that the client may not see.
        named: visible queries by the dead-letter topic that they name.
    """

    ids: Mapping[str, str]
    hidden: frozenset[str]
    named: Mapping[str, list[str]]


def visible_queries(
    desired: "Mapping[str, DesiredQuery]", service_id: str, checks: Checks
) -> VisibleQueries:
    """Return the queries that a client may see."""
    of_query = {
        query_id: {source_name(service_id, name) for name in (one.query.sink, *one.query.reads)}
        for query_id, one in desired.items()
    }
    seen = checks.visible(ResourceType.SOURCE, set().union(*of_query.values()))
    ids: dict[str, str] = {}
    hidden = set()
    named: dict[str, list[str]] = {}
    for query_id, one in desired.items():
        application_id = application_id_of(one.checkpoint)
        if of_query[query_id] <= seen:
            ids[application_id] = query_id
            if one.query.dead_letters:
                named.setdefault(one.query.dead_letters, []).append(query_id)
        else:
            hidden.add(application_id)
    return VisibleQueries(ids, frozenset(hidden), named)
