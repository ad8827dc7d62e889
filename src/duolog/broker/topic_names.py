"""Which names a topic may have.

Source: Kafka `org.apache.kafka.common.internals.Topic`.
"""

import re
from typing import Final

from duolog.broker.errors import InvalidTopic

NAME_LENGTH_MAX: Final = 249
INTERNAL_TOPICS: Final = frozenset({"__consumer_offsets", "__transaction_state"})

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
