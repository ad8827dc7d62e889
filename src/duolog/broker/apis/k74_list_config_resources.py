"""ListConfigResources, API key 74, versions 0-1.

Behaviour: the names of what has configs: topics, this broker and its loggers, and the groups and
subscriptions of clients' metrics of which something is set. A kind that does not exist is
UNSUPPORTED_VERSION, as in Kafka.

v0  subscriptions of clients' metrics only       v1 any kinds; none named means all

Source: Kafka `KafkaApis.handleListConfigResources`, KIP-1142.
"""

from typing import TYPE_CHECKING, Final

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.table import checks_of
from duolog.broker.configs.resources import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC
from duolog.broker.requests.api import Api
from duolog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from kio.schema.list_config_resources.v0.request import ListConfigResourcesRequest as Oldest
    from kio.schema.list_config_resources.v1.request import ListConfigResourcesRequest as Newest

(_CLUSTER,) = checks_of(74)
_KINDS: Final = (TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP)


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    _CLUSTER.ensure(context)
    kinds = getattr(request, "resource_types", (CLIENT_METRICS,)) or _KINDS
    if not set(kinds) <= set(_KINDS):
        context.reply({"error_code": ErrorCode.UNSUPPORTED_VERSION})
        return
    configs = context.broker.configs
    context.reply(
        {
            "config_resources": [
                {"resource_name": name, "resource_type": kind}
                for kind in dict.fromkeys(kinds)
                for name in configs.names(kind)
            ]
        }
    )


API = Api(key=74, name="ListConfigResources", versions=range(2), handle=handle)
