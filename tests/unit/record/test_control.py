import pytest

from duolog.record import Record, crc_matches, encode_batch, read_header
from duolog.record.control import Marker, decode_marker, encode_marker
from duolog.record.errors import CorruptBatch


@pytest.mark.parametrize("commit", [True, False])
def test_a_marker_contains_the_result_of_the_transaction(*, commit: bool) -> None:
    batch = encode_marker(7, 3, commit=commit, coordinator_epoch=5, timestamp_ms=1000)

    assert decode_marker(batch) == Marker(commit, 5)
    assert crc_matches(batch)


def test_a_marker_has_the_bytes_that_kafka_gives_it() -> None:
    batch = encode_marker(7, 3, commit=True, coordinator_epoch=5, timestamp_ms=1000)

    header = read_header(batch)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 3, -1)
    assert header.attributes == 0x30
    assert header.records_count == 1
    assert (header.base_timestamp, header.max_timestamp) == (1000, 1000)
    # length 16, attributes, deltas, key of 4: version 0 type 1, value of 6: version 0 epoch 5
    assert bytes(batch[61:]) == bytes.fromhex("20000000 08 00000001 0c 000000000005 00")


def test_a_control_batch_of_another_type_is_not_a_marker() -> None:
    leader_change = Record(0, 1000, b"\0\0\0\2", b"\0\0")

    assert decode_marker(encode_batch([leader_change], control=True)) is None


@pytest.mark.parametrize("key", [None, b"", b"\0\0"])
def test_a_record_without_a_type_is_not_a_control_record(key: bytes | None) -> None:
    with pytest.raises(CorruptBatch):
        decode_marker(encode_batch([Record(0, 1000, key, b"\0\0\0\0\0\0")], control=True))
