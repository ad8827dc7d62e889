"""Records of __transaction_state: Kafka's bytes, and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.coordinator.transactions.records import (
    TransactionChange,
    TransactionRecord,
    decode_record,
)
from duolog.coordinator.transactions.states import TransactionState
from duolog.core.errors import SerdeError
from duolog.core.ids import TopicPartition

IDS = st.integers(-1, 2**63 - 1)
EPOCHS = st.integers(-1, 2**15 - 1)
TIMES = st.integers(-1, 2**62)


@st.composite
def records(draw: st.DrawFn) -> TransactionRecord:
    state = draw(st.sampled_from(TransactionState))
    names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=200)
    partition = st.builds(TopicPartition, names, st.integers(0, 2**31 - 1))
    empty = state is TransactionState.EMPTY
    return TransactionRecord(
        producer_id=draw(IDS),
        producer_epoch=draw(EPOCHS),
        timeout_ms=draw(st.integers(0, 2**31 - 1)),
        state=state,
        partitions=frozenset() if empty else draw(st.frozensets(partition, max_size=5)),
        updated_at_ms=draw(TIMES),
        started_at_ms=draw(TIMES),
        previous_producer_id=draw(IDS),
        next_producer_id=draw(IDS),
        last_producer_epoch=draw(EPOCHS),
        client_version=draw(st.integers(0, 2)),
    )


@given(transactional_id=st.text(st.characters(codec="utf-8"), max_size=50), record=records())
def test_written_files_are_read_back(transactional_id: str, record: TransactionRecord) -> None:
    change = TransactionChange(transactional_id, record)

    assert decode_record(change.encode_key(), change.encode_value()) == change


def test_the_bytes_are_those_of_kafkas_schema() -> None:
    """Source: TransactionLogValue.json, version 1."""
    record = TransactionRecord(
        producer_id=7,
        producer_epoch=3,
        timeout_ms=60_000,
        state=TransactionState.PREPARE_COMMIT,
        partitions=frozenset((TopicPartition("t", 1), TopicPartition("t", 0))),
        updated_at_ms=1000,
        started_at_ms=900,
        previous_producer_id=7,
        client_version=2,
    )

    change = TransactionChange("tx", record)

    assert change.encode_key() == bytes.fromhex("0000 0002 7478")
    assert change.encode_value() == bytes.fromhex(
        "0001"
        "0000000000000007 0003 0000ea60 02"
        "02 02 74 03 00000000 00000001 00"
        "00000000000003e8 0000000000000384"
        "02  00 08 0000000000000007  02 02 0002"
    )


def test_version_0_of_older_brokers_is_read() -> None:
    value = bytes.fromhex(
        "0000"
        "0000000000000007 0003 0000ea60 01"
        "00000001 0001 74 00000002 00000000 00000001"
        "00000000000003e8 0000000000000384"
    )

    change = decode_record(bytes.fromhex("0000 0002 7478"), value)

    assert change is not None
    assert change.value is not None
    assert change.value.state is TransactionState.ONGOING
    assert change.value.partitions == {TopicPartition("t", 0), TopicPartition("t", 1)}
    assert change.value.last_producer_epoch == -1


def test_a_tombstone_is_a_change_to_nothing() -> None:
    tombstone = TransactionChange("tx", None)

    assert tombstone.encode_value() is None
    assert decode_record(tombstone.encode_key(), None) == tombstone


def test_keys_of_another_kind_are_skipped() -> None:
    assert decode_record(b"\0\x07what", b"ever") is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"\0", None),
        (bytes.fromhex("0000 0003 7478"), None),
        (bytes.fromhex("0000 0002 7478"), b"\0\1\0"),
        (bytes.fromhex("0000 0002 7478"), bytes.fromhex("0009" + 15 * "00")),
        (bytes.fromhex("0000 0002 7478"), bytes.fromhex("0001" + 14 * "00" + "63")),
        (bytes.fromhex("0000 0002 7478"), bytes.fromhex("0001" + 15 * "00" + "02 09 74")),
    ],
)
def test_bytes_that_are_no_record_are_refused(key: bytes, value: bytes | None) -> None:
    with pytest.raises(SerdeError):
        decode_record(key, value)
