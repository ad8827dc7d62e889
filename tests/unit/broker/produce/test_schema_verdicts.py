"""A batch with a schema id that is not registered for its topic is refused, and leaves no trace."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from duolog.broker.produce.batch_validation import RECORD_ERRORS_MAX
from duolog.broker.schema_checks import registered
from duolog.protocol.error_codes import ErrorCode
from duolog.record import Compression, Record, encode_batch
from duolog.record.records import BatchProducer
from duolog.schemas.schema import Language
from duolog.testing.clock import FakeClock
from unit.broker.conftest import PRODUCE, Harness, produce_fields
from unit.broker.schema_checks.fake_subjects import FakeSubjects
from unit.broker.transaction_harness import Transactional

ORDER, OTHER, UNKNOWN = 7, 8, 99
GUID = "00112233-4455-6677-8899-aabbccddeeff"
RETRY = ErrorCode.NOT_ENOUGH_REPLICAS
CHECK_VALUE: dict[str, Any] = {"confluent_value_schema_validation": "true"}
TWO_MESSAGES = 'syntax = "proto3"; package acme; message First {} message Second {}'


def framed(schema_id: int, payload: bytes = b"payload") -> bytes:
    return b"\0" + schema_id.to_bytes(4) + payload


@pytest.fixture
def subjects() -> FakeSubjects:
    return FakeSubjects({ORDER: {"orders-value"}, OTHER: {"others-value"}, GUID: {"orders-value"}})


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def harness(tmp_path: Path, subjects: FakeSubjects, clock: FakeClock) -> Iterator[Harness]:
    made = Harness(tmp_path / "data", {"durability": "os"}, clock, subjects.open)
    yield made
    subjects.answering.set()
    made.stop()


def end_of(harness: Harness, topic: str = "orders") -> int:
    return harness.broker.log(topic, 0).log_end_offset


@pytest.mark.parametrize("codec", list(Compression))
def test_records_with_registered_schema_ids_are_taken(harness: Harness, codec: Compression) -> None:
    harness.topic("orders", **CHECK_VALUE)

    batch = harness.batch(framed(ORDER), framed(ORDER), None, compression=codec)

    assert harness.client().produce("orders", batch).error_code == 0
    assert end_of(harness) == 3


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b"{}", "the value has no schema id"),
        (
            framed(UNKNOWN),
            'schema 99 of the value is not registered for this topic: expected subject "orders-value"',
        ),
        (
            framed(OTHER),
            'schema 8 of the value is not registered for this topic: expected subject "orders-value"',
        ),
    ],
)
@pytest.mark.parametrize("codec", [Compression.NONE, Compression.ZSTD])
def test_a_batch_with_a_bad_record_is_refused_whole_and_names_it(
    harness: Harness, bad: bytes, reason: str, codec: Compression
) -> None:
    harness.topic("orders", **CHECK_VALUE)

    batch = harness.batch(framed(ORDER), bad, framed(ORDER), bad, compression=codec)
    answer = harness.client().produce("orders", batch)

    assert (answer.error_code, answer.error_message) == (ErrorCode.INVALID_RECORD, reason)
    named = [(one.batch_index, one.batch_index_error_message) for one in answer.record_errors]
    assert named == [(1, reason), (3, reason)]
    assert end_of(harness) == 0


def test_keys_and_values_are_checked_independently(
    harness: Harness, subjects: FakeSubjects
) -> None:
    subjects.subjects[ORDER] = {"orders-key"}
    harness.topic("orders", confluent_key_schema_validation="true")
    client = harness.client()

    assert client.produce("orders", harness.batch(b"any", key=framed(ORDER))).error_code == 0
    answer = client.produce("orders", harness.batch(framed(ORDER), key=b"k"))
    assert answer.error_message == "the key has no schema id"


def test_a_guid_in_a_header_is_checked(harness: Harness) -> None:
    harness.topic("orders", **CHECK_VALUE)
    good = (("__value_schema_id", b"\1" + UUID(GUID).bytes),)
    bad = (("__value_schema_id", b"\1" + bytes(16)),)
    client = harness.client()

    def produce(headers: Any) -> int:
        batch = encode_batch([Record(0, 1000, b"k", b"payload", headers)])
        return int(client.produce("orders", bytes(batch)).error_code)

    assert [produce(good), produce(bad)] == [0, ErrorCode.INVALID_RECORD]


@pytest.mark.parametrize(
    ("strategy", "subject"),
    [("RecordNameStrategy", "acme.Order"), ("TopicRecordNameStrategy", "orders-acme.Order")],
)
def test_subjects_can_be_named_by_the_record(
    harness: Harness, subjects: FakeSubjects, strategy: str, subject: str
) -> None:
    name = f"io.confluent.kafka.serializers.subject.{strategy}"
    harness.topic("orders", confluent_value_subject_name_strategy=name, **CHECK_VALUE)
    text = '{"type": "record", "name": "Order", "namespace": "acme", "fields": []}'
    for schema_id in (1, 2):
        subjects.schemas[schema_id] = (Language.AVRO, text)
    subjects.subjects = {1: {subject}, 2: {"orders-value"}}
    client = harness.client()

    assert client.produce("orders", harness.batch(framed(1))).error_code == 0
    answer = client.produce("orders", harness.batch(framed(2)))
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert answer.error_message == (
        "schema 2 of the value is not registered for this topic: "
        "a subject of its record name is expected"
    )
    unknown = client.produce("orders", harness.batch(framed(3))).error_message
    assert unknown == answer.error_message.replace("schema 2", "schema 3"), "3 does not exist"


def test_message_indexes_name_the_record_of_protobuf(
    harness: Harness, subjects: FakeSubjects
) -> None:
    harness.topic(
        "orders", confluent_value_subject_name_strategy="RecordNameStrategy", **CHECK_VALUE
    )
    subjects.schemas[1] = (Language.PROTOBUF, TWO_MESSAGES)
    subjects.subjects = {1: {"acme.Second"}}
    client = harness.client()

    def code(indexes: bytes) -> int:
        return int(client.produce("orders", harness.batch(framed(1, indexes))).error_code)

    assert [code(b"\2\2"), code(b"\0"), code(b"\2\x10")] == [0, 87, 87]


def test_a_refused_batch_does_not_use_up_its_sequence(harness: Harness) -> None:
    harness.topic("orders", **CHECK_VALUE)
    client = harness.client()

    def produce(value: bytes, sequence: int) -> int:
        producer = BatchProducer(5, 0, sequence)
        return int(client.produce("orders", harness.batch(value, producer=producer)).error_code)

    codes = [produce(framed(ORDER), 0), produce(b"bad", 1), produce(framed(ORDER), 1)]

    assert codes == [0, ErrorCode.INVALID_RECORD, 0]
    assert end_of(harness) == 2


def test_answers_of_the_registry_are_kept(harness: Harness, subjects: FakeSubjects) -> None:
    harness.topic("orders", **CHECK_VALUE)
    client = harness.client()
    client.produce("orders", harness.batch(framed(ORDER)))
    client.produce("orders", harness.batch(framed(UNKNOWN)))
    subjects.away = True

    assert client.produce("orders", harness.batch(framed(ORDER))).error_code == 0
    refused = client.produce("orders", harness.batch(framed(UNKNOWN)))
    assert refused.error_code == ErrorCode.INVALID_RECORD
    assert subjects.asked == [ORDER, UNKNOWN]


def test_an_unknown_id_is_asked_for_again_later(
    harness: Harness, subjects: FakeSubjects, clock: FakeClock
) -> None:
    harness.topic("orders", **CHECK_VALUE)
    client = harness.client()
    assert client.produce("orders", harness.batch(framed(UNKNOWN))).error_code == 87
    assert client.produce("orders", harness.batch(framed(OTHER))).error_code == 87
    subjects.subjects |= {UNKNOWN: {"orders-value"}, OTHER: {"others-value", "orders-value"}}

    clock.advance(registered.UNKNOWN_S + 1)

    assert client.produce("orders", harness.batch(framed(UNKNOWN))).error_code == 0
    assert client.produce("orders", harness.batch(framed(OTHER))).error_code == 0


def test_producers_try_again_while_the_registry_does_not_answer(
    harness: Harness, subjects: FakeSubjects, clock: FakeClock
) -> None:
    harness.topic("orders", **CHECK_VALUE)
    client = harness.client()
    subjects.away = True

    answer = client.produce("orders", harness.batch(framed(ORDER)))
    client.produce("orders", harness.batch(framed(OTHER)))

    assert answer.error_code == RETRY
    assert "the schema registry does not answer" in answer.error_message
    assert subjects.asked == [ORDER], "one timeout is enough for all that wait"
    subjects.away = False
    clock.advance(registered.AWAY_S + 0.1)
    assert client.produce("orders", harness.batch(framed(ORDER))).error_code == 0


def test_a_schema_that_cannot_be_read_keeps_no_other_producer_waiting(
    harness: Harness,
    subjects: FakeSubjects,
    clock: FakeClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    harness.topic(
        "hostile", confluent_value_subject_name_strategy="RecordNameStrategy", **CHECK_VALUE
    )
    harness.topic("orders", **CHECK_VALUE)
    subjects.subjects[1] = {"any"}
    subjects.schemas[1] = (Language.AVRO, '{"type": "no such type"}')
    client = harness.client()

    refused = client.produce("hostile", harness.batch(framed(1)))

    assert refused.error_code == ErrorCode.INVALID_RECORD
    assert "schema 1 of the value is not registered for this topic" in refused.error_message
    assert "schema of a record cannot be read" in caplog.messages
    assert client.produce("orders", harness.batch(framed(ORDER))).error_code == 0
    subjects.schemas[1] = (Language.AVRO, '{"type": "record", "name": "any", "fields": []}')
    clock.advance(registered.UNKNOWN_S + 1)
    assert client.produce("hostile", harness.batch(framed(1))).error_code == 0


def test_a_schema_that_the_broker_may_not_read_keeps_no_other_producer_waiting(
    harness: Harness, subjects: FakeSubjects, clock: FakeClock
) -> None:
    harness.topic("orders", **CHECK_VALUE)
    subjects.refused.add(OTHER)
    client = harness.client()

    answer = client.produce("orders", harness.batch(framed(OTHER)))

    assert answer.error_code == RETRY
    assert "user 'broker' may not read this" in answer.error_message
    assert client.produce("orders", harness.batch(framed(ORDER))).error_code == 0
    assert client.produce("orders", harness.batch(framed(OTHER))).error_code == RETRY
    assert subjects.asked == [OTHER, ORDER], "the refusal is kept for a moment"
    subjects.refused.clear()
    clock.advance(registered.AWAY_S + 0.1)
    assert client.produce("orders", harness.batch(framed(OTHER))).error_code == 87


def test_a_refused_transactional_batch_leaves_its_partition_out_of_the_transaction(
    harness: Harness, subjects: FakeSubjects, clock: FakeClock
) -> None:
    orders = Transactional(harness, **CHECK_VALUE)

    def send(value: bytes) -> int:
        first = BatchProducer(7, 0, 0, transactional=True)
        return int(orders.send(harness.batch(value, producer=first)).error_code)

    subjects.away = True
    codes = [send(framed(ORDER))]
    subjects.away = False
    clock.advance(registered.AWAY_S + 0.1)
    codes.append(send(framed(OTHER)))

    assert codes == [RETRY, ErrorCode.INVALID_RECORD]
    assert orders.coordinator.added == []
    assert orders.log.transaction_start(7) is None
    assert orders.log.log_end_offset == 0
    assert send(framed(ORDER)) == 0, "its sequence is not used up"
    assert orders.coordinator.added == [("orders", 0)]


def test_a_record_without_an_id_is_refused_although_the_registry_does_not_answer(
    harness: Harness, subjects: FakeSubjects
) -> None:
    harness.topic("orders", **CHECK_VALUE)
    subjects.away = True

    answer = harness.client().produce("orders", harness.batch(b"{}", framed(ORDER)))

    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert [one.batch_index for one in answer.record_errors] == [0]


def test_other_connections_are_served_while_the_registry_is_asked(
    harness: Harness, subjects: FakeSubjects
) -> None:
    harness.topic("orders", **CHECK_VALUE)
    harness.topic("plain")
    subjects.answering.clear()
    waiting, other = harness.client(), harness.client()
    fields = produce_fields("orders", harness.batch(framed(ORDER)))
    waiting.send(PRODUCE, 9, **fields)
    waiting.send(PRODUCE, 9, **produce_fields("plain", harness.batch(b"second")))
    harness.turn_until(subjects.asking.is_set)

    assert other.produce("plain", harness.batch(b"first")).base_offset == 0
    waiting.receive_nothing()
    subjects.answering.set()

    answers = [waiting.receive().responses[0].partition_responses[0] for _ in range(2)]
    assert [answer.error_code for answer in answers] == [0, 0]
    assert answers[1].base_offset == 1, "requests of a connection keep their order"


def test_a_topic_whose_check_is_turned_on_meanwhile_takes_nothing_unchecked(
    harness: Harness, subjects: FakeSubjects
) -> None:
    harness.topic("orders", **CHECK_VALUE)
    topic = harness.broker.topics.find("orders")
    subjects.answering.clear()
    client = harness.client()
    client.send(PRODUCE, 9, **produce_fields("orders", harness.batch(framed(ORDER))))
    harness.turn_until(subjects.asking.is_set)

    harness.broker.topics.reconfigure(topic)
    subjects.answering.set()

    assert client.receive().responses[0].partition_responses[0].error_code == RETRY
    assert client.produce("orders", harness.batch(framed(ORDER))).error_code == 0


def test_a_hostile_batch_with_many_unknown_ids_asks_for_a_few(
    harness: Harness, subjects: FakeSubjects
) -> None:
    harness.topic("orders", **CHECK_VALUE)
    values = [framed(1000 + number) for number in range(300)]

    answer = harness.client().produce("orders", harness.batch(*values))

    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert len(subjects.asked) == len(answer.record_errors) == registered.MISSES_MAX


@pytest.mark.parametrize("probed", [OTHER, UNKNOWN])
def test_the_number_of_errors_does_not_tell_which_ids_exist(harness: Harness, probed: int) -> None:
    harness.topic("orders", **CHECK_VALUE)
    others = [framed(1000 + number) for number in range(registered.MISSES_MAX - 1)]

    answer = harness.client().produce(
        "orders", harness.batch(*others, framed(probed), framed(5000))
    )

    assert [one.batch_index for one in answer.record_errors] == list(range(registered.MISSES_MAX))


@pytest.mark.parametrize("probed", [OTHER, UNKNOWN])
def test_the_code_of_a_later_batch_does_not_tell_which_ids_exist(
    harness: Harness, probed: int
) -> None:
    harness.topic("orders", 2, **CHECK_VALUE)
    others = [framed(1000 + number) for number in range(registered.MISSES_MAX - 1)]
    client = harness.client()

    client.send(PRODUCE, 9, **two_batches([*others, framed(probed)], [framed(5000)], harness))

    codes = [row.error_code for row in client.receive().responses[0].partition_responses]
    assert codes == [ErrorCode.INVALID_RECORD, RETRY]


def two_batches(first: list[bytes], second: list[bytes], harness: Harness) -> Any:
    fields = produce_fields("orders", harness.batch(*first))
    (topic,) = fields["topic_data"]
    more = {"index": 1, "records": harness.batch(*second)}
    topic["partition_data"].append({**topic["partition_data"][0], **more})
    return fields


def test_the_errors_of_many_records_are_bounded(harness: Harness) -> None:
    harness.topic("orders", **CHECK_VALUE)
    values = [framed(ORDER) if number % 2 else b"{}" for number in range(20_000)]

    answer = harness.client().produce("orders", harness.batch(*values))

    assert answer.error_code == ErrorCode.INVALID_RECORD
    indexes = [one.batch_index for one in answer.record_errors]
    assert indexes == list(range(0, 2 * RECORD_ERRORS_MAX, 2))


def test_a_topic_without_checks_asks_nothing_and_opens_no_records(
    harness: Harness, subjects: FakeSubjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(*_: object) -> None:
        raise AssertionError("records of a topic without checks are not opened")

    monkeypatch.setattr("duolog.broker.produce.batch_validation.frames_of", opened)
    harness.topic("orders")
    client = harness.client()

    for codec in Compression:
        batch = harness.batch(b"anything", compression=codec)
        assert client.produce("orders", batch).error_code == 0

    assert subjects.asked == []


def test_a_client_that_waits_for_no_answer_is_disconnected(harness: Harness) -> None:
    harness.topic("orders", **CHECK_VALUE)
    client = harness.client()

    client.send_bytes(
        client.frame(PRODUCE, 9, **produce_fields("orders", harness.batch(b"x"), acks=0))
    )

    harness.turn_until(lambda: client.connection.closed)
    assert end_of(harness) == 0


@pytest.fixture
def without_registry(tmp_path: Path) -> Iterator[Harness]:
    made = Harness(tmp_path / "data", {"durability": "os"})
    yield made
    made.stop()


CREATE = 19
SETTING = "confluent.value.schema.validation"
_HINT = "Start the broker with confluent.schema.registry.url, or with --registry."


def create(harness: Harness, name: str) -> Any:
    config = {"name": SETTING, "value": "true"}
    topic = {"name": name, "num_partitions": 1, "replication_factor": 1, "assignments": []}
    asked = {"topics": [topic | {"configs": [config]}], "timeout": 1000, "validate_only": False}
    return harness.client().ask(CREATE, 5, **asked).topics[0]


def test_a_broker_without_a_registry_refuses_the_setting(without_registry: Harness) -> None:
    answer = create(without_registry, "orders")

    assert answer.error_code == ErrorCode.INVALID_CONFIG
    assert "this broker has no schema registry" in answer.error_message
    assert _HINT in answer.error_message


def test_a_broker_with_a_registry_takes_the_setting(harness: Harness) -> None:
    assert create(harness, "orders").error_code == 0
    assert harness.broker.topics.find("orders").config.schema_checks is not None


def test_a_checked_topic_takes_nothing_while_its_broker_has_no_registry(
    without_registry: Harness,
) -> None:
    without_registry.topic("orders", **CHECK_VALUE)

    answer = without_registry.client().produce("orders", without_registry.batch(framed(ORDER)))

    assert answer.error_code == RETRY
    assert "this broker has no schema registry" in answer.error_message
