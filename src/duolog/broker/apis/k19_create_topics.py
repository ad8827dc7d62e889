"""CreateTopics, API key 19, versions 2-7.

Behaviour: each topic has its own error and message. -1 for a count takes the broker's default.
A replication factor above 1 is INVALID_REPLICATION_FACTOR, unless `replication.factor.clamp`
is set. A topic is on the disk when the answer leaves. More than 10,000 partitions in one request
are POLICY_VIOLATION for all of it. Partitions count for the quota `controller_mutation_rate`, also
if the request only validates, as in Kafka.

v4  -1 for counts       v5 flexible; counts and configs of what was created
v6  quota exceeded      v7 topic id

Source: Kafka `ReplicationControlManager.createTopics`. `configs` is never null: Java's admin
client fails on null.
"""

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Final
from uuid import UUID, uuid4

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.table import checks_of
from duolog.broker.controller import Change
from duolog.broker.errors import kafka_code
from duolog.broker.requests.api import Api
from duolog.broker.requests.many_items import change_each
from duolog.broker.topics.topic_creation import PARTITIONS_AT_ONCE_MAX, NewTopic, new_topic
from duolog.core.errors import KafkaError
from duolog.core.names import metric_name
from duolog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from kio.schema.create_topics.v2.request import CreatableTopic as OldestTopic
    from kio.schema.create_topics.v2.request import CreateTopicsRequest as Oldest
    from kio.schema.create_topics.v7.request import CreatableTopic as NewestTopic
    from kio.schema.create_topics.v7.request import CreateTopicsRequest as Newest

_TOPIC, _CONFIGS = checks_of(19)
_FIRST_CONFIGS: Final = 5
_FIRST_QUOTA_ERROR: Final = 6


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    if _partitions(request, context) > PARTITIONS_AT_ONCE_MAX:
        context.reply_error(
            ErrorCode.POLICY_VIOLATION,
            f"more than {PARTITIONS_AT_ONCE_MAX} partitions in one request",
        )
        return
    times = Counter(topic.name for topic in request.topics)
    asked = list({topic.name: topic for topic in request.topics}.values())
    broker = context.broker
    decided: dict[str, NewTopic] = {}

    def prepare(topic: "OldestTopic | NewestTopic") -> Change | None:
        if times[topic.name] > 1:
            raise KafkaError("topic is in the request twice", code=ErrorCode.INVALID_REQUEST)
        _TOPIC.ensure(context, topic.name)
        new = decided[topic.name] = _decide(topic, context)
        broker.topics.configs.check_asked(new.configs)
        broker.topics.check_new(new.name, new.partitions, new.configs)
        context.mutate(new.partitions, strict_from=_FIRST_QUOTA_ERROR)
        if request.validate_only:
            return None
        return broker.creating_topic(new.name, new.partitions, new.configs)

    def done(topic: "OldestTopic | NewestTopic", error: Exception | None) -> bytes:
        if error is not None:
            code, message = kafka_code(error)
            result = {"name": topic.name, "error_code": code, "error_message": message}
        else:
            made = None if request.validate_only else broker.topics.find(topic.name).id
            result = _created(decided[topic.name], made or uuid4(), context)
        return context.encode_item("topics", result)

    change_each(
        context,
        asked,
        lambda topic: (metric_name(topic.name), partial(prepare, topic)),
        done,
        lambda results: context.reply({"topics": results}),
    )


def _partitions(request: "Oldest | Newest", context: RequestContext) -> int:
    """Return how many partitions the request asks for, as far as its counts make sense."""
    default = context.broker.settings.integer("num.partitions")
    return sum(
        len(topic.assignments)
        or (default if topic.num_partitions == -1 else max(0, topic.num_partitions))
        for topic in request.topics
    )


def _decide(asked: "OldestTopic | NewestTopic", context: RequestContext) -> NewTopic:
    return new_topic(
        asked.name,
        partitions=asked.num_partitions,
        replication_factor=asked.replication_factor,
        assignments={row.partition_index: row.broker_ids for row in asked.assignments},
        configs=[(config.name, config.value) for config in asked.configs],
        settings=context.broker.settings,
    )


def _created(topic: NewTopic, topic_id: UUID, context: RequestContext) -> dict[str, object]:
    configs = []
    if context.version >= _FIRST_CONFIGS:
        if not _CONFIGS.allows(context, topic.name):
            return {
                "name": topic.name,
                "topic_id": topic_id,
                "topic_config_error_code": _CONFIGS.code,
                "num_partitions": -1,
                "replication_factor": -1,
                "configs": [],
                "error_message": None,
            }
        configs = context.broker.configs.topic_rows.rows(topic.configs)
    return {
        "name": topic.name,
        "topic_id": topic_id,
        "num_partitions": topic.partitions,
        "replication_factor": 1,
        "configs": configs,
        "error_message": None,
    }


API = Api(key=19, name="CreateTopics", versions=range(2, 8), handle=handle)
