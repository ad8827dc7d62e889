"""DescribeConfigs, API key 32, versions 1-4.

Behaviour: lists every config of a topic, or of this broker, with its value, where the value
comes from and what it would be without. Names that are asked for and do not exist are left out.

v1  synonyms       v3 type and documentation       v4 flexible

Source: Kafka `ConfigHelper.describeConfigs`; KIP-226, KIP-569.
"""

from collections.abc import Iterable
from typing import Any

from duolog.broker.api import Api, RequestContext
from duolog.broker.config_resources import BROKER, TOPIC
from duolog.broker.config_rows import broker_config_rows, topic_config_rows
from duolog.broker.errors import kafka_code
from duolog.broker.topic_names import check_topic_name
from duolog.core.errors import DuologError, KafkaError
from duolog.protocol.error_codes import ErrorCode


def handle(request: Any, context: RequestContext) -> None:
    context.reply(
        {
            "results": [
                _describe(
                    resource,
                    context,
                    synonyms=request.include_synonyms,
                    documentation=getattr(request, "include_documentation", False),
                )
                for resource in request.resources
            ]
        }
    )


def _describe(
    resource: Any, context: RequestContext, *, synonyms: bool, documentation: bool
) -> dict[str, Any]:
    result = {
        "resource_type": resource.resource_type,
        "resource_name": resource.resource_name,
        "error_message": None,
    }
    try:
        rows = _rows(resource, context)
    except DuologError as error:
        code, message = kafka_code(error)
        return {**result, "error_code": code, "error_message": message}
    keys = resource.configuration_keys
    if keys:
        rows = [row for row in rows if row["name"] in keys]
    hidden: dict[str, Any] = {}
    if not synonyms:
        hidden["synonyms"] = []
    if not documentation:
        hidden["documentation"] = None
    return {**result, "configs": [{**row, **hidden} for row in rows]}


def _rows(resource: Any, context: RequestContext) -> Iterable[dict[str, Any]]:
    broker, name = context.broker, resource.resource_name
    if resource.resource_type == TOPIC:
        check_topic_name(name)
        return topic_config_rows(broker, broker.topics.find(name).configs)
    if resource.resource_type == BROKER:
        if name == "":
            return []  # What is set for all brokers at run time: nothing can be.
        if name == str(broker.node_id):
            return broker_config_rows(broker)
        raise KafkaError(
            f'broker "{name}" is not this one, {broker.node_id}', code=ErrorCode.INVALID_REQUEST
        )
    raise KafkaError(
        f"resources of type {resource.resource_type} have no configs here",
        code=ErrorCode.INVALID_REQUEST,
    )


API = Api(key=32, name="DescribeConfigs", versions=range(1, 5), handle=handle)
