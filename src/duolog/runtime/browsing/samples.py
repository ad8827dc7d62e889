"""One of the newest records of each of many topics, read at once."""

import time
from collections.abc import Mapping
from typing import Final

from confluent_kafka import Consumer, KafkaException, TopicPartition

from duolog.runtime.browsing.log import OPTIONS, Range
from duolog.runtime.browsing.record import BrowsedRecord, browsed
from duolog.security.clients.brokers import Brokers

_POLL_S: Final = 0.05
_BACK: Final = 3
"""The last offset may be a marker of a transaction."""


def newest_of(
    brokers: Brokers, places: Mapping[str, tuple[int, Range]], seconds: float
) -> dict[str, BrowsedRecord]:
    """Return a record of each topic; those that cannot be read in time are left out.

    `places` has a partition of each topic, and its retained part.
    """
    found: dict[str, BrowsedRecord] = {}
    waiting = {topic: end for topic, (_, (low, end)) in places.items() if low < end}
    if not waiting:
        return found
    consumer = Consumer(brokers.client({**OPTIONS, "isolation.level": "read_committed"}))
    try:
        consumer.assign(
            [
                TopicPartition(topic, places[topic][0], max(places[topic][1][0], end - _BACK))
                for topic, end in waiting.items()
            ]
        )
        until = time.monotonic() + seconds
        while waiting and time.monotonic() < until:
            for message in consumer.consume(len(waiting), _POLL_S):
                topic = message.topic() or ""
                if message.error() is None:
                    found[topic] = browsed(message, whole=False)
                if message.error() is not None or (message.offset() or 0) + 1 >= waiting.get(
                    topic, 0
                ):
                    waiting.pop(topic, None)
    except KafkaException:
        pass  # A guess of formats is worth no error.
    finally:
        consumer.close()
    return found
