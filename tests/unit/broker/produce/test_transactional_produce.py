"""Produce into a transaction: what the coordinator says, in the words of each version."""

from typing import Any

import pytest

from duolog.protocol.error_codes import ErrorCode
from duolog.record import Record, encode_batch
from duolog.record.records import BatchProducer
from unit.broker.transaction_harness import Transactional

PRODUCE = 0


@pytest.fixture
def orders(harness: Any) -> Transactional:
    return Transactional(harness)


@pytest.mark.parametrize("version", range(3, 13))
def test_a_partition_of_the_transaction_is_written_in_every_version(
    orders: Transactional, version: int
) -> None:
    orders.coordinator.add(7, "orders")

    answer = orders.send(orders.batch(7, b"a"), version=version)

    assert (answer.error_code, answer.base_offset) == (0, 0)
    assert orders.log.transaction_start(7) == 0


def test_from_version_12_on_a_batch_adds_its_partition(orders: Transactional) -> None:
    answer = orders.send(orders.batch(7, b"a"), version=12)

    assert answer.error_code == ErrorCode.NONE
    assert orders.coordinator.added == [("orders", 0)]


@pytest.mark.parametrize(
    ("version", "code"),
    [
        (3, ErrorCode.INVALID_TXN_STATE),
        (10, ErrorCode.INVALID_TXN_STATE),
        (11, ErrorCode.TRANSACTION_ABORTABLE),
    ],
)
def test_before_that_a_partition_that_was_not_added_is_refused(
    orders: Transactional, version: int, code: int
) -> None:
    answer = orders.send(orders.batch(7, b"a"), version=version)

    assert answer.error_code == code
    assert orders.log.log_end_offset == 0


@pytest.mark.parametrize(
    ("said", "version", "code"),
    [
        (ErrorCode.PRODUCER_FENCED, 9, ErrorCode.INVALID_PRODUCER_EPOCH),
        (ErrorCode.PRODUCER_FENCED, 12, ErrorCode.INVALID_PRODUCER_EPOCH),
        (ErrorCode.CONCURRENT_TRANSACTIONS, 11, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.CONCURRENT_TRANSACTIONS, 12, ErrorCode.CONCURRENT_TRANSACTIONS),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, 12, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.INVALID_PRODUCER_ID_MAPPING, 9, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        (ErrorCode.INVALID_TXN_STATE, 12, ErrorCode.INVALID_TXN_STATE),
    ],
)
def test_error_messages_of_the_coordinator_reach_the_client(
    orders: Transactional, said: int, version: int, code: int
) -> None:
    orders.coordinator.error = said

    answer = orders.send(orders.batch(7, b"a"), version=version)

    assert answer.error_code == code
    assert orders.log.log_end_offset == 0


def test_a_request_without_a_transactional_id_has_no_transaction(orders: Transactional) -> None:
    plain = {"index": 0, "records": orders.harness.batch(b"a")}
    data = [plain, {"index": 1, "records": orders.batch(7, b"b")}]

    answer = orders.client.ask(
        PRODUCE,
        9,
        transactional_id=None,
        acks=-1,
        timeout=1000,
        topic_data=[{"name": "orders", "partition_data": data}],
    )

    codes = {item.error_code for item in answer.responses[0].partition_responses}
    assert codes == {ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED}
    assert orders.log.log_end_offset == 0


def test_two_producers_in_one_request_are_no_transaction(harness: Any) -> None:
    orders = Transactional(harness, partitions=2)
    data = [{"index": i, "records": orders.batch(7 + i, b"a")} for i in range(2)]

    answer = orders.client.ask(
        PRODUCE,
        12,
        transactional_id="t7",
        acks=-1,
        timeout=1000,
        topic_data=[{"name": "orders", "partition_data": data}],
    )

    codes = {item.error_code for item in answer.responses[0].partition_responses}
    assert codes == {ErrorCode.INVALID_PRODUCER_ID_MAPPING}


def test_a_damaged_batch_adds_no_partition(orders: Transactional) -> None:
    batch = bytearray(orders.batch(7, b"a"))
    batch[-1] ^= 1

    assert orders.send(bytes(batch)).error_code == ErrorCode.CORRUPT_MESSAGE
    assert orders.coordinator.added == []


def test_a_client_writes_no_control_batch_and_none_without_a_sequence(
    orders: Transactional,
) -> None:
    record = Record(0, orders.harness.broker.clock.now_ms(), b"\0\0\0\1", b"\0\0\0\0\0\0")
    marker = encode_batch(
        [record], producer=BatchProducer(7, 0, 0, transactional=True), control=True
    )
    unsequenced = encode_batch([record], producer=BatchProducer(7, 0, transactional=True))

    codes = [orders.send(bytes(batch)).error_code for batch in (marker, unsequenced)]

    assert codes == [ErrorCode.INVALID_RECORD] * 2
    assert orders.coordinator.added == []
    assert orders.log.log_end_offset == 0


def test_a_plain_batch_inside_an_open_transaction_of_its_producer_is_refused(
    orders: Transactional,
) -> None:
    orders.write(7, b"a")
    plain = orders.harness.batch(b"x" * 150, producer=BatchProducer(7, 0, 1))

    answers = [orders.client.produce("orders", plain).error_code for _ in range(2)]

    assert answers == [ErrorCode.INVALID_TXN_STATE] * 2
    orders.end(7, commit=True)
    assert orders.client.produce("orders", plain).base_offset == 2


def test_a_marker_of_a_new_epoch_fences_what_comes_late(orders: Transactional) -> None:
    orders.write(7, b"a")
    orders.end(7, commit=False, epoch=1)

    assert orders.send(orders.batch(7, b"b")).error_code == ErrorCode.INVALID_PRODUCER_EPOCH


@pytest.mark.parametrize(
    ("version", "code"), [(11, 0), (12, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)]
)
def test_from_version_12_on_a_producer_that_is_new_here_begins_with_sequence_0(
    orders: Transactional, version: int, code: int
) -> None:
    orders.coordinator.add(7, "orders")
    orders.batch(7, b"lost")

    answer = orders.send(orders.batch(7, b"a"), version=version)

    assert answer.error_code == code


def test_a_transactional_batch_of_no_producer_is_a_plain_batch(orders: Transactional) -> None:
    """As in Kafka: it is in no transaction, and the coordinator is not called."""
    batch = orders.harness.batch(b"a", producer=BatchProducer(transactional=True))

    assert orders.send(batch).error_code == ErrorCode.NONE
    assert orders.log.last_stable_offset == 1
    assert orders.coordinator.added == []
