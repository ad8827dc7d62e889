"""Code shared by AlterConfigs and IncrementalAlterConfigs: resources succeed or fail one by one."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, TypeVar

from duolog.broker.authorization.checks import Check
from duolog.broker.configs.needs import Broker
from duolog.broker.configs.rights import check_of
from duolog.broker.controller import Change
from duolog.broker.errors import kafka_code
from duolog.broker.requests.api import RequestContext
from duolog.broker.requests.many_items import change_each
from duolog.core.errors import KafkaError
from duolog.protocol.error_codes import ErrorCode

Config = TypeVar("Config")
Config_co = TypeVar("Config_co", covariant=True)


class AlteredResource(Protocol[Config_co]):
    """A resource in a request, with the changes to it."""

    @property
    def resource_type(self) -> int: ...
    @property
    def resource_name(self) -> str: ...
    @property
    def configs(self) -> Sequence[Config_co]: ...


class AlterRequest(Protocol[Config_co]):
    """A request to alter resources."""

    @property
    def resources(self) -> Sequence[AlteredResource[Config_co]]: ...
    @property
    def validate_only(self) -> bool: ...


def alter_resources(
    request: AlterRequest[Config],
    context: RequestContext[Broker],
    checks: Sequence[Check],
    prepare: Callable[[AlteredResource[Config]], Change | None],
) -> None:
    """Make the changes that `prepare` returns for each resource, or only check them.

    The client needs the right to a resource that is one of `checks`, see `rights`.
    """
    times = Counter(_name(resource) for resource in request.resources)
    configs = context.broker.configs

    def prepare_once(resource: AlteredResource[Config]) -> Change | None:
        if times[_name(resource)] > 1:
            raise KafkaError("resource is in the request twice", code=ErrorCode.INVALID_REQUEST)
        check, name = check_of(checks, resource.resource_type, resource.resource_name)
        check.ensure(context, name)
        change = prepare(resource)
        return None if request.validate_only else change

    def task(resource: AlteredResource[Config]) -> tuple[str, Callable[[], Change | None]]:
        subject = configs.subject(resource.resource_type, resource.resource_name)
        return subject, partial(prepare_once, resource)

    def done(resource: AlteredResource[Config], error: Exception | None) -> dict[str, object]:
        result: dict[str, object] = {
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


def _name(resource: AlteredResource[object]) -> tuple[int, str]:
    return resource.resource_type, resource.resource_name
