"""Produce, API key 0, versions 3-12 (0-2 are listed and refused, KAFKA-18659).

Behaviour: a batch is checked, staged in its log and answered when the round that it came in is on
the disk; acks=1 and acks=all wait alike, for there is one replica. acks=0 has no answer; an error
then closes the connection. Each partition has its own error. A duplicate of an idempotent producer
is answered with the offset of the first. What takes longer, for its partitions or its records, is
done in later rounds out of the receive buffer, and its connection is held meanwhile.

v4  KAFKA_STORAGE_ERROR      v5  log start offset
v7  zstd                     v8  errors of single records, error message
v9  flexible                 v10 current leader, a tagged field that is never needed here
v11 TRANSACTION_ABORTABLE    v12 a batch adds its partition to the transaction (KIP-890)

A client above its quota is throttled after its batches are staged.

Source: Kafka `KafkaApis.handleProduceRequest`, `ReplicaManager.appendRecords`.
"""

import logging
from collections.abc import Generator, Iterator
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Final

from duolog.broker.authorization.table import WRITE_RECORDS
from duolog.broker.errors import kafka_code
from duolog.broker.event_loop.time_slices import freeing
from duolog.broker.produce.batch_validation import (
    BatchRefused,
    OpenedRecords,
    check_batch,
    stamp_with_append_time,
)
from duolog.broker.produce.produce_burst import append_single
from duolog.broker.produce.records_check import batches_to_open, open_all, open_few
from duolog.broker.produce.schema_verdicts import judged
from duolog.broker.produce.transactional import is_transactional, refusal, verify
from duolog.broker.requests.api import Api, answer_failure
from duolog.broker.requests.in_flight import Data, FileSpan, InFlightRequest
from duolog.broker.requests.many_items import Step, Steps, Stepwise, run_generator
from duolog.broker.topics.topics import Topic
from duolog.core.errors import DuologError
from duolog.log.partition.validation import ensure_appendable
from duolog.protocol.error_codes import ErrorCode
from duolog.protocol.errors import MalformedRequest
from duolog.protocol.produce import (
    PARTITIONS_A_STEP,
    VERSIONS,
    ProduceData,
    ProduceRequest,
    ProduceResult,
    ProduceResults,
    produce_response_parts,
    produce_response_start,
    reading_produce_request,
    write_produce_response,
)
from duolog.protocol.produce_single import FIRST_VERSION
from duolog.security.authorization.acl_authorizer import SECURITY_TOPIC

if TYPE_CHECKING:
    from duolog.broker.apis.context import Connection
    from duolog.broker.broker import Broker
    from duolog.broker.quotas.charge import Charge

logger = logging.getLogger(__name__)

_ACKS: Final = (-1, 0, 1)
_PARTS_A_PIECE: Final = 1000
_DONE: Final = object


class PendingProduce(InFlightRequest):
    """A produce request whose batches are on their way to the disk."""

    __slots__ = ("_answer", "connection", "correlation_id", "results", "throttle_ms", "version")

    appends = True

    def __init__(
        self,
        connection: "Connection",
        version: int,
        correlation_id: int,
        results: ProduceResults,
        answer: Data | None,
        *,
        throttle_ms: int,
    ) -> None:
        self.data = None
        self._answer = answer
        self.connection = connection
        self.version = version
        self.correlation_id = correlation_id
        self.results = results
        self.throttle_ms = throttle_ms

    def durable(self) -> None:
        self.connection.broker.counters.produce_requests += 1
        answer = self._answer or write_produce_response(
            self.version, self.correlation_id, self.results, self.throttle_ms
        )
        self.connection.complete(self, answer)

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
        self._answer = None
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
    enforcement = connection.broker.enforcement
    charge = None if enforcement is None else enforcement.charge_frame(connection, frame)
    if version >= FIRST_VERSION and append_single(
        connection, frame, correlation_id, position, charge
    ):
        return
    steps = _steps(connection, frame, version, correlation_id, position, charge=charge)
    step = next(steps, _DONE)
    if charge is not None:
        charge.pause()
    if step is not _DONE:
        connection.hold()
        held = _held(connection, frame, steps, step)
        if charge is None:
            run_generator(connection.broker, held)
        else:
            run_generator(connection.broker, held, timed=charge.timed)


def _held(connection: "Connection", frame: memoryview, steps: Steps, step: Step) -> Steps:
    """Continue a request after its first `step`, while its connection is held."""
    try:
        while True:
            try:
                result = yield step
            except Exception as error:  # noqa: BLE001  What was called off the event loop has raised.
                step = steps.throw(error)
            else:
                step = steps.send(result)
    except StopIteration:
        return
    except MalformedRequest as error:
        connection.refuse_bytes(error)
    except AssertionError as error:
        # A broken invariant of the log: to continue could write wrong bytes.
        connection.broker.rounds.go_offline(error)
        raise
    except Exception as error:  # noqa: BLE001  One of the four edges: the request.
        failed = InFlightRequest()
        connection.begin(failed)
        answer_failure(connection, API, frame, failed, error)
    finally:
        connection.go_on()


def _steps(
    connection: "Connection",
    frame: memoryview,
    version: int,
    correlation_id: int,
    position: int,
    *,
    charge: "Charge | None",
) -> Steps:
    """Serve a request; one with few partitions and few records to look at is one step."""
    broker = connection.broker
    request = yield from reading_produce_request(frame, position, version)
    many = len(request.topics) > PARTITIONS_A_STEP or (
        sum(len(data) for _, data in request.topics) > PARTITIONS_A_STEP
    )
    refused = yield from _refusal(connection, request)
    denied = yield from _denied(connection, request)
    request = _without(denied, request)
    opened = (yield from _opened(broker, request)) if refused == ErrorCode.NONE else repeat(None)
    results: ProduceResults = []
    for name, data in request.topics:
        rows: list[ProduceResult] = []
        results.append((name, rows))
        for item in zip(data, opened, strict=False):
            # Each time: it may be deleted in between, and nothing is written to what is going.
            topic = broker.topics.by_name_bytes.get(name)
            code = _code(connection, name, topic, refused, denied)
            if code or topic is None:
                rows.append(ProduceResult(item[0].partition, code))
            else:
                rows.append(_append(connection, request, topic, item, version, many=many))
            if many:
                yield None
        if many:
            yield None
    if many:
        yield from freeing(request.topics)
    throttle_ms = _throttle_ms(charge, frame, request)
    if request.acks == 0:
        yield from _check_unanswered(connection, results, many=many)
        if (many or broker.rounds.dirty) and not connection.closed:
            broker.rounds.pending.append(UnansweredProduce(connection))
        if many:
            yield from freeing(results)
        return
    answer = (yield from _written(version, correlation_id, results, throttle_ms)) if many else None
    pending = PendingProduce(
        connection, version, correlation_id, results, answer, throttle_ms=throttle_ms
    )
    connection.begin(pending)
    if many or broker.rounds.dirty:
        # What was appended in earlier rounds is on the disk with this one.
        broker.rounds.pending.append(pending)
    else:
        pending.durable()


def _throttle_ms(charge: "Charge | None", frame: memoryview, request: ProduceRequest) -> int:
    return 0 if charge is None else charge.produced(len(frame), answered=request.acks != 0)


def _refusal(connection: "Connection", request: ProduceRequest) -> Generator[None, None, ErrorCode]:
    refused = yield from refusal(connection, request)
    if refused != ErrorCode.NONE:
        return refused
    if request.acks not in _ACKS:
        return ErrorCode.INVALID_REQUIRED_ACKS
    failure = connection.broker.rounds.failure
    return ErrorCode.NONE if failure is None else ErrorCode.KAFKA_STORAGE_ERROR


def _denied(
    connection: "Connection", request: ProduceRequest
) -> Generator[None, None, frozenset[bytes]]:
    """Return, in steps, the topics that the client may not write to."""
    denied: set[bytes] = set()
    authorizer = connection.authorizer
    if authorizer is None:
        return frozenset()
    for count, (name, _) in enumerate(request.topics, start=1):
        topic = name.decode("utf-8", "replace")
        if not connection.may_write.allows(authorizer, connection.identity, topic):
            denied.add(name)
        if count % PARTITIONS_A_STEP == 0:
            yield
    return frozenset(denied)


def _without(denied: frozenset[bytes], request: ProduceRequest) -> ProduceRequest:
    """Return the request without the batches for these topics: none of them is opened."""
    if not denied:
        return request
    topics = [
        (name, [ProduceData(item.partition, None) for item in data] if name in denied else data)
        for name, data in request.topics
    ]
    return request._replace(topics=topics)


def _code(
    connection: "Connection",
    name: bytes,
    topic: Topic | None,
    refused: ErrorCode,
    denied: frozenset[bytes],
) -> ErrorCode:
    """Return the error of all partitions of a topic: a missing one looks like a forbidden one."""
    if name in denied and refused != ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
        return WRITE_RECORDS.code
    return refused or _refusal_of_topic(topic, connection)


def _refusal_of_topic(topic: Topic | None, connection: "Connection") -> ErrorCode:
    if topic is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if topic.name == SECURITY_TOPIC:
        return connection.broker.security.refusal(connection.identity)
    # Only coordinators write to internal topics: a client's record could break their replay.
    return ErrorCode.INVALID_TOPIC_EXCEPTION if topic.internal else ErrorCode.NONE


def _opened(broker: "Broker", request: ProduceRequest) -> Stepwise[Iterator[OpenedRecords | None]]:
    """Return what came of looking at the records of each batch, where that must be."""
    now_ms = broker.clock.now_ms()
    batches = yield from batches_to_open(broker.topics, request, now_ms)
    if batches is None:
        return repeat(None)
    opened = open_few(batches, now_ms)
    if opened is None:
        opened = yield partial(open_all, batches, now_ms)
    return iter((yield from judged(broker.schemas, request, opened)))


def _append(
    connection: "Connection",
    request: ProduceRequest,
    topic: Topic,
    item: tuple[ProduceData, OpenedRecords | None],
    version: int,
    *,
    many: bool,
) -> ProduceResult:
    (index, batch), opened = item
    broker = connection.broker
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
        if topic.name == SECURITY_TOPIC:
            broker.security.check_client_batch(connection.identity, batch)
        topic.allow_times_at(now_ms)
        if config.log_append_time:
            ensure_appendable(batch, config.batch_bytes_max)
            append_time_ms = now_ms
            stamp_with_append_time(batch, now_ms)
        if is_transactional(batch):
            ensure_appendable(batch, config.batch_bytes_max, log_append_time=config.log_append_time)
            verify(broker, request.transactional_id, partition, batch, version)
        appended = log.append(batch)
        connection.activity.note_written(topic.name)
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
    if many:
        # Each is a file to write, perhaps to make: what this takes is part of the time slice.
        broker.rounds.write_now(partition)
    return ProduceResult(index, 0, appended.base_offset, append_time_ms, log.log_start_offset)


def _written(
    version: int, correlation_id: int, results: ProduceResults, throttle_ms: int
) -> Generator[None, None, Data]:
    """Write the answer, in steps."""
    pieces: list[bytes | FileSpan] = []
    run: list[bytes] = []
    size_bytes = 0
    for part in produce_response_parts(version, results, throttle_ms):
        run.append(part)
        size_bytes += len(part)
        if len(run) >= _PARTS_A_PIECE:
            pieces.append(b"".join(run))
            run.clear()
        yield
    pieces.append(b"".join(run))
    return [produce_response_start(version, correlation_id, size_bytes), *pieces]


def _check_unanswered(
    connection: "Connection", results: ProduceResults, *, many: bool
) -> Generator[None, None, None]:
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
            if many:
                yield


API = Api(
    key=0,
    name="Produce",
    versions=VERSIONS,
    listed=range(13),
    handle_frame=handle_frame,
    appends=True,
)
