"""DescribeQuorum, API key 55, versions 0-2.

Behaviour: the broker is a quorum of one: it leads partition 0 of `__cluster_metadata`, in the epoch
of its start. There is no such log here; its end is the number of changes since the start. Any other
partition is UNKNOWN_TOPIC_OR_PARTITION.

v1  times of replicas       v2 nodes and their listeners

Source: Kafka `KafkaRaftClient.handleDescribeQuorumRequest`; KIP-595, KIP-836, KIP-853.
"""

from typing import TYPE_CHECKING, Final

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.table import checks_of
from duolog.broker.requests.api import Api
from duolog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from kio.schema.describe_quorum.v0.request import DescribeQuorumRequest as Oldest
    from kio.schema.describe_quorum.v2.request import DescribeQuorumRequest as Newest

_TOPIC: Final = "__cluster_metadata"


(_CLUSTER,) = checks_of(55)


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    _CLUSTER.ensure(context)
    asked = [
        (topic.topic_name, row.partition_index)
        for topic in request.topics
        for row in topic.partitions
    ]
    if asked != [(_TOPIC, 0)]:
        context.reply({"error_message": None, "topics": _unknown(request)})
        return
    broker = context.broker
    now_ms = broker.clock.now_ms()
    end = broker.controller.changes
    voter = {
        "replica_id": broker.node_id,
        "log_end_offset": end,
        "last_fetch_timestamp": now_ms,
        "last_caught_up_timestamp": now_ms,
    }
    partition = {
        "partition_index": 0,
        "error_message": None,
        "leader_id": broker.node_id,
        "leader_epoch": broker.leader_epoch,
        "high_watermark": end,
        "current_voters": [voter],
        "observers": [],
    }
    host, port = context.advertised
    listener = {"name": "PLAINTEXT", "host": host, "port": port}
    context.reply(
        {
            "error_message": None,
            "topics": [{"topic_name": _TOPIC, "partitions": [partition]}],
            "nodes": [{"node_id": broker.node_id, "listeners": [listener]}],
        }
    )


def _unknown(request: "Oldest | Newest") -> list[dict[str, object]]:
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return [
        {
            "topic_name": topic.topic_name,
            "partitions": [
                {"partition_index": row.partition_index, "error_code": code}
                for row in topic.partitions
            ],
        }
        for topic in request.topics
    ]


API = Api(key=55, name="DescribeQuorum", versions=range(3), handle=handle)
