"""Settings of the target's topics: while records are copied, and afterwards.

While records are copied, the target must neither delete, compact nor reject a record: records may
be older than the topic's retention, and a topic's own settings could replace their timestamps.
The source's settings are set after the verification.

They include those that its broker has for all topics, because the target's broker may have others.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewTopic,
    ResourceType,
)

from duolog.cli.kafka.cluster import Cluster

Settings = Mapping[str, str]
Setting = tuple[str, str]
_CHECKED: Final = "duolog-mirror-check-"

_LONG_MAX: Final = str(2**63 - 1)
WHILE_COPYING: Final[Settings] = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "retention.bytes": "-1",
    "max.message.bytes": "104857600",
    "message.timestamp.type": "CreateTime",
    "message.timestamp.before.max.ms": _LONG_MAX,
    "message.timestamp.after.max.ms": _LONG_MAX,
}
_OF_RECORDS: Final = frozenset(
    {
        "cleanup.policy",
        "delete.retention.ms",
        "max.compaction.lag.ms",
        "max.message.bytes",
        "message.timestamp.after.max.ms",
        "message.timestamp.before.max.ms",
        "message.timestamp.type",
        "min.compaction.lag.ms",
        "retention.bytes",
        "retention.ms",
    }
)
"""Settings that decide about records, not about files and replicas of a cluster."""
_OF_BROKER: Final = frozenset(
    source.value
    for source in (
        ConfigSource.DYNAMIC_BROKER_CONFIG,
        ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG,
        ConfigSource.STATIC_BROKER_CONFIG,
    )
)
_REFUSED: Final = frozenset({40, 42, 44})
"""INVALID_CONFIG, INVALID_REQUEST and POLICY_VIOLATION."""
_POLICY_VIOLATION: Final = 44


def read_settings(
    client: AdminClient, cluster: Cluster, topics: Iterable[str]
) -> dict[str, dict[str, str]]:
    """Return the settings of each topic that are not the defaults of Kafka.

    These are all that are set on the topic, and those about records that are set on the broker.
    """
    asked = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics]
    if not asked:
        return {}
    with cluster.errors("read the settings of topics"):
        futures = client.describe_configs(asked)
        found = {of.name: cluster.first_result([future]) for of, future in futures.items()}
    on_topic = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    return {
        topic: {
            name: entry.value
            for name, entry in sorted(entries.items())
            if entry.value is not None
            and (entry.source == on_topic or (entry.source in _OF_BROKER and name in _OF_RECORDS))
        }
        for topic, entries in found.items()
    }


def unsupported_settings(
    client: AdminClient, cluster: Cluster, wanted: Iterable[Setting], replication_factor: int = -1
) -> dict[Setting, str]:
    """Return the settings that the cluster does not accept on a topic, with its reasons.

    Creates nothing: the cluster only validates one topic for each setting. If its policy refuses
    even a topic without settings, nothing can be said, and the result is empty.
    """
    settings = sorted(set(wanted))
    if not settings:
        return {}
    plain = NewTopic(f"{_CHECKED}plain", num_partitions=1, replication_factor=replication_factor)
    new = [
        NewTopic(
            f"{_CHECKED}{number}",
            num_partitions=1,
            replication_factor=replication_factor,
            config={name: value},
        )
        for number, (name, value) in enumerate(settings)
    ]
    refused: dict[str, KafkaException] = {}
    with cluster.errors("validate the settings of topics"):
        for topic, future in client.create_topics([plain, *new], validate_only=True).items():
            try:
                cluster.first_result([future])
            except KafkaException as error:
                if error.args[0].code() not in _REFUSED:
                    raise
                refused[topic] = error
        of_plain = refused.get(plain.topic)
        if of_plain is not None and of_plain.args[0].code() != _POLICY_VIOLATION:
            raise of_plain
    if of_plain is not None:
        return {}
    return {
        settings[number]: refused[of.topic].args[0].str()
        for number, of in enumerate(new)
        if of.topic in refused
    }


def set_settings(
    client: AdminClient, cluster: Cluster, topic: str, wanted: Settings, unset: Iterable[str] = ()
) -> None:
    """Set the settings of a topic, and revert those in `unset` to the cluster's values."""
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, value in wanted.items()
    ]
    entries += [
        ConfigEntry(name, None, incremental_operation=AlterConfigOpType.DELETE)
        for name in unset
        if name not in wanted
    ]
    if entries:
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
        with cluster.errors(f'change settings of topic "{topic}"'):
            cluster.first_result(client.incremental_alter_configs([resource]).values())
