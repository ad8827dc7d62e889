"""Validate requests to create topics or add partitions on a single broker.

Source: Kafka `ReplicationControlManager.createTopic`, `createPartitions`.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from duolog.broker.errors import InvalidTopic
from duolog.broker.settings import BrokerSettings
from duolog.broker.topics.topic_names import INTERNAL_TOPICS
from duolog.core.counts import counted
from duolog.core.errors import ConfigError, KafkaError
from duolog.protocol.error_codes import ErrorCode

DEFAULT = -1
"""A count that the broker chooses."""

PARTITIONS_AT_ONCE_MAX = 10_000
"""Limits of one request to create topics."""


class NewTopic(NamedTuple):
    """A topic to create, with every count decided."""

    name: str
    partitions: int
    configs: Mapping[str, str]


def new_topic(
    name: str,
    *,
    partitions: int,
    replication_factor: int,
    assignments: Mapping[int, Sequence[int]],
    configs: Sequence[tuple[str, str | None]],
    settings: BrokerSettings,
) -> NewTopic:
    """Decide what a client's request to create a topic comes to.

    Raises:
        KafkaError: it asks for what one broker cannot give, or contradicts itself.
        ConfigError: a config has no value.
    """
    if name in INTERNAL_TOPICS:
        raise InvalidTopic(f'topic "{name}" is internal, and made by the broker when it is needed')
    if assignments:
        if partitions != DEFAULT or replication_factor != DEFAULT:
            raise KafkaError(
                "both counts and an assignment were given", code=ErrorCode.INVALID_REQUEST
            )
        partitions = _assigned_partitions(assignments, settings)
    else:
        check_replication_factor(replication_factor, settings)
    if partitions == DEFAULT:
        partitions = settings.integer("num.partitions")
    if partitions < 1:
        raise KafkaError(
            "number of partitions must be larger than 0", code=ErrorCode.INVALID_PARTITIONS
        )
    return NewTopic(name, partitions, _values(configs))


def check_replication_factor(replication_factor: int, settings: BrokerSettings) -> None:
    """Refuse a replication factor that one broker cannot give.

    Raises:
        KafkaError: INVALID_REPLICATION_FACTOR.
    """
    clamped = settings.boolean("replication.factor.clamp") and replication_factor > 1
    if replication_factor not in {DEFAULT, 1} and not clamped:
        raise KafkaError(
            f"replication factor {replication_factor} is not possible: there is 1 broker",
            code=ErrorCode.INVALID_REPLICATION_FACTOR,
            hint="Ask for 1, or set replication.factor.clamp=true.",
        )


def check_assignments(
    assignments: Sequence[Sequence[int]], count: int, settings: BrokerSettings
) -> None:
    """Refuse an assignment of new partitions that is not to the one broker.

    Raises:
        KafkaError: INVALID_REPLICA_ASSIGNMENT.
    """
    if len(assignments) != count:
        raise _wrong_assignment(
            f"{counted(len(assignments), 'assignment')} for {counted(count, 'new partition')}"
        )
    for brokers in assignments:
        _check_brokers(brokers, settings)


def _assigned_partitions(assignments: Mapping[int, Sequence[int]], settings: BrokerSettings) -> int:
    if sorted(assignments) != list(range(len(assignments))):
        raise _wrong_assignment("partitions of an assignment must be numbered from 0")
    for brokers in assignments.values():
        _check_brokers(brokers, settings)
    return len(assignments)


def _check_brokers(brokers: Sequence[int], settings: BrokerSettings) -> None:
    node_id = settings.integer("node.id")
    if list(brokers) == [node_id]:
        return
    if not settings.boolean("replication.factor.clamp") or node_id not in brokers:
        raise _wrong_assignment(f"replicas {list(brokers)} are not the one broker, {node_id}")


def _wrong_assignment(message: str) -> KafkaError:
    return KafkaError(message, code=ErrorCode.INVALID_REPLICA_ASSIGNMENT)


def _values(configs: Sequence[tuple[str, str | None]]) -> dict[str, str]:
    values = {}
    for name, value in configs:
        if value is None:
            raise ConfigError(f'topic setting "{name}" has no value', name=name)
        values[name] = value
    return values
