"""Records that are counted together have the frames that they have by themselves."""

import random
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.broker.schema_checks import walk
from duolog.broker.schema_checks.alike import Layout, count_alike
from duolog.broker.schema_checks.frames import UNFRAMED
from duolog.broker.schema_checks.settings import SchemaChecks
from duolog.broker.schema_checks.similar import count_similar
from duolog.broker.schema_checks.walk import Frames, frames_of
from duolog.record import Record, encode_batch
from duolog.record.batch import HEADER_BYTES
from duolog.record.errors import CorruptBatch, InvalidRecord
from duolog.schemas.subject_names import SubjectStrategy
from unit.broker.schema_checks.test_frames import PARTS, RECORDS, VALUE_HEADER, framed

if TYPE_CHECKING:
    from duolog.record.records import RecordHeaders

TOPIC, RECORD = SubjectStrategy.TOPIC_NAME, SubjectStrategy.RECORD_NAME
CHECKS = [
    SchemaChecks(key, value)
    for key in (None, TOPIC, RECORD)
    for value in (None, TOPIC, RECORD)
    if key or value
]
Counted = list[tuple[int, int]]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    """Return what is asked and answered about records alike: at most, found."""
    calls: Counted = []

    def recording(plain: bytes, layout: Layout, most: int) -> int:
        found = count_alike(plain, layout, most)
        calls.append((most, found))
        return found

    def recording_similar(plain: bytes, layout: Layout, most: int) -> tuple[int, int]:
        found, end = count_similar(plain, layout, most)
        calls.append((most, found))
        return found, end

    monkeypatch.setattr(walk, "count_alike", recording)
    monkeypatch.setattr(walk, "count_similar", recording_similar)
    return calls


def one_by_one(batch: bytearray, checks: SchemaChecks) -> Frames:
    """Return the frames of a batch of which no records are counted together."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walk, "count_alike", lambda *_: 0)
        patch.setattr(walk, "count_similar", lambda _plain, layout, _most: (0, layout.end))
        return frames_of(memoryview(batch), checks, None)


def outcome(find: Callable[[], Frames]) -> Frames | tuple[str, str]:
    try:
        return find()
    except InvalidRecord as error:
        return error.message, error.detail


def alike(count: int, value: bytes | None = framed(1), key: bytes | None = b"key") -> list[Record]:
    """Return records whose offsets and times need one byte, then two."""
    return [Record(0, 1000 + number // 3, key, value) for number in range(count)]


@pytest.mark.parametrize("checks", CHECKS)
@pytest.mark.parametrize("key", [None, b"", framed(2), b"k" * 100])
@pytest.mark.parametrize("value", [None, framed(1), framed(1, b"x" * 90), framed(1, b"y" * 9000)])
def test_records_of_one_layout_are_counted_together(
    checks: SchemaChecks, key: bytes | None, value: bytes | None, counted: Counted
) -> None:
    batch = encode_batch(alike(400, value, key))

    found = frames_of(memoryview(batch), checks, None)

    assert found == one_by_one(batch, checks)
    unframed = checks.key is not None and key is not None and key[:1] != b"\0"
    by_names = (checks.value is RECORD and value is not None) or (checks.key is RECORD and key)
    if not (unframed or by_names):
        assert sum(alone for _, alone in counted) >= 300


RUNS = st.lists(st.tuples(RECORDS, st.integers(1, 100)), min_size=1, max_size=5)


@given(RUNS, st.sampled_from(CHECKS), st.data())
def test_runs_of_any_records_give_the_frames_of_each(
    runs: list[tuple[Record, int]], checks: SchemaChecks, data: st.DataObject
) -> None:
    steps = st.sampled_from([0, 1, 50, 100])
    records = [
        record._replace(timestamp_ms=record.timestamp_ms + number * data.draw(steps))
        for record, times in runs
        for number in range(times)
    ]
    batch = encode_batch(records)

    assert frames_of(memoryview(batch), checks, None) == one_by_one(batch, checks)


@given(st.integers(80, 300), PARTS, PARTS, st.sampled_from(CHECKS), st.data())
def test_a_record_that_differs_in_any_byte_is_judged_by_itself(
    count: int,
    key: bytes | None,
    value: bytes | None,
    checks: SchemaChecks,
    data: st.DataObject,
) -> None:
    batch = encode_batch(alike(count, value, key))
    for _ in range(data.draw(st.integers(1, 3))):
        batch[data.draw(st.integers(HEADER_BYTES, len(batch) - 1))] = data.draw(st.integers(0, 255))

    together = outcome(lambda: frames_of(memoryview(batch), checks, None))

    assert together == outcome(lambda: one_by_one(batch, checks))


def test_each_byte_of_a_frame_and_each_length_ends_the_records_alike() -> None:
    """Change each byte of a record among 200 that are alike, to each of a few values."""
    records = alike(200, framed(1, b"\1\2\3"), framed(2))
    batch = encode_batch(records)
    record_bytes = len(encode_batch(records[:3])) - len(encode_batch(records[:2]))
    start = HEADER_BYTES + 40 * record_bytes
    checks = SchemaChecks(TOPIC, TOPIC)
    different = 0
    for place in range(start, start + record_bytes):
        for change in (1, 2, 0x80, 0xFF):
            damaged = bytearray(batch)
            damaged[place] ^= change
            together = outcome(partial(frames_of, memoryview(damaged), checks, None))
            alone = outcome(partial(one_by_one, damaged, checks))
            assert together == alone, f"byte {place - start} changed by {change}"
            different += together != frames_of(memoryview(batch), checks, None)
    assert different >= 4 * 14, "both frames, four lengths"


def test_records_with_headers_of_one_size_are_judged_one_by_one() -> None:
    numbers = [1] * 100 + [2] * 100 + [1]
    records = [
        Record(0, 1, None, framed(3), ((VALUE_HEADER, framed(number, b"")),)) for number in numbers
    ]

    found = frames_of(memoryview(encode_batch(records)), SchemaChecks(None, TOPIC), None)

    assert found.values == {framed(1, b""): [(0, 100), (200, 201)], framed(2, b""): [(100, 200)]}


def test_bytes_that_are_no_message_indexes_say_nothing_about_those_that_are() -> None:
    without, first = framed(1, b"\xff" * 10), framed(1, b"\0" + b"x" * 9)
    records = [Record(0, 1, None, value) for value in (without, *[first] * 100, without)]

    found = frames_of(memoryview(encode_batch(records)), SchemaChecks(None, RECORD), None)

    assert found.values == {framed(1, b""): [(0, 1), (101, 102)], framed(1, b"\0"): [(1, 101)]}


def test_records_of_changing_sizes_are_rarely_compared_with_the_next(counted: Counted) -> None:
    """Keys of changing sizes: each record must be read by itself."""
    records = [Record(0, 1, bytes(number % 7), framed(1)) for number in range(5000)]

    frames_of(memoryview(encode_batch(records)), SchemaChecks(None, TOPIC), None)

    assert len(counted) <= 2 * (5000 / 256 + 10)


def test_few_records_alike_after_each_other_are_found_again(counted: Counted) -> None:
    """After records of changing sizes, a long run is found within a pause."""
    mixed = [Record(0, 1, bytes(number % 7), framed(1)) for number in range(5000)]
    records = mixed + [Record(0, 1, b"key", framed(1))] * 5000

    frames_of(memoryview(encode_batch(records)), SchemaChecks(None, TOPIC), None)

    assert sum(found for _, found in counted) >= 3500


def test_short_runs_of_similar_records_are_not_worth_the_comparison(counted: Counted) -> None:
    """Each 20th length has another width: comparing ahead each time cost three times the walk."""
    values = [framed(1, bytes(40 if number % 20 else 90)) for number in range(5000)]
    records = [Record(0, 1, None, value + bytes(n % 7)) for n, value in enumerate(values)]

    frames_of(memoryview(encode_batch(records)), SchemaChecks(None, TOPIC), None)

    assert len(counted) <= 2 * 20


SIZES = st.sampled_from([(0, 20), (40, 80), (56, 58), (64, 200), (120, 140), (8170, 8200)])


def sized(
    chance: random.Random, count: int, sizes: tuple[int, int], key: bytes | None
) -> bytearray:
    """Return a batch of values of random sizes; some have other bytes, headers or times."""
    records = []
    for number in range(count):
        value: bytes | None = framed(1, bytes(chance.randint(*sizes)))
        headers: RecordHeaders = ()
        match chance.randrange(400):
            case 0:
                value = None
            case 1:
                value = framed(2, bytes(chance.randint(*sizes)))
            case 2:
                headers = ((VALUE_HEADER, framed(3, b"")),)
            case 3:
                value = value and value[: chance.randrange(8)]
        records.append(Record(0, 1000 + number // 40, key, value, headers))
    return encode_batch(records)


@given(st.integers(2, 700), SIZES, PARTS, st.sampled_from(CHECKS), st.data())
def test_values_of_any_sizes_give_the_frames_of_each(
    count: int,
    sizes: tuple[int, int],
    key: bytes | None,
    checks: SchemaChecks,
    data: st.DataObject,
) -> None:
    seed = data.draw(st.integers(0, 2**32))
    batch = sized(random.Random(seed), count, sizes, key)  # noqa: S311 - values of a test
    for _ in range(data.draw(st.integers(0, 2))):
        batch[data.draw(st.integers(HEADER_BYTES, len(batch) - 1))] = data.draw(st.integers(0, 255))

    together = outcome(partial(frames_of, memoryview(batch), checks, None))

    assert together == outcome(partial(one_by_one, batch, checks))


@pytest.mark.parametrize("sizes", [(0, 40), (80, 120), (200, 3000)])
@pytest.mark.parametrize("key", [None, b"", b"a key"])
def test_values_of_changing_sizes_are_counted_together(
    sizes: tuple[int, int], key: bytes | None, counted: Counted
) -> None:
    chance = random.Random(1)  # noqa: S311 - as above
    values = [framed(1, bytes(chance.randint(*sizes))) for _ in range(3000)]
    batch = encode_batch([Record(0, 1 + n // 500, key, value) for n, value in enumerate(values)])

    found = frames_of(memoryview(batch), SchemaChecks(None, TOPIC), None)

    assert found.values == {framed(1, b""): [(0, 3000)]}
    assert sum(together for _, together in counted) >= 2900


def test_each_byte_of_a_head_ends_the_similar_records() -> None:
    """Change each byte before the payload of a record among 200, and the one after it."""
    chance = random.Random(2)  # noqa: S311 - as above
    for sizes in ((0, 30), (90, 120)):
        values = [framed(1, bytes(chance.randint(*sizes))) for _ in range(200)]
        records = [Record(0, 1000, framed(2), value) for value in values]
        batch = encode_batch(records)
        start, end = (len(encode_batch(records[:number])) for number in (120, 121))
        checks = SchemaChecks(TOPIC, TOPIC)
        assert frames_of(memoryview(batch), checks, None) == one_by_one(batch, checks)
        for place in (*range(start - 1, start + 35), end - 1):
            for change in (1, 2, 0x40, 0x80, 0xFF):
                damaged = bytearray(batch)
                damaged[place] ^= change
                together = outcome(partial(frames_of, memoryview(damaged), checks, None))
                alone = outcome(partial(one_by_one, damaged, checks))
                assert together == alone, f"{sizes}: byte {place - start} changed by {change}"


def two_bytes(number: int) -> bytes:
    """Return a number below 8,192 as a varint of two bytes, needed or not."""
    return bytes((2 * number & 0x7F | 0x80, 2 * number >> 7))


def raw(value: bytes, end: bytes = b"\0") -> bytes:
    """Return a record without key whose lengths have two bytes; `end` is its headers."""
    body = b"\0\0\0\1" + two_bytes(len(value)) + value + end
    return two_bytes(len(body)) + body


def test_a_short_value_with_a_long_length_has_no_frame_of_the_next_record() -> None:
    """The bytes after the value are those of the frame: a zero, and the length of a record."""
    start = b"\0\0\0"
    frame = start + raw(bytes(64))[:2]
    usual = [raw(frame + bytes(size)) for size in (59, 60, 61, 62, 59, 63, 60, 59)]
    records = [*usual, raw(start[:2]), raw(frame + bytes(59)), *usual]

    found = walk._walk(b"".join(records), len(records), SchemaChecks(None, TOPIC))  # noqa: SLF001

    assert found.values == {frame: [(0, 8), (9, 18)], UNFRAMED: [(8, 9)]}


def test_bytes_after_the_headers_do_not_hide_headers() -> None:
    sizes = (70, 71, 72, 70, 73, 74, 70, 71)
    records = [raw(framed(1, bytes(size)), b"\0\0") for size in sizes]
    records.append(raw(framed(1, bytes(75)), b"\2\0"))

    with pytest.raises((CorruptBatch, IndexError)):
        walk._walk(b"".join(records), len(records), SchemaChecks(None, TOPIC))  # noqa: SLF001
