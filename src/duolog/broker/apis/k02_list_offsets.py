"""ListOffsets, API key 2, versions 1-10.

Behaviour: a time of 0 or above is answered with the first record at or after it, exact to the
record; none below the bound of the isolation level gives offset -1 and timestamp -1. Negative times ask for
a place:

    -1 latest   -2 earliest   -3 of the largest timestamp (v7)   -4 earliest local (v8)
    -5 latest in remote storage (v9): there is none, offset -1

v2  isolation level: read_committed is answered up to the last stable offset
v4  leader epochs      v6 flexible      v10 timeout

Source: Kafka `UnifiedLog.fetchOffsetByTimestamp`, `ListOffsetsRequest`.
"""

from collections.abc import Callable, Generator
from functools import partial
from typing import Any, Final

from duolog.broker.errors import kafka_code
from duolog.broker.requests.api import Api, RequestContext
from duolog.broker.requests.many_items import Steps, run_steps
from duolog.broker.topics.leader_epoch import NO_EPOCH, check_leader_epoch
from duolog.broker.topics.topics import Partition
from duolog.core.errors import DuologError
from duolog.core.units import KIB
from duolog.log.partition_log import PartitionLog
from duolog.log.segments import TimestampOffset, first_record_from
from duolog.protocol.error_codes import ErrorCode
from duolog.record.batch import read_header

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

_Search = Generator[Callable[[], Any] | None, Any, dict[str, Any]]
_BATCH_BYTES_MAX: Final = 8 * KIB
"""A larger batch is looked through beside the loop, and so is one that may be larger than it seems."""
_NOT_FOUND: Final[dict[str, Any]] = {"offset": -1, "timestamp": -1}


def handle(request: Any, context: RequestContext) -> None:
    run_steps(context, _steps(request, context))


def _steps(request: Any, context: RequestContext) -> Steps:
    committed = getattr(request, "isolation_level", 0) == READ_COMMITTED
    topics = []
    for topic in request.topics:
        rows = []
        for asked in topic.partitions:
            row = yield from _answer(context, topic.name, asked, committed=committed)
            rows.append({"partition_index": asked.partition_index, **row})
            yield None
        topics.append({"name": topic.name, "partitions": rows})
    context.reply({"topics": topics})


def _answer(context: RequestContext, topic: str, asked: Any, *, committed: bool) -> _Search:
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
    if timestamp < 0:
        largest = log.largest_timestamp
        found = None if largest is None else (yield from _first_from(log, largest))
        if found is None and largest is not None:
            # Compaction may have left a batch without records that still bears the largest time.
            found = log.max_timestamp()
    else:
        found = yield from _first_from(log, timestamp)
    if found is None or found.offset >= bound:
        return _NOT_FOUND
    return {
        "offset": found.offset,
        "timestamp": found.timestamp_ms,
        "leader_epoch": found.leader_epoch,
    }


def _first_from(
    log: PartitionLog, timestamp: int
) -> Generator[Callable[[], Any] | None, Any, TimestampOffset | None]:
    """Look for the first record from a time on, in steps: batches may claim times that they lack."""
    log_start_offset = log.log_start_offset
    for batch in log.batches_from_time(timestamp):
        if batch is not None:
            look = partial(first_record_from, batch, timestamp, log_start_offset)
            beside = len(batch) > _BATCH_BYTES_MAX or read_header(batch).compression
            found: TimestampOffset | None = (yield look) if beside else look()
            if found is not None:
                return found
        yield None
    return None


API = Api(key=2, name="ListOffsets", versions=range(1, 11), handle=handle)
