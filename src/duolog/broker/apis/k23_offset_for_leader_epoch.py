"""OffsetForLeaderEpoch, API key 23, versions 2-4.

Behaviour: returns the end offset of a leader epoch, so that a consumer can detect log truncation.
The broker's epoch rises at each start; after a crash with `durability=os` a log may have become
shorter, and this is how a consumer finds out.

v3  replica id (not used)       v4 flexible

Source: Kafka `ReplicaManager.lastOffsetForLeaderEpoch`, KIP-320.
"""

from typing import TYPE_CHECKING

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.table import checks_of
from duolog.broker.requests.api import Api
from duolog.broker.requests.many_items import Steps, run_steps
from duolog.broker.topics.leader_epoch import check_leader_epoch
from duolog.core.errors import KafkaError
from duolog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from kio.schema.offset_for_leader_epoch.v2.request import (
        OffsetForLeaderEpochRequest as Oldest,
    )
    from kio.schema.offset_for_leader_epoch.v2.request import (
        OffsetForLeaderPartition as OldestPartition,
    )
    from kio.schema.offset_for_leader_epoch.v4.request import (
        OffsetForLeaderEpochRequest as Newest,
    )
    from kio.schema.offset_for_leader_epoch.v4.request import (
        OffsetForLeaderPartition as NewestPartition,
    )


(_TOPIC,) = checks_of(23)


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    run_steps(context, _steps(request, context))


def _steps(request: "Oldest | Newest", context: RequestContext) -> Steps:
    topics = []
    for topic in request.topics:
        rows = []
        for asked in topic.partitions:
            rows.append(_answer(context, topic.topic, asked))
            yield None
        topics.append({"topic": topic.topic, "partitions": rows})
        yield None
    context.reply({"topics": topics})


def _answer(
    context: RequestContext, topic: str, asked: "OldestPartition | NewestPartition"
) -> dict[str, object]:
    try:
        _TOPIC.ensure(context, topic)
        log = context.broker.log(topic, asked.partition)
    except KafkaError as error:
        return {"partition": asked.partition, "error_code": error.code}
    code = check_leader_epoch(asked.current_leader_epoch, log.leader_epoch)
    if code != ErrorCode.NONE:
        return {"partition": asked.partition, "error_code": code}
    found = log.offset_for_leader_epoch(asked.leader_epoch)
    return {
        "partition": asked.partition,
        "leader_epoch": found.leader_epoch,
        "end_offset": found.end_offset,
    }


API = Api(key=23, name="OffsetForLeaderEpoch", versions=range(2, 5), handle=handle, looks=True)
