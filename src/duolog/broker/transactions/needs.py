"""The interfaces that transactions need of the broker."""

from typing import TYPE_CHECKING, Protocol

from duolog.broker.groups.needs import CoordinatorBroker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from duolog.broker.groups.coordinator_service import GroupCoordinatorService
    from duolog.broker.transactions.producer_ids import ProducerIds
    from duolog.log.partition.partition_log import PartitionLog
    from duolog.record.records import Record


class Broker(CoordinatorBroker, Protocol):
    """The broker, as transactions see it."""

    groups: "GroupCoordinatorService"
    producer_ids: "ProducerIds"

    def log(self, topic: str, partition: int) -> "PartitionLog": ...
    def replay_internal(self, topic: str, partition: int) -> "Iterator[Record]": ...
