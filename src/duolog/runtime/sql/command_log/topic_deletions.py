"""Delete the topics of dropped sources, while other statements run.

The broker may take seconds to delete a topic. Meanwhile only a statement that declares a new source
over the same topic waits: the topic that it finds or creates would be deleted.

Threads: any.
"""

import threading
from collections.abc import Iterable
from typing import Final

from duolog.runtime.sql.command_log.topics import Topics

_WAIT_S: Final = 20.0
"""Longer than the broker may take."""


class TopicDeletions:
    """The topics that are being deleted."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._running: dict[str, threading.Event] = {}

    def begin(self, topic: str) -> None:
        """Make statements over a topic wait; `finish` must follow."""
        self._running[topic] = threading.Event()

    def finish(self, topic: str) -> None:
        """Delete the topic, and let the statements continue.

        Raises:
            KafkaError: the broker refuses.
        """
        try:
            self._topics.delete(topic)
        finally:
            if (deleted := self._running.pop(topic, None)) is not None:
                deleted.set()

    def wait(self, topics: Iterable[str]) -> None:
        """Wait until none of these topics is being deleted."""
        for topic in topics:
            if (deleted := self._running.get(topic)) is not None:
                deleted.wait(_WAIT_S)
