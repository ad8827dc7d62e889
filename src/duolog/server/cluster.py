"""The Kafka cluster of a server: its id, and whether a broker answers.

Threads: any; librdkafka's client is safe for use by several.
"""

from typing import TYPE_CHECKING, Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from duolog.registry.store.clients import unavailable

if TYPE_CHECKING:
    from duolog.registry.store.clients import KafkaOptions

_ID_S: Final = 10.0
_PROBE_S: Final = 1.0


class Cluster:
    """A client of one cluster."""

    def __init__(self, options: "KafkaOptions") -> None:
        self._options = options
        self._admin = AdminClient(options.client({"client.id": "duolog-server"}))

    def id(self) -> str:
        """Return the id of the cluster.

        Raises:
            KafkaError: no broker answers within ten seconds.
        """
        try:
            future = self._admin.describe_cluster(request_timeout=_ID_S)
            return str(future.result(_ID_S).cluster_id)
        except (KafkaException, TimeoutError) as error:
            raise unavailable(error, "ask the cluster for its id", self._options) from error

    def answers(self) -> bool:
        """Return whether a broker answers within a second."""
        try:
            self._admin.describe_cluster(request_timeout=_PROBE_S).result(_PROBE_S)
        except (KafkaException, TimeoutError):
            return False
        return True
