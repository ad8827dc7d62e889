"""Figures in a topic, for the servers of a service that do not run the queries.

    topic _duolog-ksql-<service id>_query_figures, one partition, kept for an hour
    key CTAS_TOTALS_1     {"version": 1, "id": "CTAS_TOTALS_1", "atMs": …}

Each server publishes the figures of the queries that it runs: when they have changed, and at least
every half minute. So figures that are older than a minute are of a server that has gone. The last
server that ran a query wins. Any client can write to the topic: other records are ignored.

Threads: `PublishedFigures` one at a time; `read_published` any.
"""

import json
import logging
from collections.abc import Callable, Iterable
from typing import Any, Final

from confluent_kafka import Message

from duolog.core.errors import DuologError
from duolog.core.units import HOUR_MS
from duolog.runtime.sql.figures.query_figures import QueryFigures
from duolog.runtime.sql.figures.typed import ensure_typed
from duolog.runtime.topic_reader import TopicReader
from duolog.runtime.topic_writer import TopicWriter
from duolog.security.clients.brokers import Brokers

logger: Final = logging.getLogger(__name__)

FORM: Final = 1
"""Version of the form of the records; others are ignored."""
REPEAT_MS: Final = 30_000
_READ_S: Final = 5.0
Note = Callable[[QueryFigures], None]
_CONFIG: Final = {"cleanup.policy": "compact,delete", "retention.ms": str(HOUR_MS)}


def figures_topic_of(service_id: str) -> str:
    """Return the topic of a service's figures.

    Example:
        >>> figures_topic_of("flights")
        '_duolog-ksql-flights_query_figures'
    """
    return f"_duolog-ksql-{service_id}_query_figures"


class PublishedFigures:
    """Publishes the figures of one server."""

    def __init__(self, brokers: Brokers, service_id: str) -> None:
        self._writer = TopicWriter(brokers, figures_topic_of(service_id), _CONFIG)
        self._sent: dict[str, tuple[int, dict[str, Any]]] = {}
        """Time and content of the last record by query."""

    def publish(self, figures: Iterable[QueryFigures], now_ms: int) -> None:
        """Write what has changed, and what was written half a minute ago.

        Raises:
            KafkaError: the broker refuses the topic.
        """
        due: dict[str, bytes | None] = {}
        sent: dict[str, tuple[int, dict[str, Any]]] = {}
        there = set()
        for one in figures:
            there.add(one.id)
            found = one.to_json()
            del found["atMs"]
            before = self._sent.get(one.id)
            if before is None or before[1] != found or now_ms - before[0] >= REPEAT_MS:
                sent[one.id] = now_ms, found
                due[one.id] = json.dumps({"version": FORM, **one.to_json()}).encode()
        for gone in self._sent.keys() - there:
            # It may run on another server now, so its record stays until it is too old.
            del self._sent[gone]
        if due:
            self._writer.write(due)
            self._sent |= sent

    def close(self) -> None:
        """Flush pending records. Does nothing if closed."""
        self._writer.close()


def read_published(
    brokers: Brokers, service_id: str, note: Note = lambda _: None
) -> dict[str, QueryFigures]:
    """Return the published figures by query; empty if they cannot be read.

    `note` is called with all figures of the last hour that the topic still has, also with those
    that were replaced.
    """
    try:
        with _Figures(figures_topic_of(service_id), brokers, note) as reader:
            reader.catch_up(_READ_S)
            return reader.found
    except DuologError as error:
        logger.debug("cannot read the figures of queries: %s", error.message)
        return {}


class _Figures(TopicReader):
    def __init__(self, topic: str, brokers: Brokers, note: Note) -> None:
        super().__init__(topic, brokers)
        self.found: dict[str, QueryFigures] = {}
        self._note = note

    def take(self, message: Message) -> None:
        key, value = message.key(), message.value()
        if not isinstance(key, bytes) or value is None:
            return
        try:
            found = json.loads(value)
            if found["version"] == FORM:
                figures = QueryFigures.from_json(found)
                ensure_typed(figures)
                self.found[key.decode()] = figures
                self._note(figures)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            logger.debug("ignored figures of a query: %r", error)
