"""Find the topics that are not copied, because their content is only valid on their own cluster.

    __consumer_offsets, …           the cluster's own; groups are moved by their own step
    __security                      users and rights: on Apache Kafka it would be a topic like any
    duolog-mirror-…                 the progress of mirrors
    _duolog-ksql-…                  statements and states of SQL engines
    changelogs, commits, markers    of Duolog's applications: they contain source offsets and ids
                                    of topics, which differ on the target

Changelogs and repartition topics of Kafka Streams are copied: Kafka Streams restores its state from
them, and continues at the offsets of its group.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from duolog.cli.kafka.cluster import Cluster
from duolog.cli.mirror.progress import is_progress_topic
from duolog.security.authorization.acl_authorizer import SECURITY_TOPIC

_SQL: Final = "_duolog-ksql-"
_OF_APPLICATIONS: Final = ("-commits", "-epochs")
_OF_THE_CLUSTER: Final = frozenset(
    {
        "__cluster_metadata",
        "__consumer_offsets",
        "__remote_log_metadata",
        "__share_group_state",
        "__transaction_state",
        SECURITY_TOPIC,
    }
)
"""Other names that begin with two underscores are topics of programs."""


def is_of_the_cluster(topic: str) -> bool:
    return topic in _OF_THE_CLUSTER or is_progress_topic(topic)


def topics_of_applications(cluster: Cluster, there: Mapping[str, int]) -> dict[str, str]:
    """Return the internal topics of Duolog's applications and SQL engines, with their owner.

    `there` has the number of partitions of each topic.
    """
    found = {topic: "SQL" for topic in there if topic.startswith(_SQL)}
    named = [
        topic
        for topic, partitions in there.items()
        if topic.endswith(_OF_APPLICATIONS) and topic not in found and partitions == 1
    ]
    if not named:
        return found
    # Imported here: most sources have no such topics.
    from duolog.engine.settings import EngineConfig  # noqa: PLC0415
    from duolog.runtime.orphaned_topics import find_orphaned_topics, is_internal  # noqa: PLC0415

    config = EngineConfig.of_brokers(cluster.brokers, Path())
    applications = {topic.rpartition("-")[0] for topic in named if is_internal(config, topic)}
    for application in sorted(applications):
        for topic in find_orphaned_topics(config, application, there.keys()).internal_topics:
            found[topic] = application
    return found
