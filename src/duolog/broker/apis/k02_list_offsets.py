"""ListOffsets, API key 2, versions 1-10.

Behaviour: a time of 0 or above is answered with the first record at or after it, exact to the
record; none below the bound of the isolation level gives offset -1 and timestamp -1. Negative times
ask for a place:

    -1 latest   -2 earliest   -3 of the largest timestamp (v7)   -4 earliest local (v8)
    -5 latest in remote storage (v9): there is none, offset -1

v2  isolation level: read_committed is answered up to the last stable offset
v4  leader epochs      v6 flexible      v10 timeout

Source: Kafka `UnifiedLog.fetchOffsetByTimestamp`, `ListOffsetsRequest`.
"""

from typing import TYPE_CHECKING, Final

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.table import checks_of
from duolog.broker.errors import kafka_code
from duolog.broker.requests.api import Api
from duolog.broker.requests.many_items import Steps, Stepwise, run_steps
from duolog.broker.topics.leader_epoch import NO_EPOCH, check_leader_epoch
from duolog.broker.topics.topics import Partition
from duolog.core.errors import DuologError
from duolog.log.segments.time_search import Search, TimestampOffset
from duolog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from kio.schema.list_offsets.v1.request import ListOffsetsPartition as OldestPartition
    from kio.schema.list_offsets.v1.request import ListOffsetsRequest as Oldest
    from kio.schema.list_offsets.v10.request import ListOffsetsPartition as NewestPartition
    from kio.schema.list_offsets.v10.request import ListOffsetsRequest as Newest

READ_COMMITTED: Final = 1

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5

_FIRST_VERSION: Final = {
    LATEST: 1,
    EARLIEST: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
}

(_TOPIC,) = checks_of(2)
_Search = Stepwise[dict[str, object]]
_NOT_FOUND: Final[dict[str, object]] = {"offset": -1, "timestamp": -1}


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    run_steps(context, _steps(request, context))


def _steps(request: "Oldest | Newest", context: RequestContext) -> Steps:
    committed = getattr(request, "isolation_level", 0) == READ_COMMITTED
    topics = []
    for topic in request.topics:
        rows: list[dict[str, object]] = []
        denied = not _TOPIC.allows(context, topic.name)
        for asked in topic.partitions:
            if denied:
                rows.append({"partition_index": asked.partition_index, "error_code": _TOPIC.code})
                continue
            row = yield from _answer(context, topic.name, asked, committed=committed)
            rows.append({"partition_index": asked.partition_index, **row})
            yield None
        topics.append({"name": topic.name, "partitions": rows})
    context.reply({"topics": topics})


def _answer(
    context: RequestContext,
    topic: str,
    asked: "OldestPartition | NewestPartition",
    *,
    committed: bool,
) -> _Search:
    try:
        partition = context.broker.topics.partition(topic, asked.partition_index)
        epoch = getattr(asked, "current_leader_epoch", NO_EPOCH)
        code = check_leader_epoch(epoch, partition.log.leader_epoch)
        if code != ErrorCode.NONE:
            return {"error_code": code}
        return (yield from _find(partition, asked.timestamp, context.version, committed=committed))
    except (DuologError, OSError) as error:
        return {"error_code": kafka_code(error)[0]}


def _find(partition: Partition, timestamp: int, version: int, *, committed: bool) -> _Search:
    log = partition.log
    bound = log.last_stable_offset if committed else log.high_watermark
    if timestamp < 0 and version < _FIRST_VERSION.get(timestamp, version + 1):
        return {"error_code": ErrorCode.UNSUPPORTED_VERSION}
    if timestamp == LATEST:
        return {"offset": bound, "leader_epoch": log.leader_epoch}
    if timestamp in {EARLIEST, EARLIEST_LOCAL}:
        return {"offset": log.log_start_offset, "leader_epoch": log.epoch_of_log_start}
    if timestamp == LATEST_TIERED:
        return _NOT_FOUND
    search = log.search_largest_time() if timestamp < 0 else log.search_time(timestamp)
    found = yield from _in_steps(search)
    if found is None or found.offset >= bound:
        return _NOT_FOUND
    return {
        "offset": found.offset,
        "timestamp": found.timestamp_ms,
        "leader_epoch": found.leader_epoch,
    }


def _in_steps(search: Search) -> Stepwise[TimestampOffset | None]:
    """Do the short looks of a search at once, and the others off the event loop."""
    found: TimestampOffset | None = None
    while True:
        try:
            look = search.send(found)
        except StopIteration as end:
            result: TimestampOffset | None = end.value
            return result
        found = look() if look is not None and look.short else (yield look)


API = Api(key=2, name="ListOffsets", versions=range(1, 11), handle=handle, looks=True)
