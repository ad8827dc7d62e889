"""CreateTopics, API key 19, versions 2-7.

Behaviour: each topic has its own error and message. -1 for a count takes the broker's default.
A replication factor above 1 is INVALID_REPLICATION_FACTOR, unless `replication.factor.clamp`
is set. A topic is on the disk when the answer leaves.

v4  -1 for counts       v5 flexible; counts and configs of what was created
v7  topic id

Source: Kafka `ReplicationControlManager.createTopics`. `configs` is never null: Java's admin
client fails on null.
"""

from collections import Counter
from typing import Any

from duolog.broker.api import Api, RequestContext
from duolog.broker.config_rows import DYNAMIC_TOPIC, topic_config_rows
from duolog.broker.errors import kafka_code
from duolog.broker.topic_creation import NewTopic, new_topic
from duolog.broker.turns import work_in_turns
from duolog.core.errors import DuologError, KafkaError
from duolog.protocol.error_codes import ErrorCode

_FIRST_CONFIGS = 5


def handle(request: Any, context: RequestContext) -> None:
    names = Counter(topic.name for topic in request.topics)
    results: dict[str, dict[str, Any]] = {}

    def create(topic: Any) -> None:
        results[topic.name] = _create(
            topic, context, validate_only=request.validate_only, unique=names[topic.name] == 1
        )

    work_in_turns(
        context, request.topics, create, lambda: context.reply({"topics": list(results.values())})
    )


def _create(
    asked: Any, context: RequestContext, *, validate_only: bool, unique: bool
) -> dict[str, Any]:
    try:
        if not unique:
            raise KafkaError("topic is in the request twice", code=ErrorCode.INVALID_REQUEST)
        topic = new_topic(
            asked.name,
            partitions=asked.num_partitions,
            replication_factor=asked.replication_factor,
            assignments={row.partition_index: row.broker_ids for row in asked.assignments},
            configs=[(config.name, config.value) for config in asked.configs],
            settings=context.broker.settings,
        )
        return _created(topic, context, validate_only=validate_only)
    except (DuologError, OSError) as error:
        code, message = kafka_code(error)
        return {"name": asked.name, "error_code": code, "error_message": message, "configs": []}


def _created(topic: NewTopic, context: RequestContext, *, validate_only: bool) -> dict[str, Any]:
    broker = context.broker
    topic_id = None
    if validate_only:
        broker.topics.check_new(topic.name, topic.partitions, topic.configs)
    else:
        topic_id = broker.create_topic(topic.name, topic.partitions, dict(topic.configs)).id
    configs = []
    if context.version >= _FIRST_CONFIGS:
        configs = [
            {**row, "read_only": False}
            for row in topic_config_rows(broker, topic.configs, own_source=DYNAMIC_TOPIC)
        ]
    return {
        "name": topic.name,
        "topic_id": topic_id,
        "num_partitions": topic.partitions,
        "replication_factor": 1,
        "configs": configs,
        "error_message": None,
    }


API = Api(key=19, name="CreateTopics", versions=range(2, 8), handle=handle)
