"""Errors of the broker for tests."""

from typing import Final

from duolog.core.errors import KafkaError
from duolog.runtime.errors import BrokerUnavailable

_UNKNOWN_TOPIC_OR_PARTITION: Final = 3


class FaultRefused(BrokerUnavailable):
    """A broker for tests cannot carry out a fault or a step in time now."""


class TopicMissing(KafkaError):
    """A test reads a topic that does not exist."""

    def __init__(self, topic: str) -> None:
        super().__init__(
            f'topic "{topic}" does not exist',
            code=_UNKNOWN_TOPIC_OR_PARTITION,
            hint="Check its name. Create it with create_topic(), or by writing to it.",
        )
