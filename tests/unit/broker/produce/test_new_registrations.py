"""A record whose schema has just been registered for its topic is accepted."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from duolog.broker.schema_checks import registered
from duolog.protocol.error_codes import ErrorCode
from duolog.testing.clock import FakeClock
from unit.broker.conftest import PRODUCE, Harness, produce_fields
from unit.broker.produce.test_schema_verdicts import CHECK_VALUE, ORDER, UNKNOWN, framed
from unit.broker.schema_checks.fake_subjects import FakeSubjects

REFUSED = ErrorCode.INVALID_RECORD


@pytest.fixture
def subjects() -> FakeSubjects:
    return FakeSubjects({ORDER: {"orders-value"}})


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def harness(tmp_path: Path, subjects: FakeSubjects, clock: FakeClock) -> Iterator[Harness]:
    made = Harness(tmp_path / "data", {"durability": "os"}, clock, subjects.open)
    for topic in ("orders", "invoices", "receipts"):
        made.topic(topic, **CHECK_VALUE)
    yield made
    subjects.answering.set()
    made.stop()


def produce(harness: Harness, topic: str, schema_id: int = ORDER) -> int:
    return int(harness.client().produce(topic, harness.batch(framed(schema_id))).error_code)


def write_to_registry(harness: Harness, topic: str = registered.TOPIC_OF_REGISTRY) -> None:
    """Write to a topic as a registry does when something is registered."""
    if topic not in harness.broker.topics:
        harness.topic(topic)
    assert harness.client().produce(topic, harness.batch(b"{}")).error_code == 0


def test_a_known_schema_is_accepted_in_a_new_subject_at_once(
    harness: Harness, subjects: FakeSubjects
) -> None:
    assert produce(harness, "orders") == 0
    subjects.subjects[ORDER].add("invoices-value")

    assert produce(harness, "invoices") == 0

    assert subjects.asked == [ORDER, ORDER]
    assert produce(harness, "orders") == produce(harness, "invoices") == 0
    assert subjects.asked == [ORDER, ORDER], "what was confirmed is not asked again"


def test_a_subject_that_lacks_a_schema_is_asked_once_a_second(
    harness: Harness, subjects: FakeSubjects, clock: FakeClock
) -> None:
    assert [produce(harness, "invoices") for _ in range(3)] == [REFUSED] * 3
    assert subjects.asked == [ORDER]
    subjects.subjects[ORDER].add("invoices-value")
    clock.advance(registered.UNKNOWN_S - 0.01)
    assert produce(harness, "invoices") == REFUSED

    clock.advance(0.02)

    assert produce(harness, "invoices") == 0
    assert subjects.asked == [ORDER, ORDER]


def test_each_subject_that_lacks_a_schema_is_asked_for(
    harness: Harness, subjects: FakeSubjects
) -> None:
    assert produce(harness, "invoices") == REFUSED
    subjects.subjects[ORDER].add("receipts-value")

    assert produce(harness, "receipts") == 0


def test_a_registration_in_this_broker_ends_all_refusals_at_once(
    harness: Harness, subjects: FakeSubjects
) -> None:
    write_to_registry(harness)
    assert produce(harness, "invoices") == produce(harness, "orders", UNKNOWN) == REFUSED
    subjects.subjects |= {UNKNOWN: {"orders-value"}, ORDER: {"orders-value", "invoices-value"}}
    write_to_registry(harness, "receipts-of-others")
    assert produce(harness, "invoices") == produce(harness, "orders", UNKNOWN) == REFUSED

    write_to_registry(harness)

    assert produce(harness, "invoices") == produce(harness, "orders", UNKNOWN) == 0


def test_the_first_registration_in_this_broker_ends_refusals(
    harness: Harness, subjects: FakeSubjects
) -> None:
    assert produce(harness, "invoices") == REFUSED
    subjects.subjects[ORDER].add("invoices-value")

    write_to_registry(harness)

    assert produce(harness, "invoices") == 0


@pytest.mark.parametrize("schema_id", [ORDER, UNKNOWN])
def test_a_slow_answer_is_an_answer(
    harness: Harness, subjects: FakeSubjects, clock: FakeClock, schema_id: int
) -> None:
    """Producers with a slow registry sent the same records again and again."""
    subjects.answering.clear()
    client = harness.client()
    client.send(PRODUCE, 9, **produce_fields("invoices", harness.batch(framed(schema_id))))
    harness.turn_until(subjects.asking.is_set)
    clock.advance(registered.UNKNOWN_S * 2)
    write_to_registry(harness)
    subjects.answering.set()

    assert client.receive().responses[0].partition_responses[0].error_code == REFUSED


def test_requests_that_wait_for_the_registry_share_the_next_answer(
    harness: Harness, subjects: FakeSubjects
) -> None:
    """The second and the third come while the first is asked for: one answer serves both."""
    subjects.answering.clear()
    clients = [harness.client() for _ in range(3)]
    clients[0].send(PRODUCE, 9, **produce_fields("invoices", harness.batch(framed(ORDER))))
    harness.turn_until(subjects.asking.is_set)
    for client in clients[1:]:
        client.send(PRODUCE, 9, **produce_fields("invoices", harness.batch(framed(ORDER))))
    harness.turn_until(lambda: harness.broker.schemas.questions == 3)
    subjects.answering.set()

    codes = [one.receive().responses[0].partition_responses[0].error_code for one in clients]

    assert codes == [REFUSED] * 3
    assert subjects.asked == [ORDER, ORDER]
