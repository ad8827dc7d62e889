"""The usual produce requests of one connection in one round: in flight and answered together.

A request of the usual form (see `protocol.produce_single`) that nothing speaks against is staged
here in a few microseconds. Anything else returns False and takes the way of every request: what
is refused there is refused with its reason, so no check is left out here.

    topic is known, not internal, keeps the client's time, opens no records: `newest_time`
    batch is not later than one that was allowed by the clock before:        `newest_time`
    client may write to the topic                                            here
    no transaction                                                           here
    length, magic, CRC, codec, counts, sequence                              `PartitionLog.append`
"""

from struct import Struct
from typing import TYPE_CHECKING, Final

from duolog.broker.requests.in_flight import InFlightRequest
from duolog.core.errors import KafkaError
from duolog.protocol.error_codes import ErrorCode
from duolog.protocol.produce import ProduceResult, write_produce_response
from duolog.protocol.produce_single import FIRST_VERSION, read_single, with_throttle_time
from duolog.record.batch import CRC_START, HEADER_BYTES, TRANSACTIONAL_BIT

if TYPE_CHECKING:
    from duolog.broker.produce.needs import Connection
    from duolog.broker.produce.rounds import Pending
    from duolog.broker.quotas.charge import Charge
    from duolog.broker.topics.topics import Topic

_REQUESTS_MAX: Final = 64
"""Limit of requests in flight per connection, which also bounds its unacknowledged data."""

_attributes_and_time = Struct(">h12xq").unpack_from


class ProduceBurst(InFlightRequest):
    """Produce requests whose batches are on their way to the disk together."""

    __slots__ = ("connection", "requests", "round", "throttle_ms")

    appends = True

    def __init__(self, connection: "Connection", pending: "list[Pending]") -> None:
        self.data = None
        self.connection = connection
        self.round = pending
        self.requests: list[tuple[Topic, int, int, int, int]] = []
        """Topic, correlation id, partition, base offset, log start offset."""
        self.throttle_ms = 0
        """The throttle time of the last request: no other follows it."""

    def durable(self) -> None:
        self.connection.broker.counters.produce_requests += len(self.requests)
        if len(self.requests) == 1:
            topic, correlation_id, index, base_offset, log_start_offset = self.requests[0]
            answer = topic.write_answer(correlation_id, index, base_offset, log_start_offset)
            if self.throttle_ms:
                answer = with_throttle_time(answer, self.throttle_ms)
            self.connection.complete(self, answer)
            return
        answers = [
            topic.write_answer(correlation_id, index, base_offset, log_start_offset)
            for topic, correlation_id, index, base_offset, log_start_offset in self.requests
        ]
        if self.throttle_ms:
            answers[-1] = with_throttle_time(answers[-1], self.throttle_ms)
        self.connection.complete(self, b"".join(answers))

    def failed(self, error: Exception) -> None:
        """Answer KAFKA_STORAGE_ERROR for what seemed to be appended."""
        del error
        answers = [
            write_produce_response(
                FIRST_VERSION,
                correlation_id,
                [(topic.name_bytes, [ProduceResult(index, ErrorCode.KAFKA_STORAGE_ERROR)])],
            )
            for topic, correlation_id, index, _, _ in self.requests
        ]
        if self.throttle_ms:
            answers[-1] = with_throttle_time(answers[-1], self.throttle_ms)
        self.connection.complete(self, b"".join(answers))


def append_single(
    connection: "Connection",
    frame: memoryview,
    correlation_id: int,
    position: int,
    charge: "Charge | None" = None,
) -> bool:
    """Stage the batch of a request of the usual form; False leaves the request as it was."""
    single = read_single(frame, position)
    if single is None:
        return False
    acks, name, index, batch = single
    broker = connection.broker
    topic = broker.topics.by_name_bytes.get(name)
    if topic is None or len(batch) < HEADER_BYTES:
        return False
    authorizer = broker.authorizer
    if authorizer is not None and not connection.may_write.allows(
        authorizer, connection.identity, topic.name
    ):
        return False
    attributes, newest_time = _attributes_and_time(batch, CRC_START)
    partitions = topic.partitions
    rounds = broker.rounds
    if (
        not 0 <= index < len(partitions)
        or newest_time > topic.newest_time
        or attributes & TRANSACTIONAL_BIT
        or not acks
        or not -1 <= acks <= 1
        or rounds.failure is not None
    ):
        return False
    partition = partitions[index]
    try:
        log = partition.log
        base_offset = log.append(batch)[0]
    except KafkaError:
        return False
    connection.activity.note_written(topic.name)
    rounds.dirty.add(partition)
    pending, in_flight = rounds.pending, connection.in_flight
    burst = in_flight[-1] if in_flight else None
    if (
        not isinstance(burst, ProduceBurst)
        or burst.round is not pending
        or len(burst.requests) >= _REQUESTS_MAX
        or burst.throttle_ms
    ):
        burst = ProduceBurst(connection, pending)
        connection.begin(burst)
        pending.append(burst)
    burst.requests.append((topic, correlation_id, index, base_offset, log.log_start_offset))
    if charge is not None:
        burst.throttle_ms = charge.produced(len(frame), answered=True)
    return True
