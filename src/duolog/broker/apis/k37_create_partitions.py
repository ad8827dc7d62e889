"""CreatePartitions, API key 37, versions 0-3.

Behaviour: a topic grows to the count that is asked for; the same count or a smaller one is
INVALID_PARTITIONS. Keys then go to other partitions than before, as in Kafka.
An internal topic keeps its partitions: groups are found by their number.

v2  flexible       v3 quota exceeded

Source: Kafka `ReplicationControlManager.createPartitions`.
"""

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Final

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.table import checks_of
from duolog.broker.controller import Change
from duolog.broker.errors import kafka_code
from duolog.broker.requests.api import Api
from duolog.broker.requests.many_items import change_each
from duolog.broker.topics.topic_creation import check_assignments
from duolog.broker.topics.topics import PARTITIONS_MAX
from duolog.core.counts import counted
from duolog.core.errors import KafkaError
from duolog.core.names import metric_name
from duolog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from kio.schema.create_partitions.v0.request import CreatePartitionsRequest as Oldest
    from kio.schema.create_partitions.v0.request import CreatePartitionsTopic as OldestTopic
    from kio.schema.create_partitions.v3.request import CreatePartitionsRequest as Newest
    from kio.schema.create_partitions.v3.request import CreatePartitionsTopic as NewestTopic


(_TOPIC,) = checks_of(37)
_FIRST_QUOTA_ERROR: Final = 3


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    times = Counter(topic.name for topic in request.topics)

    def prepare(topic: "OldestTopic | NewestTopic") -> Change | None:
        if times[topic.name] > 1:
            raise KafkaError("topic is in the request twice", code=ErrorCode.INVALID_REQUEST)
        _TOPIC.ensure(context, topic.name)
        current = _check(topic, context)
        context.mutate(topic.count - current, strict_from=_FIRST_QUOTA_ERROR)
        if request.validate_only:
            return None
        return context.broker.topics.growing(topic.name, topic.count)

    def done(topic: "OldestTopic | NewestTopic", error: Exception | None) -> dict[str, object]:
        result: dict[str, object] = {"name": topic.name}
        if error is not None:
            result["error_code"], result["error_message"] = kafka_code(error)
        return result

    change_each(
        context,
        list({topic.name: topic for topic in request.topics}.values()),
        lambda topic: (metric_name(topic.name), partial(prepare, topic)),
        done,
        lambda results: context.reply({"results": results}),
    )


def _check(asked: "OldestTopic | NewestTopic", context: RequestContext) -> int:
    """Refuse what a topic cannot grow to; return how many partitions it has.

    Raises:
        KafkaError: with Kafka's code.
    """
    topic = context.broker.topics.find(asked.name)
    if topic.internal:
        raise KafkaError(
            f'topic "{topic.name}" is internal and keeps its partitions',
            code=ErrorCode.INVALID_REQUEST,
        )
    current = len(topic.partitions)
    if not current < asked.count <= PARTITIONS_MAX:
        raise KafkaError(
            f'topic "{topic.name}" has {counted(current, "partition")} and cannot get '
            f"{asked.count}",
            code=ErrorCode.INVALID_PARTITIONS,
        )
    if asked.assignments is not None:
        assignments = [assignment.broker_ids for assignment in asked.assignments]
        check_assignments(assignments, asked.count - current, context.broker.settings)
    return current


API = Api(key=37, name="CreatePartitions", versions=range(4), handle=handle)
