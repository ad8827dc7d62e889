"""A connection of a command for Kafka APIs that librdkafka does not have."""

from duolog.cli.kafka.cluster import Cluster
from duolog.cli.kafka.connection import ensure_reachable
from duolog.runtime.administration import wire


class Wire(wire.Wire):
    """A connection to the first server of a command's cluster that accepts it.

    Raises:
        KafkaError: no broker can be reached, or it refuses the login or closes the connection.
        ConfigError: an address, or the client's certificate, is invalid.
    """

    def __init__(self, cluster: Cluster) -> None:
        ensure_reachable(cluster.brokers, cluster.option)
        super().__init__(cluster.brokers)
