"""DescribeClientQuotas, API key 48, versions 0-1.

Behaviour: the quotas of the entities that match the filter. `entries` is null only with an error:
Java's admin client fails on null.

v1  flexible

Source: Kafka `ClientQuotasImage.describe`, KIP-546.
"""

from typing import TYPE_CHECKING

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.table import checks_of
from duolog.broker.configs.client_quotas import Component, check_components
from duolog.broker.errors import kafka_code
from duolog.broker.requests.api import Api
from duolog.core.errors import KafkaError

if TYPE_CHECKING:
    from kio.schema.describe_client_quotas.v0.request import DescribeClientQuotasRequest as Oldest
    from kio.schema.describe_client_quotas.v1.request import DescribeClientQuotasRequest as Newest


(_CLUSTER,) = checks_of(48)


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    _CLUSTER.ensure(context)
    components = [
        Component(row.entity_type, row.match_type, row.match) for row in request.components
    ]
    try:
        check_components(components)
    except KafkaError as error:
        code, message = kafka_code(error)
        context.reply({"error_code": code, "error_message": message, "entries": None})
        return
    entries = [
        {
            "entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity],
            "values": [{"key": key, "value": value} for key, value in quotas.items()],
        }
        for entity, quotas in context.broker.quotas.find(components, strict=request.strict)
    ]
    context.reply({"error_message": None, "entries": entries})


API = Api(key=48, name="DescribeClientQuotas", versions=range(2), handle=handle)
