"""Settings of the target's topics: while records are copied, and afterwards.

While records are copied, the target must neither delete, compact nor reject a record: records may
be older than the topic's retention, and a topic's own settings could replace their timestamps.
The source's settings are set after the verification.
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
_INVALID_CONFIG: Final = 40
_INVALID_REQUEST: Final = 42


def read_settings(
    client: AdminClient, cluster: Cluster, topics: Iterable[str]
) -> dict[str, dict[str, str]]:
    """Return the settings that are set on each topic, without those of the broker."""
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
            if entry.source == on_topic and entry.value is not None
        }
        for topic, entries in found.items()
    }


def unsupported_settings(
    client: AdminClient, cluster: Cluster, wanted: Iterable[Setting]
) -> dict[Setting, str]:
    """Return the settings that the cluster does not accept on a topic, with its reasons.

    Creates nothing: the cluster only validates one topic for each setting.
    """
    topics = {
        f"duolog-mirror-check-{number}": setting
        for number, setting in enumerate(sorted(set(wanted)))
    }
    if not topics:
        return {}
    new = [
        NewTopic(topic, num_partitions=1, replication_factor=-1, config={name: value})
        for topic, (name, value) in topics.items()
    ]
    refused = {}
    with cluster.errors("validate the settings of topics"):
        for topic, future in client.create_topics(new, validate_only=True).items():
            try:
                cluster.first_result([future])
            except KafkaException as error:
                if error.args[0].code() not in {_INVALID_CONFIG, _INVALID_REQUEST}:
                    raise
                refused[topics[topic]] = error.args[0].str()
    return refused


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
