"""The topics that a plan reads, where they are to be made: on a broker of one's own, say.

As many partitions as the broker gives by default. A topic that is read as a table and never as a
stream is compacted: no row of it may go because it is old.
"""

from typing import Final

from confluent_kafka.admin import NewTopic

from duolog.plan.nodes import Plan
from duolog.runtime.topics import TABLE_CONFIG, admin_of, create, partition_counts

_BROKER_DEFAULT: Final = -1


def create_source_topics(plan: Plan, bootstrap_servers: str) -> list[str]:
    """Create the topics of the plan's sources that do not exist; return their names.

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
    """Return what each topic is to be that `plan` reads, in its order."""
    named = [source for source in plan.sources if not source.is_pattern]
    streams = {source.topic for source in named if not source.is_table}
    return [
        NewTopic(topic, _BROKER_DEFAULT, config={} if topic in streams else dict(TABLE_CONFIG))
        for topic in dict.fromkeys(source.topic for source in named)
    ]
