"""A compaction run keeps, rewrites or drops single batches; random logs are in `tests/property/test_compaction.py`."""

import tracemalloc
from collections.abc import Sequence
from random import Random
from typing import Any, Final

import pytest

from duolog.log.compaction.compactor import Compactor
from duolog.log.compaction.job import CompactionJob
from duolog.log.compaction.rewrite import DELETE_HORIZON_BIT
from duolog.log.errors import CorruptLog
from duolog.log.producers.aborted_index import AbortedEntry
from duolog.record import Compression, Record, decode_records, encode_batch, whole_batches
from duolog.record.batch import HEADER, HEADER_BYTES, BatchHeader, read_header, seal_batch
from duolog.record.compression import PLAIN_BYTES_MAX, compress
from duolog.record.control import encode_marker
from duolog.record.errors import CorruptBatch
from duolog.record.records import BatchProducer, write_varint
from duolog.testing.disk import CrashDisk

DIRECTORY: Final = "/log"
NOW_MS: Final = 50_000
RETENTION_MS: Final = 1000


def batch(*pairs: tuple[bytes | None, bytes | None], **options: Any) -> bytearray:
    records = [Record(0, 1000 + index, key, value) for index, (key, value) in enumerate(pairs)]
    return encode_batch(records, **options)


def run(
    batches: Sequence[bytearray], *, now_ms: int = NOW_MS, **fields: Any
) -> list[tuple[BatchHeader, bytes]]:
    """Compact a log of one segment, and return its batches."""
    disk = CrashDisk()
    disk.make_dir(DIRECTORY)
    data = bytearray()
    offset = 0
    for item in batches:
        item[:8] = offset.to_bytes(8, "big")  # The checksum does not cover it.
        offset = next(whole_batches(item))[0].next_offset
        data += item
    file = disk.open(f"{DIRECTORY}/{0:020d}.log", create=True)
    file.append([data])
    job = CompactionJob(
        directory=DIRECTORY,
        segments=((0, len(data)),),
        first_dirty_offset=0,
        end_offset=offset,
        now_ms=now_ms,
        delete_retention_ms=RETENTION_MS,
        segment_bytes_max=10**6,
        **fields,
    )
    compactor = Compactor(disk, job, random_bytes=Random(3).randbytes)  # noqa: S311 - a test
    (group,) = compactor.run()
    found = disk.open(f"{DIRECTORY}/{0:020d}.log.cleaned")
    assert group.size_bytes == found.size_bytes
    return [(header, bytes(view)) for header, view in whole_batches(found.pread(0, 10**6))]


def offsets(batches: list[tuple[BatchHeader, bytes]]) -> list[int]:
    return [record.offset for _, data in batches for record in decode_records(data)]


@pytest.mark.parametrize("codec", Compression)
def test_a_batch_that_keeps_some_records_keeps_its_offsets_and_its_codec(
    codec: Compression,
) -> None:
    old = batch((b"a", b"1"), (b"b", b"2"), (b"c", b"3"), compression=codec)

    found = run([old, batch((b"b", b"4"))])

    header, data = found[0]
    assert (header.base_offset, header.last_offset, header.records_count) == (0, 2, 2)
    assert header.compression == codec
    assert [(r.offset, r.timestamp_ms, r.key) for r in decode_records(data)] == [
        (0, 1000, b"a"),
        (2, 1002, b"c"),
    ]
    assert header.max_timestamp == 1002


def test_a_batch_that_loses_its_newest_record_has_the_time_of_the_newest_that_stays() -> None:
    """With its old time a search by time finds a record that is not there."""
    (header, _), *_ = run([batch((b"a", b"1"), (b"b", b"2"), (b"c", b"3")), batch((b"c", b"4"))])

    assert header.max_timestamp == 1001


def test_a_batch_that_keeps_all_records_is_copied_byte_for_byte() -> None:
    whole = batch((b"a", b"1"), (b"b", b"2"), compression=Compression.GZIP)

    found = run([whole, batch((b"c", b"3"))])

    assert found[0][1] == bytes(whole)


def test_keys_of_any_length_are_distinguished() -> None:
    keys = [bytes(n) for n in (0, 1, 2, 255, 256, 257, 5000)] + [b"a" * 257, b"a" * 256 + b"b"]

    found = run([batch(*((key, b"v") for key in keys))])

    assert offsets(found) == list(range(len(keys)))


def test_a_record_without_a_key_goes() -> None:
    assert offsets(run([batch((None, b"1"), (b"a", b"2"))])) == [1]


def test_a_kept_tombstone_gets_a_delete_horizon_and_keeps_its_time() -> None:
    ((header, data),) = run([batch((b"x", b"0"), (b"a", None), compression=Compression.LZ4)])

    assert header.attributes & DELETE_HORIZON_BIT
    assert header.base_timestamp == NOW_MS + RETENTION_MS
    assert [r.timestamp_ms for r in decode_records(data)] == [1000, 1001]


def test_a_horizon_is_set_once_and_the_tombstone_goes_when_it_has_passed() -> None:
    ((_, first),) = run([batch((b"x", b"0"), (b"a", None))])

    ((_, second),) = run([bytearray(first)], now_ms=NOW_MS + RETENTION_MS - 1)
    third = run([bytearray(first)], now_ms=NOW_MS + RETENTION_MS)

    assert second == first
    assert offsets(third) == [0]


def test_the_last_batch_of_a_producer_stays_without_records() -> None:
    old = batch((b"a", b"1"), (b"b", b"1"), producer=BatchProducer(7, 2, 5))

    found = run([old, batch((b"a", b"2"), (b"b", b"2"))], producers={7: (1, 2)})

    header = found[0][0]
    assert (header.records_count, header.base_offset, header.last_offset) == (0, 0, 1)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 2, 5)
    assert offsets(found) == [2, 3]


def test_aborted_records_go_and_do_not_replace_older_ones() -> None:
    log = [
        batch((b"a", b"1")),
        batch((b"a", b"2"), producer=BatchProducer(7, 0, 0, transactional=True)),
        marker(commit=False),
    ]

    found = run(log, aborted=(AbortedEntry(7, 1, 2, 3),))

    assert offsets(found) == [0, 2]
    assert found[-1][0].control, "the marker stays while its data was still there"
    assert not found[-1][0].attributes & DELETE_HORIZON_BIT


def marker(*, commit: bool) -> bytearray:
    return encode_marker(7, 0, commit=commit, coordinator_epoch=0, timestamp_ms=1000)


@pytest.mark.parametrize("commit", [True, False])
def test_a_marker_without_data_waits_for_its_horizon_and_goes(commit: bool) -> None:  # noqa: FBT001
    ((header, data),) = run([marker(commit=commit)])
    assert header.attributes & DELETE_HORIZON_BIT

    assert run([bytearray(data)], now_ms=NOW_MS + RETENTION_MS - 1)
    assert not run([bytearray(data)], now_ms=NOW_MS + RETENTION_MS)


def test_the_marker_that_a_producer_is_known_by_stays_without_its_record() -> None:
    ((_, data),) = run([marker(commit=True)])

    ((header, _),) = run([bytearray(data)], now_ms=NOW_MS + RETENTION_MS, producers={7: (-1, 0)})

    assert header.control
    assert header.records_count == 0


def test_a_damaged_batch_is_never_rewritten() -> None:
    damaged = batch((b"a", b"1"))
    damaged[-1] ^= 1

    with pytest.raises(CorruptLog, match="no whole record batch"):
        run([damaged])


def test_a_batch_whose_records_are_not_what_it_says_is_refused() -> None:
    good = batch((b"a", b"1"), (b"b", b"1"))
    lying = encode_batch([Record(0, 1, b"a", b"1")] * 3)
    header = next(whole_batches(lying))[0]
    HEADER.pack_into(lying, 0, *header._replace(records_count=2))
    seal_batch(lying)

    with pytest.raises(CorruptBatch, match="3 records, not 2"):
        run([good, lying])


# Batches with a right checksum and nonsense inside.


def poisoned(payload: bytes, *, records: int = 1) -> bytearray:
    """Return a sealed batch whose header does not match its records."""
    made = batch((b"k", b"v"))[:HEADER_BYTES]
    header = read_header(made)._replace(records_count=records, last_offset_delta=records - 1)
    HEADER.pack_into(made, 0, *header)
    made += payload
    seal_batch(made)
    return made


def record(body: bytes) -> bytes:
    payload = bytearray()
    write_varint(payload, len(body))
    return bytes(payload + body)


def varint(value: int) -> bytes:
    target = bytearray()
    write_varint(target, value)
    return bytes(target)


@pytest.mark.parametrize(
    ("payload", "problem"),
    [
        (record(b"\0\0\0" + varint(2**63 - 1) + b"key"), "key of a record is cut off"),
        (record(b"\0\0\0" + varint(4) + b"key"), "key of a record is cut off"),
        (record(b"\0\0" + varint(2**40) + b"\2k\2v\0"), "not within its batch"),
        (record(b"\0\0" + varint(-1) + b"\2k\2v\0"), "not within its batch"),
    ],
)
def test_a_record_with_wrong_lengths_is_reported(payload: bytes, problem: str) -> None:
    with pytest.raises(CorruptBatch, match=problem):
        run([poisoned(payload)])


def test_a_small_batch_with_millions_of_records_is_detected_before_decompression() -> None:
    records = 8_000_000
    small = compress(Compression.ZSTD, record(bytes(6)) * records)
    made = poisoned(small, records=records)
    made[22] |= Compression.ZSTD
    seal_batch(made)
    assert len(made) < 10_000
    tracemalloc.start()

    with pytest.raises(CorruptBatch, match="8,000,000 records"):
        run([made])

    assert tracemalloc.get_traced_memory()[1] < 20 * 1024 * 1024
    tracemalloc.stop()


def test_batches_that_decompress_to_much_are_read_one_after_the_other() -> None:
    large = [batch((b"k%d" % i, bytes(10**6)), compression=Compression.ZSTD) for i in range(40)]
    assert sum(map(len, large)) < 100_000
    tracemalloc.start()

    kept = run(large, plain_bytes=2 * 10**6)

    assert len(kept) == 40
    # The buffer for one is as large as one may be, and the system gives what is written of it.
    assert tracemalloc.get_traced_memory()[1] < PLAIN_BYTES_MAX + 20 * 1024 * 1024
    tracemalloc.stop()
