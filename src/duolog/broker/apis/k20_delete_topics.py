"""DeleteTopics, API key 20, versions 1-6.

Behaviour: each topic has its own error. Fetches that wait for a topic that goes are answered.
Internal topics are kept: groups would lose their offsets under a running broker.

v5  error message, quota exceeded       v6 by name or by id

Source: Kafka `ControllerApis.deleteTopics`.
"""

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import UUID

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.checks import NotAuthorized
from duolog.broker.authorization.table import checks_of
from duolog.broker.controller import Change
from duolog.broker.errors import UnknownTopic, kafka_code
from duolog.broker.requests.api import Api
from duolog.broker.requests.many_items import change_each
from duolog.broker.topics.topics import Topic
from duolog.core.errors import KafkaError
from duolog.core.names import metric_name
from duolog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from kio.schema.delete_topics.v1.request import DeleteTopicsRequest as Oldest
    from kio.schema.delete_topics.v6.request import DeleteTopicsRequest as Newest

_DESCRIBE, _DELETE = checks_of(20)
_NO_ID = UUID(int=0)
_FIRST_QUOTA_ERROR: Final = 5


class _Asked(NamedTuple):
    name: str | None
    topic_id: UUID | None


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    asked: list[_Asked]
    if hasattr(request, "topic_names"):
        asked = [_Asked(name, None) for name in request.topic_names]
    else:
        asked = [_Asked(topic.name, topic.topic_id) for topic in request.topics]
    times = Counter(asked)
    found: dict[_Asked, Topic] = {}

    def prepare(topic: _Asked) -> Change:
        if times[topic] > 1:
            raise KafkaError("topic is in the request twice", code=ErrorCode.INVALID_REQUEST)
        found[topic] = _find(topic.name, topic.topic_id or _NO_ID, context)
        context.mutate(len(found[topic].partitions), strict_from=_FIRST_QUOTA_ERROR)
        return context.broker.deleting_topic(found[topic].name)

    def done(topic: _Asked, error: Exception | None) -> bytes:
        result: dict[str, object] = {"name": topic.name, "topic_id": topic.topic_id}
        if isinstance(error, NotAuthorized) and topic.name is None:
            result["name"], error = _name_of_denied(topic.topic_id, context), _hidden(error)
        if error is None:
            result = {"name": found[topic].name, "topic_id": found[topic].id}
        else:
            result["error_code"], result["error_message"] = kafka_code(error)
        return context.encode_item("responses", result)

    change_each(
        context,
        list(times),
        lambda topic: (_subject(topic, context), partial(prepare, topic)),
        done,
        lambda results: context.reply({"responses": results}),
    )


def _subject(asked: _Asked, context: RequestContext) -> str:
    if asked.name is None and asked.topic_id is not None:
        topic = context.broker.topics.by_id.get(asked.topic_id)
        return metric_name(topic.name) if topic else str(asked.topic_id)
    return metric_name(asked.name or "")


def _find(name: str | None, topic_id: UUID, context: RequestContext) -> Topic:
    broker = context.broker
    if not broker.settings.boolean("delete.topic.enable"):
        raise KafkaError("topics cannot be deleted", code=ErrorCode.TOPIC_DELETION_DISABLED)
    if (name is None) == (topic_id == _NO_ID):
        raise KafkaError(
            "a topic is named by its name or by its id", code=ErrorCode.INVALID_REQUEST
        )
    if name is not None:
        # Without DESCRIBE, a missing topic is answered like any other.
        _DESCRIBE.ensure(context, name)
        topic = broker.topics.find(name)
    else:
        found = broker.topics.by_id.get(topic_id)
        if found is None:
            raise UnknownTopic(
                f"topic with id {topic_id} does not exist", code=ErrorCode.UNKNOWN_TOPIC_ID
            )
        topic = found
    _DELETE.ensure(context, topic.name)
    if topic.internal:
        raise KafkaError(
            f'topic "{topic.name}" is internal and cannot be deleted',
            code=ErrorCode.INVALID_REQUEST,
        )
    return topic


def _name_of_denied(topic_id: UUID | None, context: RequestContext) -> str | None:
    """Return the name of a topic that the client may not delete, if it may know that."""
    topic = context.broker.topics.by_id.get(topic_id or _NO_ID)
    return topic.name if topic is not None and _DESCRIBE.allows(context, topic.name) else None


def _hidden(error: Exception) -> KafkaError:
    """Return the error of a topic that was asked for by its id: the name stays unknown."""
    return KafkaError(
        f"no right to {_DELETE.operation.name} on the topic with this id", code=_DELETE.code
    ).with_traceback(error.__traceback__)


API = Api(key=20, name="DeleteTopics", versions=range(1, 7), handle=handle)
