"""IncrementalAlterConfigs, API key 44, versions 0-1.

Behaviour: changes single configs of a topic; what is not named stays. All changes of a topic
are made, or none. The broker's own settings are given at its start: INVALID_CONFIG.

    0 SET    1 DELETE (back to the default)    2 APPEND, 3 SUBTRACT (of lists)

v1  flexible

Source: Kafka `ConfigurationControlManager.incrementalAlterConfigs`, KIP-339.
"""

from collections import Counter
from typing import Any, Final

from duolog.broker.api import Api, RequestContext
from duolog.broker.config_resources import BROKER, TOPIC
from duolog.broker.errors import kafka_code
from duolog.broker.topic_names import check_topic_name
from duolog.broker.topics import Topic
from duolog.core.errors import ConfigError, DuologError, KafkaError
from duolog.core.settings import Kind
from duolog.log.config import TOPIC_SETTINGS
from duolog.protocol.error_codes import ErrorCode

SET: Final = 0
DELETE: Final = 1
APPEND: Final = 2
SUBTRACT: Final = 3


def handle(request: Any, context: RequestContext) -> None:
    named = [(resource.resource_type, resource.resource_name) for resource in request.resources]
    times = Counter(named)
    context.reply(
        {
            "responses": [
                _alter(
                    resource,
                    context,
                    validate_only=request.validate_only,
                    unique=times[name] == 1,
                )
                for name, resource in zip(named, request.resources, strict=True)
            ]
        }
    )


def _alter(
    resource: Any, context: RequestContext, *, validate_only: bool, unique: bool
) -> dict[str, Any]:
    result = {
        "resource_type": resource.resource_type,
        "resource_name": resource.resource_name,
        "error_message": None,
    }
    topics = context.broker.topics
    try:
        if not unique:
            raise KafkaError("resource is in the request twice", code=ErrorCode.INVALID_REQUEST)
        topic = _topic(resource, context)
        configs = _changed(topic, resource.configs, topics.configs.effective(topic.configs))
        topics.configs.check(configs)
        if not validate_only:
            topics.alter_configs(topic.name, configs)
    except (DuologError, OSError) as error:
        code, message = kafka_code(error)
        return {**result, "error_code": code, "error_message": message}
    return result


def _topic(resource: Any, context: RequestContext) -> Topic:
    if resource.resource_type == TOPIC:
        if not resource.resource_name:
            raise KafkaError("topic has no name", code=ErrorCode.INVALID_REQUEST)
        check_topic_name(resource.resource_name)
        return context.broker.topics.find(resource.resource_name)
    if resource.resource_type == BROKER:
        if resource.resource_name not in {"", str(context.broker.node_id)}:
            raise KafkaError(
                f'broker "{resource.resource_name}" is not this one, {context.broker.node_id}',
                code=ErrorCode.INVALID_REQUEST,
            )
        raise ConfigError("settings of the broker are given at its start, with --set")
    raise KafkaError(
        f"resources of type {resource.resource_type} have no configs here",
        code=ErrorCode.INVALID_REQUEST,
    )


def _changed(topic: Topic, changes: Any, effective: dict[str, str]) -> dict[str, str]:
    """Return what is set for the topic after the changes."""
    configs = dict(topic.configs)
    seen: set[str] = set()
    for change in changes:
        if change.name in seen:
            raise KafkaError(
                f'topic setting "{change.name}" is changed twice', code=ErrorCode.INVALID_REQUEST
            )
        seen.add(change.name)
        operation, value = change.config_operation, change.value
        if operation == DELETE:
            configs.pop(change.name, None)  # Also what no topic can have: then it is not there.
            continue
        row = TOPIC_SETTINGS.row(change.name)
        if value is None:
            raise KafkaError(
                f'topic setting "{change.name}" has no value', code=ErrorCode.INVALID_REQUEST
            )
        if operation == SET:
            configs[change.name] = value
            continue
        if operation not in {APPEND, SUBTRACT}:
            raise KafkaError(f"unknown operation {operation}", code=ErrorCode.INVALID_REQUEST)
        if row.kind is not Kind.LIST:
            raise ConfigError(f'topic setting "{change.name}" is no list', name=change.name)
        configs[change.name] = _edited_list(effective[change.name], value, operation)
    return configs


def _edited_list(current: str, value: str, operation: int) -> str:
    items = [item for item in current.split(",") if item]
    named = [item.strip() for item in value.split(",") if item.strip()]
    if operation == APPEND:
        items += [item for item in named if item not in items]
    else:
        items = [item for item in items if item not in named]
    return ",".join(items)


API = Api(key=44, name="IncrementalAlterConfigs", versions=range(2), handle=handle)
