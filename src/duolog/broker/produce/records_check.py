"""Check the records of a request: on the event loop if they are few, else in a helper thread.

    a topic that is compacted, or bounds how old a record may be      all its batches
    a topic whose schema ids are checked                              all its batches
    a batch that claims to be ahead of the clock                      this one
    anything else                                                     none, see ADR 0025

For few records the hop to a thread would be much of what they cost. While they are looked at off
the event loop, they stay in the receive buffer and their connection is held: the sequences of an
idempotent producer must come in their order.
"""

from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING, Final

from duolog.broker.produce.batch_validation import OpenedRecords, must_be_opened, open_records
from duolog.core.units import KIB
from duolog.protocol.produce import PARTITIONS_A_STEP, ProduceRequest
from duolog.record.batch import read_header

if TYPE_CHECKING:
    from duolog.broker.topics.topic_config import TopicConfig
    from duolog.broker.topics.topics import Topics

_INLINE_RECORDS_MAX: Final = 50
_INLINE_BYTES_MAX: Final = 8 * KIB
"""Sizes as received, and after decompression."""

ToOpen = list[tuple[memoryview, "TopicConfig"] | None]
"""The batches of a request in their order; None for one that is not opened."""
Opened = Iterable[OpenedRecords | None]


def batches_to_open(
    topics: "Topics", request: ProduceRequest, now_ms: int
) -> Generator[None, None, ToOpen | None]:
    """Return the batches to open, computed in steps; None if there are none."""
    found: ToOpen = []
    some = False
    left = PARTITIONS_A_STEP
    for name, data in request.topics:
        topic = topics.by_name_bytes.get(name)
        for _, batch in data:
            if topic is None or batch is None or not must_be_opened(batch, topic.config, now_ms):
                found.append(None)
            else:
                found.append((batch, topic.config))
                some = True
            left -= 1
            if left < 0:
                left = PARTITIONS_A_STEP
                yield
        left -= 1
        if left < 0:
            left = PARTITIONS_A_STEP
            yield
    return found if some else None


def open_few(batches: ToOpen, now_ms: int) -> Opened | None:
    """Look at the records of the batches; None if they may be many."""
    records = size_bytes = 0
    for entry in batches:
        if entry is not None:
            records += read_header(entry[0]).records_count
            size_bytes += len(entry[0])
            if records > _INLINE_RECORDS_MAX or size_bytes > _INLINE_BYTES_MAX:
                return None
    opened = [
        None if entry is None else open_records(*entry, now_ms, plain_bytes_max=_INLINE_BYTES_MAX)
        for entry in batches
    ]
    # Something compressed may have been refused for what it decompresses to.
    refused = any(found is not None and found.refusal is not None for found in opened)
    return None if refused else opened


def open_all(batches: ToOpen, now_ms: int) -> Opened:
    """Look at the records of the batches; on any thread."""
    return [None if entry is None else open_records(*entry, now_ms) for entry in batches]
