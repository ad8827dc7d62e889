"""Create the topic, or check that an existing one keeps every schema.

A topic with `cleanup.policy=delete` would lose schemas after a week, and with several partitions
the order of records would be lost. The registry refuses both.
"""

import logging
from collections.abc import Iterable
from concurrent.futures import Future
from typing import Final, TypeVar

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

from duolog.registry.store.clients import REQUEST_TIMEOUT_S, KafkaOptions, client_error, unavailable
from duolog.registry.store.errors import TopicUnsuitable

logger = logging.getLogger(__name__)

REPLICATION_FACTOR: Final = 3
_ALREADY_EXISTS: Final = 36
_POLICY: Final = "cleanup.policy"
Result = TypeVar("Result")


def ensure_topic(options: KafkaOptions) -> str:
    """Create the topic if it does not exist, and return the id of the cluster.

    Raises:
        TopicUnsuitable: it exists, and could lose schemas.
        StoreUnavailable: the broker does not answer, or refuses.
    """
    try:
        admin = AdminClient(options.client())
        metadata = admin.list_topics(timeout=REQUEST_TIMEOUT_S)
    except KafkaException as error:
        doing = f"look for topic {options.topic} at {options.bootstrap_servers}"
        raise unavailable(error, doing, options) from error
    if options.topic not in metadata.topics and _create(admin, options, len(metadata.brokers)):
        return str(metadata.cluster_id)
    _check(admin, options)
    return str(metadata.cluster_id)


def _create(admin: AdminClient, options: KafkaOptions, brokers: int) -> bool:
    """Return whether this registry created the topic; another may have been faster."""
    replication = max(1, min(brokers, REPLICATION_FACTOR))
    if replication < REPLICATION_FACTOR:
        logger.info(
            "creating the topic with fewer replicas than usual",
            extra={"topic": options.topic, "replicas": replication, "brokers": brokers},
        )
    wanted = NewTopic(
        options.topic, num_partitions=1, replication_factor=replication, config={_POLICY: "compact"}
    )
    try:
        _result(admin.create_topics([wanted]).values())
    except (KafkaException, TimeoutError) as error:
        if client_error(error).code() == _ALREADY_EXISTS:
            return False
        raise unavailable(error, f"create topic {options.topic}", options) from error
    return True


def _check(admin: AdminClient, options: KafkaOptions) -> None:
    resource = ConfigResource(ResourceType.TOPIC, options.topic)
    try:
        partitions = len(
            admin.list_topics(options.topic, timeout=REQUEST_TIMEOUT_S)
            .topics[options.topic]
            .partitions
        )
        config = _result(admin.describe_configs([resource]).values())
    except (KafkaException, TimeoutError) as error:
        raise unavailable(error, f"describe topic {options.topic}", options) from error
    ensure_suitable(options.topic, partitions, str(config[_POLICY].value))


def ensure_suitable(topic: str, partitions: int, policy: str) -> None:
    """Ensure that a topic keeps all records of a registry, in order.

    Raises:
        TopicUnsuitable: it does not.
    """
    if partitions != 1:
        raise TopicUnsuitable(
            f'topic "{topic}" has {partitions} partitions, and a registry needs exactly 1',
            hint="Use another topic with --topic, or recreate this one with one partition.",
        )
    if policy != "compact":
        raise TopicUnsuitable(
            f'topic "{topic}" would lose schemas: its {_POLICY} is {policy or "empty"}',
            detail=f"expected {_POLICY}=compact",
            hint=f"Set it with `duolog topics alter {topic} --config {_POLICY}=compact`.",
        )


def _result(futures: Iterable[Future[Result]]) -> Result:
    (future,) = futures
    return future.result(REQUEST_TIMEOUT_S)
