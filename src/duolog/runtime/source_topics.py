"""Create the topics that a plan reads, for example on a development broker.

They have the broker's default number of partitions. A topic that is only read as a table is
compacted, so that no row is deleted because of its age.
"""

from typing import Final

from confluent_kafka.admin import NewTopic

from duolog.plan.nodes import Plan
from duolog.runtime.topics import TABLE_CONFIG, admin_of, create, partition_counts
from duolog.security.clients.brokers import Brokers

_BROKER_DEFAULT: Final = -1


def create_source_topics(plan: Plan, bootstrap_servers: Brokers | str) -> list[str]:
    """Create missing source topics; return their names.

    Raises:
        BrokerUnavailable: no broker answers.
        KafkaError: the broker refuses a topic.
    """
    admin = admin_of(bootstrap_servers)
    there = partition_counts(admin, bootstrap_servers)
    missing = [topic for topic in source_topics(plan) if topic.topic not in there]
    create(admin, missing)
    return [topic.topic for topic in missing]


def source_topics(plan: Plan) -> list[NewTopic]:
    """Return the source topics of `plan`, in its order."""
    named = [source for source in plan.sources if not source.is_pattern]
    streams = {source.topic for source in named if not source.is_table}
    return [
        NewTopic(topic, _BROKER_DEFAULT, config={} if topic in streams else dict(TABLE_CONFIG))
        for topic in dict.fromkeys(source.topic for source in named)
    ]
