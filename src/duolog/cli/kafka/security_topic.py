"""Read and write the topic `__security` of a command's cluster."""

from collections.abc import Iterable
from typing import Final

from duolog.cli.kafka.cluster import Cluster
from duolog.runtime.administration import security_topic
from duolog.security.authorization.acl_authorizer import SECURITY_TOPIC
from duolog.security.records.records import Change
from duolog.security.state.security_state import SecurityState

_READ: Final = f'read topic "{SECURITY_TOPIC}"'
_WRITE: Final = f'write to topic "{SECURITY_TOPIC}"'


def read_state(cluster: Cluster) -> SecurityState:
    """Return users, rights, roles and tokens as the topic has them.

    Raises:
        KafkaError: no broker answers, the topic does not exist, or the user may not read it.
    """
    consumer = cluster.consumer(cluster.connection(), **security_topic.READER)
    with cluster.errors(_READ):
        return security_topic.read_state(consumer, cluster.ask)


def append(cluster: Cluster, changes: Iterable[Change]) -> None:
    """Append changes, and return when they are durable.

    Raises:
        KafkaError: no broker answers, the topic does not exist, or the user may not write to it.
    """
    producer = cluster.producer(cluster.connection(), acks="all")
    with cluster.errors(_WRITE):
        security_topic.append(producer, changes)
