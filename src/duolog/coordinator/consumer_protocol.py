"""Parse the topics of a consumer's subscription, and nothing else.

    int16 version · int32 count · count times (int16 length, topic) · what later versions add

Source: Kafka `ConsumerProtocolSubscription.json`; version 0 is a prefix of all later ones.
"""

from struct import error as StructError
from struct import unpack_from
from typing import Final

PROTOCOL_TYPE: Final = "consumer"


def subscribed_topics(subscription: bytes) -> frozenset[str] | None:
    """Return the topics of a subscription; None if it is not in the consumer protocol's form."""
    try:
        (count,) = unpack_from(">i", subscription, 2)
        return frozenset(_read_topics(subscription, count))
    except (StructError, UnicodeDecodeError):
        return None


def _read_topics(subscription: bytes, count: int) -> list[str]:
    topics = []
    position = 6
    for _ in range(count):
        (size,) = unpack_from(">h", subscription, position)
        (name,) = unpack_from(f">{size}s", subscription, position + 2)
        topics.append(name.decode())
        position += 2 + size
    return topics
