"""DescribeCluster, API key 60, versions 0-2.

Behaviour: the one broker, which is its own controller. A request for controller endpoints is
answered that these are brokers': MISMATCHED_ENDPOINT_TYPE.

v1  endpoint type (KIP-919)       v2 fenced brokers (there are none)

Source: Kafka `KafkaApis.handleDescribeCluster`, KIP-700.
"""

from typing import TYPE_CHECKING

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.checks import authorized_operations
from duolog.broker.authorization.table import checks_of
from duolog.broker.requests.api import Api
from duolog.protocol.error_codes import ErrorCode
from duolog.protocol.operations import OPERATIONS_NOT_ASKED
from duolog.security.authorization.operations import ResourceType

if TYPE_CHECKING:
    from kio.schema.describe_cluster.v0.request import DescribeClusterRequest as Oldest
    from kio.schema.describe_cluster.v2.request import DescribeClusterRequest as Newest

(_CLUSTER,) = checks_of(60)
_BROKERS = 1
_CONTROLLERS = 2


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    broker = context.broker
    endpoint_type = getattr(request, "endpoint_type", _BROKERS)
    if endpoint_type != _BROKERS:
        code, message = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"no endpoint type {endpoint_type}"
        if endpoint_type == _CONTROLLERS:
            code, message = ErrorCode.MISMATCHED_ENDPOINT_TYPE, "this is a broker's endpoint"
        context.reply({"endpoint_type": _BROKERS, "error_code": code, "error_message": message})
        return
    operations = OPERATIONS_NOT_ASKED
    if request.include_cluster_authorized_operations:
        known = _CLUSTER.allows(context)
        operations = authorized_operations(context, ResourceType.CLUSTER) if known else 0
    host, port = context.advertised
    context.reply(
        {
            "endpoint_type": _BROKERS,
            "cluster_id": broker.cluster_id,
            "controller_id": broker.node_id,
            "brokers": [
                {"broker_id": broker.node_id, "host": host, "port": port, "rack": broker.rack}
            ],
            "cluster_authorized_operations": operations,
        }
    )


API = Api(key=60, name="DescribeCluster", versions=range(3), handle=handle)
