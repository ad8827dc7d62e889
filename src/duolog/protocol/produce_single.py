"""The usual produce request, one batch for one partition, in one look and one pack.

    request   transactional_id none · acks i16 · timeout_ms i32 · 1 topic: name · 1 partition:
              index i32 · records · no tagged fields, three times          (versions 9-12)
    response  1 topic: name · 1 partition: no error, offsets               (versions 9-12)

Clients that send one batch at a time send nothing else, so this is the hottest place of the
broker: what `produce` does for any request costs four times as much. Whatever has another form,
or is wrong, is left to `produce`.

Source: as `produce`.
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
"""A compact array of one item: lengths are written plus one."""
_MORE: Final = 0x80
"""A byte from here on is followed by another of the same number."""
_TAGS: Final = 3

SingleProduce = tuple[int, bytes, int, memoryview]
"""acks, name of the topic, partition, records"""


def read_single(
    frame: memoryview,
    position: int,
    *,
    # Bound as defaults: a local name costs a third of a global one's method.
    read_head: Callable[[memoryview, int], tuple[int, ...]] = _HEAD.unpack_from,
    read_partition: Callable[[memoryview, int], tuple[int, ...]] = _PARTITION.unpack_from,
) -> SingleProduce | None:
    """Read the body at `position` if it has the usual form; None for any other."""
    try:
        transactional_id, acks, _, topics, length = read_head(frame, position)
        start = position + 9
        end = start + length - 1
        partitions, index, low, high = read_partition(frame, end)
    except struct_error:
        return None
    if transactional_id or topics != _ONE or partitions != _ONE or not 0 < length < _MORE:
        return None
    # Usual batches have 127 to 16382 bytes; larger ones are not hot, smaller ones hardly exist.
    if low < _MORE or high >= _MORE:
        return None
    records = end + 7
    tags = records + (low & 0x7F | high << 7) - 1
    if len(frame) != tags + _TAGS or frame[tags] or frame[tags + 1] or frame[tags + 2]:
        return None
    return acks, bytes(frame[start:end]), index, frame[records:tags]


def single_answer(name: bytes) -> Callable[[int, int, int, int], bytes]:
    """Return the function that writes the answer for a partition of the topic `name`.

    It takes the correlation id, the partition, the base offset and the log start offset, and
    returns a whole frame.
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
            size, correlation_id, 0, 2, length + 1, name, 2, index, 0, base_offset, -1,
            log_start_offset, 1, 0, b"",
        )  # fmt: skip

    return write
