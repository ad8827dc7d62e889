"""Which names a topic may have.

Source: Kafka `org.apache.kafka.common.internals.Topic`.
"""

import re
from typing import Final

from duolog.broker.errors import InvalidTopic

NAME_LENGTH_MAX: Final = 249
OFFSETS_TOPIC: Final = "__consumer_offsets"
INTERNAL_TOPICS: Final = frozenset({OFFSETS_TOPIC, "__transaction_state"})

_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]+")


def check_topic_name(name: str) -> None:
    """Refuse what is no name of a topic, above all what could be a path.

    Raises:
        InvalidTopic: with the reason.
    """
    if not name:
        raise InvalidTopic("topic name is empty")
    if name in {".", ".."}:
        raise InvalidTopic(f'topic name cannot be "{name}"')
    if len(name) > NAME_LENGTH_MAX:
        raise InvalidTopic(f"topic name is longer than {NAME_LENGTH_MAX} characters")
    if not _LEGAL.fullmatch(name):
        raise InvalidTopic(
            f"topic name {name!a} has a character other than letters, digits, '.', '_', '-'"
        )


def metric_name(name: str) -> str:
    """Return what Kafka makes of a name in its metrics, where two topics must not be alike."""
    return name.replace(".", "_")
