"""An admin client that works again after a broker has restarted or partitions were added.

librdkafka's admin client keeps the leader epochs that it has seen. After a restart of the broker,
requests for offsets fail with FENCED_LEADER_EPOCH or "No leaders found", and the client does not
ask for new metadata.

Threads: any.
"""

from collections.abc import Callable
from typing import Final, TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from duolog.runtime.topics import admin_of
from duolog.security.clients.brokers import Brokers

T = TypeVar("T")

STALE: Final = frozenset(
    {
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError._NOENT,  # noqa: SLF001 - "No leaders found", of which it has no other name
        # It does not ask for new metadata after partitions were added, either.
        KafkaError._UNKNOWN_PARTITION,  # noqa: SLF001
    }
)
"""Errors of requests with old metadata."""


class RenewedAdmin:
    """Asks by an admin client; by a new one if that has old metadata.

    Args:
        brokers: the brokers of the cluster.
    """

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers
        self.client = admin_of(brokers)

    def renew(self) -> None:
        """Replace the client."""
        self.client = admin_of(self._brokers)

    def ask(self, question: Callable[[AdminClient], T]) -> T:
        """Return what `question` returns; it is called again if its client has old metadata.

        Raises:
            KafkaException, TimeoutError: as `question` does.
        """
        try:
            return question(self.client)
        except KafkaException as error:
            if error.args[0].code() not in STALE:
                raise
        self.renew()
        return question(self.client)
