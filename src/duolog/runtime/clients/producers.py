"""The producers that a cluster knows, by partition: idempotent ones, and those with transactions.

A broker forgets a producer some time after its last record (`producer.id.expiration.ms`, by default
a day). A producer without idempotence has no id and is not known.

Source: KIP-664; Kafka `DescribeProducersHandler`.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final, NamedTuple

from duolog.core.errors import DuologError
from duolog.runtime.consumer_groups.connections import Connections
from duolog.runtime.consumer_groups.metadata import Place

_DESCRIBE: Final = (61, 0)


class ProducerAt(NamedTuple):
    """The state of a producer in one partition.

    Attributes:
        last_ms: the time of its last record, as it set it; -1 without one.
        transaction_start: the offset of the first record of its open transaction; -1 without one.
    """

    producer_id: int
    epoch: int
    place: Place
    last_sequence: int
    last_ms: int
    transaction_start: int


class Producers(NamedTuple):
    """Producers, and the reasons of brokers that have not answered."""

    found: list[ProducerAt]
    problems: list[str]


def read_producers(connections: Connections, places: Iterable[Place]) -> Producers:
    """Return the producers of partitions.

    Raises:
        BrokerUnavailable: no broker answers.
    """
    metadata = connections.metadata()
    of_leader = defaultdict[str, defaultdict[str, list[int]]](lambda: defaultdict(list))
    for topic, number in places:
        node = metadata.nodes.get(metadata.leaders.get((topic, number), -1))
        if node is not None:
            of_leader[node][topic].append(number)
    found: list[ProducerAt] = []
    problems: list[str] = []
    for address, topics in of_leader.items():
        wanted = [
            {"name": topic, "partition_indexes": numbers} for topic, numbers in topics.items()
        ]
        try:
            answer = connections.ask(address, *_DESCRIBE, topics=wanted)
        except DuologError as error:
            problems.append(error.one_line())
            continue
        found += [
            ProducerAt(
                one.producer_id,
                one.producer_epoch,
                (topic.name, row.partition_index),
                one.last_sequence,
                int(one.last_timestamp),
                one.current_txn_start_offset,
            )
            for topic in answer.topics
            for row in topic.partitions
            for one in row.active_producers
        ]
    return Producers(found, problems)
