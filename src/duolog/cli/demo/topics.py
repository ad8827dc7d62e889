"""Create the demo's topics, and count the records in their partitions.

The high watermarks are the only record of a run's progress: the n-th record of a partition is
always the same.
"""

from concurrent.futures import Future
from typing import Final

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from duolog.cli.kafka import clients
from duolog.cli.kafka.clients import REQUEST_TIMEOUT_S
from duolog.cli.kafka.cluster import Cluster
from duolog.core.errors import KafkaError

FLIGHTS: Final = "flights"
AIRLINES: Final = "airlines"
AIRPORTS: Final = "airports"
PLANES: Final = "planes"
TABLES: Final = (AIRLINES, AIRPORTS, PLANES)
BY_AIRLINE: Final = "flights-by-airline"
BY_DESTINATION: Final = "flights-by-destination"
RESULTS: Final = (BY_AIRLINE, BY_DESTINATION)
OF_QUERIES: Final = ("flights-with-airline", "flights-with-airport")
FLIGHTS_PARTITIONS: Final = 2
GROUP: Final = "duolog-demo"
"""The group of the demo's consumers, which commit no offsets."""

# Flights of 2013 are older than any retention by time.
_FLIGHTS_CONFIG: Final = {"retention.ms": "-1"}
_TABLE_CONFIG: Final = {"cleanup.policy": "compact"}
_ALREADY_EXISTS: Final = 36
_UNKNOWN_TOPIC: Final = 3


class DemoTopics:
    """The topics of the demo on one cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._admin: AdminClient = cluster.admin()

    def create(self, table_partitions: int = 1) -> None:
        """Create the missing source topics; the tables get `table_partitions`.

        Raises:
            KafkaError: no broker answers, or it refuses.
        """
        wanted = [NewTopic(FLIGHTS, FLIGHTS_PARTITIONS, config=_FLIGHTS_CONFIG)]
        wanted += [NewTopic(table, table_partitions, config=_TABLE_CONFIG) for table in TABLES]
        for topic, future in self._admin.create_topics(wanted).items():
            self._wait(future, f'create topic "{topic}"', but_not=_ALREADY_EXISTS)

    def create_of_queries(self) -> None:
        """Create the topics of the streams of `flights.sql`, unless they exist.

        A query would create them with the retention of the cluster, and flights of 2013 are older.

        Raises:
            KafkaError: no broker answers, or it refuses.
        """
        wanted = [NewTopic(name, FLIGHTS_PARTITIONS, config=_FLIGHTS_CONFIG) for name in OF_QUERIES]
        for topic, future in self._admin.create_topics(wanted).items():
            self._wait(future, f'create topic "{topic}"', but_not=_ALREADY_EXISTS)

    def delete(self) -> None:
        """Delete the existing topics of the demo.

        Raises:
            KafkaError: no broker answers, or it refuses.
        """
        names = [FLIGHTS, *TABLES, *RESULTS]
        for topic, future in self._admin.delete_topics(names).items():
            self._wait(future, f'delete topic "{topic}"', but_not=_UNKNOWN_TOPIC)

    def record_counts(self, topic: str) -> list[int]:
        """Return the high watermark of each partition, which equals its number of records.

        Raises:
            KafkaError: no broker answers, or the topic does not exist.
        """
        reader: Consumer = clients.consumer(
            self.cluster.bootstrap_servers, self.cluster.properties, **{"group.id": GROUP}
        )
        try:
            with self.cluster.errors(f'read topic "{topic}"'):
                partitions = self._admin.list_topics(topic, REQUEST_TIMEOUT_S).topics[topic]
                return [
                    reader.get_watermark_offsets(
                        TopicPartition(topic, number), timeout=REQUEST_TIMEOUT_S
                    )[1]
                    for number in sorted(partitions.partitions)
                ]
        finally:
            reader.close()

    def _wait(self, future: Future[None], doing: str, *, but_not: int) -> None:
        try:
            with self.cluster.errors(doing):
                future.result(REQUEST_TIMEOUT_S)
        except KafkaError as error:
            if error.code != but_not:
                raise
