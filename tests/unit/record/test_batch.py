from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.record import (
    HEADER_BYTES,
    Compression,
    Record,
    crc_matches,
    decode_records,
    encode_batch,
    patch_batch,
    read_header,
    whole_batches,
)
from duolog.record.errors import CorruptBatch
from duolog.record.records import BatchProducer
from strategies import compressions, record_lists


@given(records=record_lists, compression=compressions, base_offset=st.integers(0, 2**40))
def test_encoding_round_trips(
    records: list[Record], compression: Compression, base_offset: int
) -> None:
    batch = encode_batch(records, compression=compression, base_offset=base_offset)

    decoded = list(decode_records(batch))

    expected = [r._replace(offset=base_offset + i) for i, r in enumerate(records)]
    assert decoded == expected
    assert crc_matches(batch)


@given(records=record_lists, compression=compressions, data=st.data())
def test_a_changed_byte_after_the_checksum_is_found(
    records: list[Record], compression: Compression, data: st.DataObject
) -> None:
    batch = encode_batch(records, compression=compression)
    position = data.draw(st.integers(21, len(batch) - 1))
    batch[position] ^= data.draw(st.integers(1, 255))

    assert not crc_matches(batch)


@given(data=st.binary(max_size=200), compression=compressions)
def test_garbage_records_raise_corrupt_batch_and_nothing_else(
    data: bytes, compression: Compression
) -> None:
    batch = encode_batch([Record(0, 0, None, b"")] * 3, compression=compression)
    garbage = batch[:HEADER_BYTES] + data
    garbage[8:12] = (len(garbage) - 12).to_bytes(4, "big")

    with suppress(CorruptBatch):
        list(decode_records(garbage))


def test_the_header_holds_kafkas_fields() -> None:
    batch = encode_batch(
        [Record(0, 1000, b"k", b"v"), Record(0, 900, b"k", b"v")],
        base_offset=7,
        compression=Compression.LZ4,
        producer=BatchProducer(5, 2, 9, transactional=True),
        leader_epoch=3,
    )

    header = read_header(batch)

    assert header.size_bytes == len(batch)
    assert (header.base_offset, header.last_offset, header.next_offset) == (7, 8, 9)
    assert (header.base_timestamp, header.max_timestamp) == (1000, 1000)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (5, 2, 9)
    assert header.partition_leader_epoch == 3
    assert header.compression == Compression.LZ4
    assert header.transactional
    assert not header.control
    assert not header.log_append_time


def test_patching_offset_and_epoch_leaves_the_checksum_right() -> None:
    batch = encode_batch([Record(0, 1, b"k", b"v")])

    patch_batch(memoryview(batch), 2**40, 12)

    assert crc_matches(batch)
    assert read_header(batch).base_offset == 2**40
    assert read_header(batch).partition_leader_epoch == 12


def test_the_bytes_are_those_that_kafka_writes() -> None:
    """One record "k" -> "v" at time 1, as Kafka 4.1's MemoryRecords writes it, by its layout."""
    batch = encode_batch([Record(0, 1, b"k", b"v")])

    assert batch[HEADER_BYTES:] == bytes([16, 0, 0, 0, 2, ord("k"), 2, ord("v"), 0])
    assert batch[16] == 2
    assert batch[43:57] == b"\xff" * 14


def test_whole_batches_leave_out_one_that_is_cut_off() -> None:
    first = encode_batch([Record(0, 1, b"a", b"1")], base_offset=0)
    second = encode_batch([Record(0, 1, b"b", b"2")] * 2, base_offset=1)

    found = [header.next_offset for header, _ in whole_batches(first + second + first[:-1])]

    assert found == [1, 3]


def _cut(batch: bytearray) -> bytearray:
    return batch[:-3]


def _no_header(batch: bytearray) -> bytearray:
    return batch[:30]


def _old_magic(batch: bytearray) -> bytearray:
    batch[16] = 1
    return batch


def _unknown_codec(batch: bytearray) -> bytearray:
    batch[22] = 7
    return batch


def _too_many_records(batch: bytearray) -> bytearray:
    batch[57:61] = (9).to_bytes(4, "big")
    return batch


@pytest.mark.parametrize(
    "damage", [_cut, _no_header, _old_magic, _unknown_codec, _too_many_records]
)
def test_a_damaged_batch_is_not_decoded(damage: Callable[[bytearray], bytearray]) -> None:
    batch = damage(encode_batch([Record(0, 1, b"a", b"1")]))

    with pytest.raises(CorruptBatch):
        list(decode_records(batch))


def test_raw_snappy_is_read_too() -> None:
    """Some clients write snappy without Java's frame around it."""
    import cramjam  # noqa: PLC0415

    plain = encode_batch([Record(0, 1, b"key", b"value" * 50)])
    raw = bytes(cramjam.snappy.compress_raw(bytes(plain[HEADER_BYTES:])))
    batch = plain[:HEADER_BYTES] + raw
    batch[8:12] = (len(batch) - 12).to_bytes(4, "big")
    batch[22] = Compression.SNAPPY

    assert [r.value for r in decode_records(batch)] == [b"value" * 50]


def test_lz4_blocks_are_independent_as_java_requires() -> None:
    """Kafka refused our batches with "Dependent block stream is unsupported"."""
    batch = encode_batch([Record(0, 1000, b"k", b"v" * 100_000)], compression=Compression.LZ4)

    magic, flags = bytes(batch[HEADER_BYTES : HEADER_BYTES + 4]), batch[HEADER_BYTES + 4]
    assert magic == b"\x04\x22\x4d\x18"
    assert flags & 0x20, "blocks are independent"
    assert [record.value for record in decode_records(batch)] == [b"v" * 100_000]
