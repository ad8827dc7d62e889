"""Delete the topics of dropped sources, while other statements run.

The broker may take seconds to delete a topic. Meanwhile only a statement that declares a new source
over the same topic waits: the topic that it finds or creates would be deleted. It waits without the
lock of the service.

A topic that another source names is not deleted. Source: ksqlDB.

Threads: any.
"""

import threading
import time
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from duolog.ksql.catalog.catalog import Catalog, SourceInfo
from duolog.ksql.errors import SqlError
from duolog.runtime.sql.command_log.topics import Topics

_WAIT_S: Final = 20.0
"""Longer than the broker may take."""
T = TypeVar("T")


def users_of(catalog: Catalog, topic: str) -> list[str]:
    """Return the sources that name a topic. Patterns do not count."""
    sources = catalog.sources.values()
    return sorted(one.name for one in sources if not one.is_pattern and topic in one.topics)


def unshared(catalog: Catalog, name: str) -> SourceInfo | None:
    """Return a source whose topic is to be deleted with it; None if there is no such source.

    Raises:
        SqlError: other sources name its topic.
    """
    source = catalog.sources.get(name)
    if source is None:
        return None
    if others := [one for one in users_of(catalog, source.topic) if one != name]:
        # In ksqlDB's words.
        raise SqlError(
            f"Refusing to delete topic. Found other data sources ({', '.join(others)}) using topic "
            f"{source.topic}",
            hint="Drop them first, or drop this source without DELETE TOPIC.",
        )
    return source


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

    def ensure_gone(self, topics: Iterable[str]) -> None:
        """Raise an error for `waited_for` if one of these topics is being deleted."""
        for topic in topics:
            if (deleted := self._running.get(topic)) is not None:
                raise _BeingDeleted(topic, deleted)

    def waited_for(self, statement: Callable[[], T]) -> T:
        """Run a statement that calls `ensure_gone`; if that fails, wait and run it again.

        The statement holds the lock of the service, but this wait does not: others can run.

        Raises:
            SqlError: a topic has not been deleted in time, or the error of the statement.
        """
        deadline = time.monotonic() + _WAIT_S
        while True:
            try:
                return statement()
            except _BeingDeleted as busy:
                topic, deleted = busy.topic, busy.deleted
            if not deleted.wait(max(0.0, deadline - time.monotonic())):
                raise SqlError(
                    f"Topic '{topic}' is still being deleted",
                    hint="Run the statement again when the broker has deleted it.",
                )


class _BeingDeleted(Exception):
    """A statement needs a topic that is being deleted; nothing has changed."""

    def __init__(self, topic: str, deleted: threading.Event) -> None:
        super().__init__(topic)
        self.topic = topic
        self.deleted = deleted
