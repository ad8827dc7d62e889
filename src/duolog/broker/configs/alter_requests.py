"""Code shared by AlterConfigs and IncrementalAlterConfigs: resources succeed or fail one by one."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from duolog.broker.configs.needs import Broker
from duolog.broker.controller import Change
from duolog.broker.errors import kafka_code
from duolog.broker.requests.api import RequestContext
from duolog.broker.requests.many_items import change_each
from duolog.core.errors import KafkaError
from duolog.protocol.error_codes import ErrorCode


def alter_resources(
    request: Any, context: RequestContext[Broker], prepare: Callable[[Any], Change | None]
) -> None:
    """Make the changes that `prepare` returns for each resource, or only check them."""
    times = Counter(_name(resource) for resource in request.resources)
    configs = context.broker.configs

    def prepare_once(resource: Any) -> Change | None:
        if times[_name(resource)] > 1:
            raise KafkaError("resource is in the request twice", code=ErrorCode.INVALID_REQUEST)
        change = prepare(resource)
        return None if request.validate_only else change

    def task(resource: Any) -> tuple[str, Callable[[], Change | None]]:
        subject = configs.subject(resource.resource_type, resource.resource_name)
        return subject, partial(prepare_once, resource)

    def done(resource: Any, error: Exception | None) -> dict[str, Any]:
        result = {
            "resource_type": resource.resource_type,
            "resource_name": resource.resource_name,
            "error_message": None,
        }
        if error is not None:
            result["error_code"], result["error_message"] = kafka_code(error)
        return result

    change_each(
        context,
        request.resources,
        task,
        done,
        lambda results: context.reply({"responses": results}),
    )


def _name(resource: Any) -> tuple[int, str]:
    return resource.resource_type, resource.resource_name
