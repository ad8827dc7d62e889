"""Produce, API key 0, versions 3-12 (0-2 are listed and refused, KAFKA-18659).

Behaviour: a batch is checked, staged in its log and answered when the round that it came in is
on the disk; acks=1 and acks=all wait alike, for there is one replica. acks=0 has no answer; an
error then closes the connection. Each partition has its own error. A duplicate of an
idempotent producer is answered with the offset of the first.

v4  KAFKA_STORAGE_ERROR      v5  log start offset
v7  zstd                     v8  errors of single records, error message
v9  flexible                 v10 current leader, a tagged field that is never needed here
v11 TRANSACTION_ABORTABLE    v12 a batch adds its partition to the transaction (KIP-890)

Source: Kafka `KafkaApis.handleProduceRequest`, `ReplicaManager.appendRecords`.
"""

import logging
from typing import TYPE_CHECKING, Final

from duolog.broker.errors import kafka_code
from duolog.broker.produce.batch_validation import (
    BatchRefused,
    OpenedRecords,
    check_batch,
    stamp_with_append_time,
)
from duolog.broker.produce.produce_burst import append_single
from duolog.broker.produce.records_check import Opened, batches_to_open, open_all, open_few
from duolog.broker.produce.transactional import is_transactional, refusal, verify
from duolog.broker.requests.api import Api, answer_failure
from duolog.broker.requests.in_flight import InFlightRequest
from duolog.broker.topics.topics import Topic
from duolog.core.errors import DuologError
from duolog.log.validation import ensure_appendable
from duolog.protocol.error_codes import ErrorCode
from duolog.protocol.produce import (
    VERSIONS,
    ProduceData,
    ProduceRequest,
    ProduceResult,
    ProduceResults,
    read_produce_request,
    write_produce_response,
)
from duolog.protocol.produce_single import FIRST_VERSION

if TYPE_CHECKING:
    from duolog.broker.broker import Broker
    from duolog.broker.network.connection import Connection

logger = logging.getLogger(__name__)

_ACKS: Final = (-1, 0, 1)


class PendingProduce(InFlightRequest):
    """A produce request whose batches are on their way to the disk."""

    __slots__ = ("connection", "correlation_id", "results", "version")

    appends = True

    def __init__(self, connection: "Connection", version: int, correlation_id: int) -> None:
        self.data = None
        self.connection = connection
        self.version = version
        self.correlation_id = correlation_id
        self.results: ProduceResults = []

    def durable(self) -> None:
        self.connection.broker.counters.produce_requests += 1
        self.connection.complete(
            self, write_produce_response(self.version, self.correlation_id, self.results)
        )

    def failed(self, error: Exception) -> None:
        """Answer KAFKA_STORAGE_ERROR for what seemed to be appended."""
        del error
        self.results = [
            (
                name,
                [
                    ProduceResult(result.partition, ErrorCode.KAFKA_STORAGE_ERROR)
                    if result.error_code == ErrorCode.NONE
                    else result
                    for result in results
                ],
            )
            for name, results in self.results
        ]
        self.durable()


class UnansweredProduce:
    """A produce request with acks=0 whose batches are on their way to the disk."""

    __slots__ = ("_connection",)

    def __init__(self, connection: "Connection") -> None:
        connection.appending += 1
        self._connection = connection

    def durable(self) -> None:
        self._connection.appended()

    def failed(self, error: Exception) -> None:
        del error
        self._connection.close("a produce request with acks=0 failed", level=logging.WARNING)


def handle_frame(
    connection: "Connection", frame: memoryview, version: int, correlation_id: int, position: int
) -> None:
    if version >= FIRST_VERSION and append_single(connection, frame, correlation_id, position):
        return
    broker = connection.broker
    request = read_produce_request(frame, position, version)
    refused = refusal(request)
    if refused != ErrorCode.NONE:
        results = _refuse_all(request, refused)
    elif request.acks not in _ACKS:
        results = _refuse_all(request, ErrorCode.INVALID_REQUIRED_ACKS)
    elif broker.rounds.failure is not None:
        results = _refuse_all(request, ErrorCode.KAFKA_STORAGE_ERROR)
    else:
        now_ms = broker.clock.now_ms()
        opened = open_few(batches_to_open(broker.topics, request, now_ms), now_ms)
        if opened is None:
            _append_later(connection, frame, version, correlation_id, position)
            return
        results = _append_all(broker, request, opened, version)
    pending = None
    if request.acks:
        pending = PendingProduce(connection, version, correlation_id)
        connection.begin(pending)
    _await_durable(connection, pending, results)


def _append_later(
    connection: "Connection", frame: memoryview, version: int, correlation_id: int, position: int
) -> None:
    """Look at the records beside the loop, and append in a later round."""
    broker = connection.broker
    copied = memoryview(bytearray(frame))  # The receive buffer is written again.
    request = read_produce_request(copied, position, version)
    now_ms = broker.clock.now_ms()
    batches = batches_to_open(broker.topics, request, now_ms)
    pending = None
    if request.acks:
        pending = PendingProduce(connection, version, correlation_id)
        connection.begin(pending)
    connection.hold_back()
    broker.request_memory.copied(len(copied))

    def looked_at(opened: Opened | None, error: Exception | None) -> None:
        broker.request_memory.decoded(len(copied))
        try:
            assert opened is not None, error
            if broker.rounds.failure is not None:
                results = _refuse_all(request, ErrorCode.KAFKA_STORAGE_ERROR)
            else:
                results = _append_all(broker, request, opened, version)
            _await_durable(connection, pending, results)
        except Exception as unexpected:  # noqa: BLE001  The edge of a request, in a later round.
            answer_failure(connection, API, copied, pending or InFlightRequest(), unexpected)
        connection.go_on()

    broker.beside.call(lambda: open_all(batches, now_ms), looked_at)


def _await_durable(
    connection: "Connection", pending: PendingProduce | None, results: ProduceResults
) -> None:
    """Let who asked wait for what was appended; None where nobody waits for an answer."""
    rounds = connection.broker.rounds
    if pending is None:
        _check_unanswered(connection, results)
        if rounds.dirty and not connection.closed:
            rounds.pending.append(UnansweredProduce(connection))
        return
    pending.results = results
    if rounds.dirty:
        rounds.pending.append(pending)
    else:
        pending.durable()


def _append_all(
    broker: "Broker", request: ProduceRequest, opened: Opened, version: int
) -> ProduceResults:
    rest = iter(opened)
    return [
        (name, _append_topic(broker, request, name, list(zip(data, rest, strict=False)), version))
        for name, data in request.topics
    ]


def _append_topic(
    broker: "Broker",
    request: ProduceRequest,
    name: bytes,
    data: list[tuple[ProduceData, OpenedRecords | None]],
    version: int,
) -> list[ProduceResult]:
    topic = broker.topics.by_name_bytes.get(name)
    if topic is None:
        return [
            ProduceResult(item.partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) for item, _ in data
        ]
    if topic.internal:
        # Only coordinators write here: a client's record could break their replay.
        return [
            ProduceResult(item.partition, ErrorCode.INVALID_TOPIC_EXCEPTION) for item, _ in data
        ]
    return [_append(broker, request, topic, item, version) for item in data]


def _append(
    broker: "Broker",
    request: ProduceRequest,
    topic: Topic,
    item: tuple[ProduceData, OpenedRecords | None],
    version: int,
) -> ProduceResult:
    (index, batch), opened = item
    partition = topic.partition(index)
    if partition is None:
        return ProduceResult(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if batch is None:
        return ProduceResult(index, ErrorCode.INVALID_RECORD, error_message="no record batch")
    if partition.refused is not None:
        return ProduceResult(index, partition.refused.code, error_message=partition.refused.message)
    config = topic.config
    now_ms = broker.clock.now_ms()
    append_time_ms = -1
    log = partition.log
    try:
        check_batch(batch, config, version=version, now_ms=now_ms, opened=opened)
        topic.allow_times_at(now_ms)
        if config.log_append_time:
            ensure_appendable(batch, config.batch_bytes_max)
            append_time_ms = now_ms
            stamp_with_append_time(batch, now_ms)
        if is_transactional(batch):
            ensure_appendable(batch, config.batch_bytes_max, log_append_time=config.log_append_time)
            verify(broker, request.transactional_id, partition, batch, version)
        appended = log.append(batch)
    except BatchRefused as error:
        return ProduceResult(
            index,
            error.code,
            record_errors=error.record_errors,
            error_message=error.message,
            log_start_offset=log.log_start_offset,
        )
    except (DuologError, OSError) as error:
        code, message = kafka_code(error)
        return ProduceResult(index, code, error_message=message)
    broker.rounds.dirty.add(partition)
    return ProduceResult(index, 0, appended.base_offset, append_time_ms, log.log_start_offset)


def _refuse_all(request: ProduceRequest, code: ErrorCode) -> ProduceResults:
    return [
        (name, [ProduceResult(item.partition, code) for item in data])
        for name, data in request.topics
    ]


def _check_unanswered(connection: "Connection", results: ProduceResults) -> None:
    """Close the connection of a producer that waits for no answer, when it should know."""
    for name, partitions in results:
        for result in partitions:
            if result.error_code != ErrorCode.NONE:
                topic = name.decode("utf-8", "replace")
                connection.close(
                    f"produce with acks=0 to {topic}-{result.partition} failed with "
                    f"error {result.error_code}",
                    level=logging.WARNING,
                )
                return


API = Api(
    key=0,
    name="Produce",
    versions=VERSIONS,
    listed=range(13),
    handle_frame=handle_frame,
    appends=True,
)
