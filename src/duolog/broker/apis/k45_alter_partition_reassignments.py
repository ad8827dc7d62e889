"""AlterPartitionReassignments, API key 45, versions 0-1.

Behaviour: a partition can only be moved to the single broker, where it is already. Others are
INVALID_REPLICA_ASSIGNMENT; to cancel a move is NO_REASSIGNMENT_IN_PROGRESS, for there is never one.

v1  whether the replication factor may change

Source: Kafka `ReplicationControlManager.alterPartitionReassignment`; KIP-455, KIP-860.
"""

from typing import TYPE_CHECKING

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.table import checks_of
from duolog.broker.errors import kafka_code
from duolog.broker.requests.api import Api
from duolog.broker.requests.many_items import Steps, run_steps
from duolog.core.errors import KafkaError
from duolog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from kio.schema.alter_partition_reassignments.v0.request import (
        AlterPartitionReassignmentsRequest as Oldest,
    )
    from kio.schema.alter_partition_reassignments.v0.request import (
        ReassignablePartition as OldestPartition,
    )
    from kio.schema.alter_partition_reassignments.v1.request import (
        AlterPartitionReassignmentsRequest as Newest,
    )
    from kio.schema.alter_partition_reassignments.v1.request import (
        ReassignablePartition as NewestPartition,
    )


(_CLUSTER,) = checks_of(45)


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    _CLUSTER.ensure(context)
    run_steps(context, _steps(request, context))


def _steps(request: "Oldest | Newest", context: RequestContext) -> Steps:
    responses: list[dict[str, object]] = []
    for topic in request.topics:
        rows = []
        for asked in topic.partitions:
            rows.append(_result(context, topic.name, asked))
            yield None
        responses.append({"name": topic.name, "partitions": rows})
        yield None
    context.reply(
        {
            "allow_replication_factor_change": getattr(
                request, "allow_replication_factor_change", True
            ),
            "error_message": None,
            "responses": responses,
        }
    )


def _result(
    context: RequestContext, topic: str, asked: "OldestPartition | NewestPartition"
) -> dict[str, object]:
    result: dict[str, object] = {"partition_index": asked.partition_index, "error_message": None}
    try:
        _check(context, topic, asked)
    except KafkaError as error:
        result["error_code"], result["error_message"] = kafka_code(error)
    return result


def _check(context: RequestContext, topic: str, asked: "OldestPartition | NewestPartition") -> None:
    broker = context.broker
    broker.topics.partition(topic, asked.partition_index)
    if asked.replicas is None:
        raise KafkaError(
            f'partition {asked.partition_index} of topic "{topic}" is not being moved',
            code=ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
        )
    if list(asked.replicas) != [broker.node_id]:
        raise KafkaError(
            f"replicas {list(asked.replicas)} are not the one broker, {broker.node_id}",
            code=ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        )


API = Api(key=45, name="AlterPartitionReassignments", versions=range(2), handle=handle)
