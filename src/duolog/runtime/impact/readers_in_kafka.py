"""Read what SQL engines and applications have recorded in a Kafka cluster about what they read."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from duolog.engine.changelog.commit_topic import CommitTopic
from duolog.engine.settings import EngineConfig
from duolog.ksql.statements.state import SessionState
from duolog.runtime.sql.command_log.command_topic import CommandTopic
from duolog.runtime.sql.command_log.replayed_catalog import ReplayedCatalog
from duolog.security.clients.brokers import Brokers

_OF_SQL: Final = "_duolog-ksql-"


class ReadersInKafka:
    """The catalogs of SQL engines, and the topics of applications.

    Args:
        brokers: brokers of the cluster.
    """

    def __init__(self, brokers: Brokers | str) -> None:
        self._brokers = Brokers.of(brokers)

    def catalog(self, service: str) -> SessionState:
        """Return the catalog of an SQL engine, replayed from its command topic.

        Raises:
            CommandDamaged: a record of the topic cannot be read.
            KafkaError: the broker does not answer.
        """
        topic = CommandTopic(self._brokers, service)
        try:
            catalog = ReplayedCatalog(topic)
            catalog.follow()
            return catalog.state
        finally:
            topic.close()

    def applications(self, names: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
        """Return the applications among some names, with the topics that they read.

        The names are those of topics that look like commit topics; those of users have no such
        records and are left out.

        Raises:
            BrokerUnreachable: no broker answers in time.
        """
        found: dict[str, tuple[str, ...]] = {}
        config = EngineConfig.of_brokers(self._brokers, Path())
        for name in names:
            if name.startswith(_OF_SQL):  # A query, which its catalog describes.
                continue
            fixed = CommitTopic(config, name).read_applications()
            topics = fixed[-1].get("topics") if fixed else None
            if isinstance(topics, dict):
                found[name] = tuple(sorted(map(str, topics)))
        return found
