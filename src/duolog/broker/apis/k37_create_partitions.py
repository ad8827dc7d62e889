"""CreatePartitions, API key 37, versions 0-3.

Behaviour: a topic grows to the count that is asked for; the same count or a smaller one is
INVALID_PARTITIONS. Keys then go to other partitions than before, as in Kafka.
An internal topic keeps its partitions: groups are found by their number.

v2  flexible       v3 throttling as its own error, which is never given

Source: Kafka `ReplicationControlManager.createPartitions`.
"""

from collections import Counter
from typing import Any

from duolog.broker.api import Api, RequestContext
from duolog.broker.errors import kafka_code
from duolog.broker.topic_creation import check_assignments
from duolog.broker.topics import PARTITIONS_MAX
from duolog.broker.turns import work_in_turns
from duolog.core.errors import DuologError, KafkaError
from duolog.protocol.error_codes import ErrorCode


def handle(request: Any, context: RequestContext) -> None:
    names = Counter(topic.name for topic in request.topics)
    results: dict[str, dict[str, Any]] = {}

    def grow(topic: Any) -> None:
        results[topic.name] = _grow(
            topic, context, validate_only=request.validate_only, unique=names[topic.name] == 1
        )

    work_in_turns(
        context, request.topics, grow, lambda: context.reply({"results": list(results.values())})
    )


def _grow(
    asked: Any, context: RequestContext, *, validate_only: bool, unique: bool
) -> dict[str, Any]:
    broker = context.broker
    try:
        if not unique:
            raise KafkaError("topic is in the request twice", code=ErrorCode.INVALID_REQUEST)
        topic = broker.topics.find(asked.name)
        if topic.internal:
            raise KafkaError(
                f'topic "{topic.name}" is internal and keeps its partitions',
                code=ErrorCode.INVALID_REQUEST,
            )
        current = len(topic.partitions)
        if not current < asked.count <= PARTITIONS_MAX:
            raise KafkaError(
                f'topic "{topic.name}" has {current} partitions and cannot get {asked.count}',
                code=ErrorCode.INVALID_PARTITIONS,
            )
        if asked.assignments is not None:
            assignments = [assignment.broker_ids for assignment in asked.assignments]
            check_assignments(assignments, asked.count - current, broker.settings)
        if not validate_only:
            broker.topics.add_partitions(topic.name, asked.count)
    except (DuologError, OSError) as error:
        code, message = kafka_code(error)
        return {"name": asked.name, "error_code": code, "error_message": message}
    return {"name": asked.name}


API = Api(key=37, name="CreatePartitions", versions=range(4), handle=handle)
