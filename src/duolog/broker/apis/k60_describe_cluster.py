"""DescribeCluster, API key 60, versions 0-2.

Behaviour: the one broker, which is its own controller. Who asks for controllers' endpoints is
told that these are brokers': MISMATCHED_ENDPOINT_TYPE.

v1  endpoint type (KIP-919)       v2 fenced brokers (there are none)

Source: Kafka `KafkaApis.handleDescribeCluster`, KIP-700.
"""

from typing import Any

from duolog.broker.api import Api, RequestContext
from duolog.protocol.error_codes import ErrorCode

_BROKERS = 1


def handle(request: Any, context: RequestContext) -> None:
    broker = context.broker
    if getattr(request, "endpoint_type", _BROKERS) != _BROKERS:
        context.reply_error(ErrorCode.MISMATCHED_ENDPOINT_TYPE, "this is a broker's endpoint")
        return
    host, port = broker.advertised
    context.reply(
        {
            "endpoint_type": _BROKERS,
            "cluster_id": broker.cluster_id,
            "controller_id": broker.node_id,
            "brokers": [{"broker_id": broker.node_id, "host": host, "port": port}],
        }
    )


API = Api(key=60, name="DescribeCluster", versions=range(3), handle=handle)
