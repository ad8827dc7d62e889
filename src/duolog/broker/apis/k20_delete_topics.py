"""DeleteTopics, API key 20, versions 1-6.

Behaviour: each topic has its own error. Fetches that wait for a topic that goes are answered.
Internal topics are kept: groups would lose their offsets under a running broker.

v5  error message       v6 by name or by id

Source: Kafka `ControllerApis.deleteTopics`.
"""

from collections import Counter
from typing import Any
from uuid import UUID

from duolog.broker.api import Api, RequestContext
from duolog.broker.errors import UnknownTopic, kafka_code
from duolog.broker.topics import Topic
from duolog.broker.turns import work_in_turns
from duolog.core.errors import DuologError, KafkaError
from duolog.protocol.error_codes import ErrorCode

_FIRST_IDS = 6
_NO_ID = UUID(int=0)


def handle(request: Any, context: RequestContext) -> None:
    asked: list[tuple[str | None, UUID | None]]
    if context.version < _FIRST_IDS:
        asked = [(name, None) for name in request.topic_names]
    else:
        asked = [(topic.name, topic.topic_id) for topic in request.topics]
    times = Counter(asked)
    results: list[dict[str, Any]] = []

    def delete(topic: tuple[str | None, UUID | None]) -> None:
        results.append(_delete(*topic, context, unique=times[topic] == 1))

    work_in_turns(context, times, delete, lambda: context.reply({"responses": results}))


def _delete(
    name: str | None, topic_id: UUID | None, context: RequestContext, *, unique: bool
) -> dict[str, Any]:
    try:
        if not unique:
            raise KafkaError("topic is in the request twice", code=ErrorCode.INVALID_REQUEST)
        topic = _find(name, topic_id or _NO_ID, context)
        context.broker.delete_topic(topic.name)
    except (DuologError, OSError) as error:
        code, message = kafka_code(error)
        return {
            "name": name,
            "topic_id": topic_id,
            "error_code": code,
            "error_message": message,
        }
    return {"name": topic.name, "topic_id": topic.id}


def _find(name: str | None, topic_id: UUID, context: RequestContext) -> Topic:
    broker = context.broker
    if not broker.settings.boolean("delete.topic.enable"):
        raise KafkaError("topics cannot be deleted", code=ErrorCode.TOPIC_DELETION_DISABLED)
    if (name is None) == (topic_id == _NO_ID):
        raise KafkaError(
            "a topic is named by its name or by its id", code=ErrorCode.INVALID_REQUEST
        )
    if name is not None:
        topic = broker.topics.find(name)
    else:
        found = broker.topics.by_id.get(topic_id)
        if found is None:
            raise UnknownTopic(
                f"topic with id {topic_id} does not exist", code=ErrorCode.UNKNOWN_TOPIC_ID
            )
        topic = found
    if topic.internal:
        raise KafkaError(
            f'topic "{topic.name}" is internal and cannot be deleted',
            code=ErrorCode.INVALID_REQUEST,
        )
    return topic


API = Api(key=20, name="DeleteTopics", versions=range(1, 7), handle=handle)
