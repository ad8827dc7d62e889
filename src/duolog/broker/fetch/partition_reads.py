"""Reads what a fetch request asks for, partition by partition.

    fetch offset < log start or > log end   → OFFSET_OUT_OF_RANGE
    fetch offset = bound or above           → nothing yet, no error
    otherwise                               → whole batches up to the bound

The bound is the high watermark, for read_committed the last stable offset; the answer then names
the aborted transactions among its records, and the client leaves those out (KIP-98).

The first partition that has records gives one batch even when it is larger than what was asked
for, so that a reader always moves (KIP-74). Records are never shown before they are durable.

Source: Kafka `ReplicaManager.readFromLog`, `UnifiedLog.read`, `addAbortedTransactions`.
"""

from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import UUID

from duolog.broker.authorization.table import READ_RECORDS
from duolog.broker.errors import kafka_code
from duolog.broker.requests.in_flight import FileSpan
from duolog.broker.topics.leader_epoch import NO_EPOCH, check_leader_epoch
from duolog.core.errors import DuologError
from duolog.core.units import KIB
from duolog.protocol.error_codes import ErrorCode
from duolog.protocol.fetch import (
    PARTITIONS_A_STEP,
    FetchPartition,
    FetchRequest,
    FetchResult,
    TopicKey,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from duolog.broker.fetch.needs import Broker
    from duolog.broker.requests.needs import Connection
    from duolog.broker.topics.topics import Partition, Topic
    from duolog.log.producers.aborted_index import AbortedTransaction

_SENDFILE_BYTES_MIN: Final = 16 * KIB
"""Below this, one send of bytes that were read costs less than a send and a sendfile."""


class Fetched(NamedTuple):
    """The result of a fetch request at this moment."""

    results: list[tuple[TopicKey, list[FetchResult[FileSpan]]]]
    size_bytes: int
    failed: bool
    bytes_by_topic: "Sequence[tuple[TopicKey, int]]" = ()


def fetch(
    connection: "Connection[Broker]", request: FetchRequest
) -> "Generator[None, None, Fetched]":
    """Read, in steps, for every partition of the request; nothing is copied but small pieces."""
    broker = connection.broker
    size_bytes, left = 0, PARTITIONS_A_STEP
    failed = False
    bytes_max = min(request.bytes_max, broker.fetch_bytes_max)
    results: list[tuple[TopicKey, list[FetchResult[FileSpan]]]] = []
    bytes_by_topic: list[tuple[TopicKey, int]] = []
    for key, partitions in request.topics:
        topic = find_topic(broker, key)
        denied = broker.authorizer is not None and is_denied(connection, key, topic)
        before = size_bytes
        answers = []
        for asked in partitions:
            partition = topic.partition(asked.partition) if topic and not denied else None
            if partition is None:
                code = READ_RECORDS.code if denied else _missing(key, topic)
                result: FetchResult[FileSpan] = FetchResult(asked.partition, code)
            else:
                result = _read(
                    partition,
                    asked,
                    bytes_max - size_bytes,
                    first=size_bytes == 0,
                    committed=request.read_committed,
                )
            size_bytes += result.size_bytes
            failed = failed or result.error_code != ErrorCode.NONE
            answers.append(result)
            left -= 1
            if left < 0:
                left = PARTITIONS_A_STEP
                yield
                topic = find_topic(broker, key)
        results.append((key, answers))
        if size_bytes > before:
            bytes_by_topic.append((key, size_bytes - before))
        left -= 1
        if left < 0:
            left = PARTITIONS_A_STEP
            yield
    return Fetched(results, size_bytes, failed, bytes_by_topic)


def read_partition(
    connection: "Connection[Broker]",
    key: TopicKey,
    asked: FetchPartition,
    budget: int,
    *,
    first: bool,
    committed: bool,
) -> "tuple[Partition | None, FetchResult[FileSpan]]":
    """Read one partition within `budget` bytes.

    Returns it with its result; None if it is gone, or the client may not read it.
    """
    broker = connection.broker
    topic = find_topic(broker, key)
    if broker.authorizer is not None and is_denied(connection, key, topic):
        return None, FetchResult(asked.partition, READ_RECORDS.code)
    partition = topic.partition(asked.partition) if topic else None
    if partition is None:
        return None, FetchResult(asked.partition, _missing(key, topic))
    return partition, _read(partition, asked, budget, first=first, committed=committed)


def refused(request: FetchRequest, code: ErrorCode) -> Fetched:
    """Return the answer that gives one error to every partition of the request."""
    results: list[tuple[TopicKey, list[FetchResult[FileSpan]]]] = [
        (key, [FetchResult(asked.partition, code) for asked in partitions])
        for key, partitions in request.topics
    ]
    return Fetched(results, 0, failed=True)


def find_topic(broker: "Broker", key: TopicKey) -> "Topic | None":
    """Return the topic that a request names by its id or by the bytes of its name."""
    if isinstance(key, UUID):
        return broker.topics.by_id.get(key)
    return broker.topics.by_name_bytes.get(key)


def is_denied(connection: "Connection[Broker]", key: TopicKey, topic: "Topic | None") -> bool:
    """Return whether the client may not read a topic, of which a missing id says nothing."""
    authorizer = connection.authorizer
    if authorizer is None:
        return False
    if topic is not None:
        name = topic.name
    elif isinstance(key, UUID):
        return False
    else:
        name = key.decode("utf-8", "replace")
    return not connection.may_read.allows(authorizer, connection.identity, name)


def _missing(key: TopicKey, topic: "Topic | None") -> int:
    if isinstance(key, UUID) and topic is None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _refusal(partition: "Partition", epoch: int) -> int:
    if partition.refused is not None:
        return partition.refused.code
    return check_leader_epoch(epoch, partition.log.leader_epoch)


def _read(
    partition: "Partition", asked: FetchPartition, budget: int, *, first: bool, committed: bool
) -> FetchResult[FileSpan]:
    index, epoch, offset, _, bytes_max = asked
    if partition.refused is not None or epoch not in {NO_EPOCH, partition.log.leader_epoch}:
        return FetchResult(index, _refusal(partition, epoch))
    log = partition.log
    high_watermark, start = log.high_watermark, log.log_start_offset
    if offset < start or offset > log.log_end_offset:
        return FetchResult(index, ErrorCode.OFFSET_OUT_OF_RANGE)
    stable = log.last_stable_offset
    bound = stable if committed else high_watermark
    bytes_max = min(bytes_max, budget)
    if offset >= bound or (bytes_max <= 0 and not first):
        return FetchResult(index, 0, high_watermark, stable, start, b"", 0)
    aborted: Sequence[AbortedTransaction] = ()
    try:
        found = log.read(offset, max(bytes_max, 0), up_to_offset=bound)
        size = found.size_bytes
        if found.file is None or (size > bytes_max and not first):
            return FetchResult(index, 0, high_watermark, stable, start, b"", 0)
        if committed:
            aborted = log.aborted_in(found, bound)
        records: bytes | FileSpan
        if size < _SENDFILE_BYTES_MIN or found.file.fileno() is None:
            records = found.file.pread(found.position, size)
            size = len(records)
        else:
            records = FileSpan(found.file, found.position, size)
    except (DuologError, OSError) as error:
        code, _message = kafka_code(error)
        return FetchResult(index, code, high_watermark, stable, start)
    return FetchResult(index, 0, high_watermark, stable, start, records, size, aborted)
