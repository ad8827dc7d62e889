"""The brokers of a cluster, and the leaders of its partitions."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from confluent_kafka import KafkaException

from duolog.runtime.errors import BrokerUnavailable

if TYPE_CHECKING:
    from confluent_kafka.admin import ClusterMetadata

    from duolog.runtime.renewed_admin import RenewedAdmin

Place = tuple[str, int]
"""A topic and a partition."""
_TIMEOUT_S: Final = 10.0


class Metadata(NamedTuple):
    """A cluster as of now.

    Attributes:
        nodes: the address `HOST:PORT` of each broker by its id.
        leaders: the id of the leader of each partition; partitions without one are missing.
    """

    nodes: Mapping[int, str]
    leaders: Mapping[Place, int]


def read_metadata(admin: "RenewedAdmin") -> Metadata:
    """Return the cluster.

    Raises:
        BrokerUnavailable: no broker answers in ten seconds.
    """
    try:
        found: ClusterMetadata = admin.client.list_topics(timeout=_TIMEOUT_S)
    except KafkaException as error:
        raise BrokerUnavailable(
            "no broker of the cluster answers",
            detail=str(error.args[0]),
            hint="Check that the broker runs, and read its log.",
        ) from error
    return Metadata(
        {node: _address(broker.host or "", broker.port) for node, broker in found.brokers.items()},
        {
            (name, number): partition.leader
            for name, topic in found.topics.items()
            for number, partition in topic.partitions.items()
            if partition.leader >= 0
        },
    )


def _address(host: str, port: int) -> str:
    """Return an address as text.

    Example:
        >>> _address("::1", 9092), _address("a", 9092)
        ('[::1]:9092', 'a:9092')
    """
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
