"""Fast path for the most common produce request: one batch for one partition.

    request   transactional_id none · acks i16 · timeout_ms i32 · 1 topic: name · 1 partition:
              index i32 · records · no tagged fields, three times          (versions 9-12)
    response  1 topic: name · 1 partition: no error, offsets               (versions 9-12)

Clients that send one batch at a time send only such requests, which makes this the hottest code of
the broker; the general codec in `produce` costs four times as much. Requests of any other form, and
invalid ones, are left to `produce`.

Source: see `produce`.
"""

from collections.abc import Callable
from struct import Struct
from struct import error as struct_error
from typing import Final

FIRST_VERSION: Final = 9

_HEAD: Final = Struct(">BhiBB")
"""Transactional id, acks, timeout, topics, length of the name."""
_PARTITION: Final = Struct(">BiBB")
"""Partitions, index, and the length of the records in its usual two bytes."""
_ONE: Final = 2
"""Length of a compact array with one item: lengths are encoded plus one."""
_MORE: Final = 0x80
"""From this value on, a varint byte is followed by another one."""
_TAGS: Final = 3

SingleProduce = tuple[int, bytes, int, memoryview]
"""acks, topic name, partition, records"""


def read_single(
    frame: memoryview,
    position: int,
    *,
    # Defaults, because a local variable costs a third of looking up a method of a global.
    read_head: Callable[[memoryview, int], tuple[int, ...]] = _HEAD.unpack_from,
    read_partition: Callable[[memoryview, int], tuple[int, ...]] = _PARTITION.unpack_from,
) -> SingleProduce | None:
    """Decode the body at `position` if it has the common form, else return None."""
    try:
        transactional_id, acks, _, topics, length = read_head(frame, position)
        start = position + 9
        end = start + length - 1
        partitions, index, low, high = read_partition(frame, end)
    except struct_error:
        return None
    if transactional_id or topics != _ONE or partitions != _ONE or not 0 < length < _MORE:
        return None
    # Common batches have 127 to 16382 bytes; larger ones are not hot, smaller ones are rare.
    if low < _MORE or high >= _MORE:
        return None
    records = end + 7
    tags = records + (low & 0x7F | high << 7) - 1
    if len(frame) != tags + _TAGS or frame[tags] or frame[tags + 1] or frame[tags + 2]:
        return None
    return acks, bytes(frame[start:end]), index, frame[records:tags]


def with_throttle_time(answer: bytes, throttle_ms: int) -> bytes:
    """Return an answer of `single_answer` with a throttle time, which is before its last tags."""
    return answer[:-5] + throttle_ms.to_bytes(4) + answer[-1:]


def single_answer(name: bytes) -> Callable[[int, int, int, int], bytes]:
    """Return the function that encodes the response for a partition of the topic `name`.

    It takes correlation id, partition, base offset and log start offset, and returns a whole frame.
    """
    length = len(name)
    assert length < _MORE - 1, "names of this length are left to produce"
    # Size, correlation id, no tags, 1 topic, its name, 1 partition, its index, no error, base
    # offset, no append time, log start offset, no record errors, no message, tags, throttle 0.
    form = Struct(f">iibBB{length}sBihqqqBB7s")
    size = form.size - 4
    pack = form.pack

    def write(correlation_id: int, index: int, base_offset: int, log_start_offset: int) -> bytes:
        return pack(
            size,
            correlation_id,
            0,
            2,
            length + 1,
            name,
            2,
            index,
            0,
            base_offset,
            -1,
            log_start_offset,
            1,
            0,
            b"",
        )

    return write
