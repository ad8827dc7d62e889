"""Topics that have no dead letters, and that no letter may be written to."""

from typing import Final

from duolog.runtime.dead_letters.marks import TOPIC

COMMANDS: Final = ("_duolog-ksql-", "_command_topic")
"""The beginning and the end of the command topics of SQL services."""
_KAFKA: Final = "__"
"""The offsets of consumer groups, the states of transactions."""


def is_reserved(topic: str) -> bool:
    """Return true for the topic of marks, command topics, and the internal topics of Kafka.

    Example:
        >>> is_reserved("__consumer_offsets"), is_reserved("_duolog-ksql-default__command_topic")
        (True, True)
        >>> is_reserved("orders"), is_reserved("_duolog-replayed-dead-letters")
        (False, True)
    """
    return topic.startswith(_KAFKA) or topic == TOPIC or is_commands(topic)


def is_commands(topic: str) -> bool:
    """Return true for the command topic of a SQL service."""
    start, end = COMMANDS
    return topic.startswith(start) and topic.endswith(end)
