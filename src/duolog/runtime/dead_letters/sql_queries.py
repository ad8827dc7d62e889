"""The dead-letter topics of the persistent queries of SQL services."""

from collections.abc import Mapping

from duolog.runtime.sql.command_log.command_topic import CommandTopic
from duolog.runtime.sql.command_log.desired_query import DesiredQuery
from duolog.runtime.sql.command_log.replayed_catalog import ReplayedCatalog
from duolog.security.clients.brokers import Brokers


def letters_of(brokers: Brokers, service_id: str) -> Mapping[str, str]:
    """Return the dead-letter topic of each query of a service that has one, by query id.

    Raises:
        CommandDamaged: the statements of the service cannot be read.
        KafkaError: the broker does not answer.
    """
    topic = CommandTopic(brokers, service_id)
    try:
        catalog = ReplayedCatalog(topic)
        catalog.follow()
        return dead_letters(catalog.wanted)
    finally:
        topic.close()


def dead_letters(wanted: Mapping[str, DesiredQuery]) -> Mapping[str, str]:
    """Return the dead-letter topic of each query that has one."""
    return {
        query_id: one.query.dead_letters
        for query_id, one in wanted.items()
        if one.query.dead_letters
    }
