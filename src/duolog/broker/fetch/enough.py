"""The condition by which a fetch with few records is answered nevertheless: more does not fit.

    min_bytes=1000, max_bytes=1000    batches of 300 bytes    900 bytes are all that an answer holds
    min_bytes=1000, 40 bytes left     in an old segment       the rest is in the next segment

An answer has whole batches of one segment, so its size may never reach `min_bytes`, however long
the client waits. Therefore not its size is compared, but the bytes that can be read: of each
partition no more than the client takes of it. A partition whose records continue in another segment
ends the wait at once.

Source: Kafka `DelayedFetch.tryComplete`.
"""

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

from duolog.broker.fetch.fetch_sessions import SessionFetch, SessionPartition, WholeFetch
from duolog.broker.fetch.partition_reads import find_topic
from duolog.protocol.fetch import PARTITIONS_A_STEP, FetchPartition, TopicKey

if TYPE_CHECKING:
    from duolog.broker.fetch.needs import Broker


def can_be_read(
    broker: "Broker", plan: WholeFetch | SessionFetch, bytes_min: int
) -> Generator[None, None, bool]:
    """Return, in steps, whether the partitions of a fetch hold as much as it waits for.

    If they do not, partitions of a session that hold records report their growth from then on: they
    are not among those that wait for their first record.
    """
    size_bytes, left = 0, PARTITIONS_A_STEP
    for key, asked, item in _asked(plan):
        topic = find_topic(broker, key)
        partition = topic.partition(asked.partition) if topic else None
        if partition is not None and partition.refused is None:
            log = partition.log
            bound = log.last_stable_offset if plan.request.read_committed else log.high_watermark
            available = log.available(asked.fetch_offset, up_to_offset=bound)
            if available.goes_on:
                return True
            size_bytes += min(available.size_bytes, asked.bytes_max)
            if size_bytes >= bytes_min:
                return True
            if item is not None:
                partition.waiters.add(item)
                item.waits_at = partition
        left -= 1
        if left < 0:
            left = PARTITIONS_A_STEP
            yield
    return False


def _asked(
    plan: WholeFetch | SessionFetch,
) -> Iterator[tuple[TopicKey, FetchPartition, SessionPartition | None]]:
    if isinstance(plan, SessionFetch):
        yield from ((item.key, item.asked, item) for item in list(plan.ready))
    else:
        for key, partitions in plan.request.topics:
            yield from ((key, asked, None) for asked in partitions)
