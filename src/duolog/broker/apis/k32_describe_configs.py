"""DescribeConfigs, API key 32, versions 1-4.

Behaviour: lists every config of a topic, a group, a subscription of clients' metrics or this
broker, with its value, where the value comes from and what it would be without. The empty name of a
broker asks for what is set for all brokers at run time. Names that are asked for and do not exist
are left out. A group or a subscription that does not exist has the defaults, as in Kafka.

v1  synonyms       v3 type and documentation       v4 flexible

Source: Kafka `ConfigHelper.describeConfigs`; KIP-226, KIP-569.
"""

from typing import TYPE_CHECKING

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.table import checks_of
from duolog.broker.configs.rights import check_of
from duolog.broker.errors import kafka_code
from duolog.broker.requests.api import Api
from duolog.broker.requests.many_items import work_in_slices
from duolog.core.errors import DuologError

if TYPE_CHECKING:
    from kio.schema.describe_configs.v1.request import DescribeConfigsRequest as Oldest
    from kio.schema.describe_configs.v1.request import DescribeConfigsResource as OldestResource
    from kio.schema.describe_configs.v4.request import DescribeConfigsRequest as Newest
    from kio.schema.describe_configs.v4.request import DescribeConfigsResource as NewestResource


_CHECKS = checks_of(32)


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    results: list[bytes] = []
    resources: tuple[OldestResource | NewestResource, ...] = request.resources
    documentation = getattr(request, "include_documentation", False)

    def describe(resource: "OldestResource | NewestResource") -> None:
        result = _describe(
            resource, context, synonyms=request.include_synonyms, documentation=documentation
        )
        results.append(context.encode_item("results", result))

    work_in_slices(context, resources, describe, lambda: context.reply({"results": results}))


def _describe(
    resource: "OldestResource | NewestResource",
    context: RequestContext,
    *,
    synonyms: bool,
    documentation: bool,
) -> dict[str, object]:
    result = {
        "resource_type": resource.resource_type,
        "resource_name": resource.resource_name,
        "error_message": None,
    }
    try:
        check, name = check_of(_CHECKS, resource.resource_type, resource.resource_name)
        check.ensure(context, name)
        rows = context.broker.configs.rows(resource.resource_type, resource.resource_name)
    except DuologError as error:
        code, message = kafka_code(error)
        return {**result, "error_code": code, "error_message": message}
    keys = resource.configuration_keys
    if keys:
        rows = [row for row in rows if row["name"] in keys]
    hidden: dict[str, object] = {}
    if not synonyms:
        hidden["synonyms"] = []
    if not documentation:
        hidden["documentation"] = None
    return {**result, "configs": [{**row, **hidden} for row in rows] if hidden else rows}


API = Api(key=32, name="DescribeConfigs", versions=range(1, 5), handle=handle, looks=True)
