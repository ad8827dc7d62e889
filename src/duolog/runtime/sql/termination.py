"""Terminate a service: its queries stop, and its topics are deleted.

    stop the queries ─▶ sinks that match ─▶ internal topics and checkpoints ─▶ the service's topics
                                                                    the command topic comes last ◀┘

While other servers run the service, nothing is changed: their queries would write to topics that
are deleted.

After a crash in between, the command topic still has the catalog: a restarted server runs the
queries that are left, and a second request continues. After the last step, a restarted server has
an empty catalog. Topics of declared streams and tables are never deleted.

Source: ksqlDB's documentation of `/ksql/terminate`.
"""

from collections.abc import Callable, Iterable
from typing import Final, Protocol

from duolog.ksql.catalog.catalog import SourceInfo
from duolog.runtime.sql.command_log.command_topic import command_topic_of
from duolog.runtime.sql.command_log.replayed_catalog import ReplayedCatalog
from duolog.runtime.sql.command_log.topics import Topics
from duolog.runtime.sql.errors import ServiceShared
from duolog.runtime.sql.figures.published import figures_topic_of
from duolog.runtime.sql.persistent.places import places_topic_of
from duolog.runtime.sql.persistent.query_states import states_topic_of
from duolog.runtime.sql.persistent.service_queries import ServiceQueries

OF_SERVICE: Final = (states_topic_of, places_topic_of, figures_topic_of, command_topic_of)
"""Names of the topics of a service, in the order in which they are deleted."""


class Service(Protocol):
    """The service that ends."""

    service_id: str
    ending: str
    topics: Topics

    def follow(self) -> None:
        """Read what others have written."""


def terminate(
    service: Service,
    queries: ServiceQueries,
    replayed: ReplayedCatalog,
    forget: Callable[[str], None],
    doomed: Callable[[str], bool],
    *,
    interrupt: Callable[[], None],
) -> None:
    """Stop the queries of a service for good, and delete its topics; arguments are as below.

    `interrupt` ends the queries of clients, after new ones are refused.

    Raises:
        ServiceShared: other servers run the service; nothing has changed.
        BrokerUnavailable, KafkaError: the broker does not answer, or refuses.
    """
    if others := queries.others():
        names = sorted(one.address or str(one) for one in others)
        raise ServiceShared(service.service_id, ", ".join(names))
    service.ending = "TERMINATING"
    interrupt()
    queries.give_up()
    queries.stop()
    service.follow()
    ended = [one.checkpoint for one in replayed.wanted.values()]
    sources, delete = replayed.catalog.sources.values(), service.topics.delete
    delete_remains(service.service_id, sources, ended, doomed, forget=forget, delete=delete)
    replayed.end()
    service.ending = "TERMINATED"


def delete_remains(
    service_id: str,
    sources: Iterable[SourceInfo],
    checkpoints: Iterable[str],
    doomed: Callable[[str], bool],
    *,
    forget: Callable[[str], None],
    delete: Callable[[str], None],
) -> None:
    """Delete the topics and checkpoints of a service whose queries have stopped.

    Args:
        service_id: the service.
        sources: its streams and tables.
        checkpoints: names of the checkpoints of its queries.
        doomed: returns true for the topic of a sink that is to be deleted.
        forget: deletes a checkpoint with the internal topics of its query.
        delete: deletes a topic, if it exists.

    Raises:
        KafkaError: the broker refuses.
    """
    for topic in sorted({one.topic for one in sources if one.query and doomed(one.topic)}):
        delete(topic)
    for checkpoint in checkpoints:
        forget(checkpoint)
    for name in OF_SERVICE:
        delete(name(service_id))
