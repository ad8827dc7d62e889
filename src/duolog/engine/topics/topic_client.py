"""A client of one cluster for questions about topics, and the errors for its answers.

The client is opened when it is first needed, and stays open: answers to a closed client never
arrive. Threads: any.
"""

import contextlib
import threading
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from typing import Final

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, TopicMetadata

from duolog.engine.errors import BrokerUnreachable, LeaderMissing, SourceTopicMissing

TIMEOUT_S: Final = 15.0
# The timeout for answers that are only displayed.
GLANCE_S: Final = 3.0

# How many existing topics a message about a missing one lists.
_SHOWN_MAX: Final = 10


class TopicClient:
    """The client for the topics of one cluster."""

    def __init__(self, bootstrap_servers: str, client_options: Mapping[str, str]) -> None:
        self.bootstrap_servers: Final = bootstrap_servers
        self._options = dict(client_options)
        self._opened: AdminClient | None = None
        self._opening = threading.Lock()

    def admin(self) -> AdminClient:
        """Return Kafka's client."""
        with self._opening:
            if self._opened is None:
                options: dict[str, str | int | float | bool] = {**self._options}
                options |= {"bootstrap.servers": self.bootstrap_servers, "log_level": 0}
                self._opened = AdminClient(options)
            return self._opened

    def list_topics(self, timeout_s: float) -> dict[str, TopicMetadata]:
        """Return all topics.

        Raises:
            BrokerUnreachable: no broker answers.
        """
        try:
            return self.admin().list_topics(timeout=timeout_s).topics
        except KafkaException as error:
            raise self.unreachable(error) from error

    def no_ends(self, topics: Iterable[str], error: Exception) -> BrokerUnreachable:
        """Return the cause: for a partition without a leader the client reports only a timeout."""
        with contextlib.suppress(BrokerUnreachable):
            found = self.list_topics(GLANCE_S)
            if leaderless := leaderless_in(found[topic] for topic in topics if topic in found):
                return self.leaderless(leaderless)
        return self.unreachable(error)

    def unreachable(self, error: Exception) -> BrokerUnreachable:
        """Return the error for a broker that does not answer."""
        reported = error.args[0] if error.args else ""
        return BrokerUnreachable(
            f"no broker answers at {self.bootstrap_servers}",
            detail=f"{reported.str() if isinstance(reported, KafkaError) else reported}.",
            hint="Start one: `duolog broker --data DIR`.",
        )

    def missing_among(self, topics: list[str], there: Collection[str]) -> SourceTopicMissing:
        """Return the error for topics that are not among the existing ones."""
        return self.missing(topics, f"{nearest_names(topics, there)}{self._has(there)}")

    def _has(self, topics: Collection[str]) -> str:
        visible = sorted(name for name in topics if not name.startswith("__"))
        shown = ", ".join(f'"{name}"' for name in visible[:_SHOWN_MAX])
        more = f" and {len(visible) - _SHOWN_MAX} more" if len(visible) > _SHOWN_MAX else ""
        unseen = (
            " A user without the right Describe on a topic does not see it."
            if "sasl.mechanisms" in self._options or "ssl.key.pem" in self._options
            else ""
        )
        return f"The broker at {self.bootstrap_servers} has {shown or 'no topics'}{more}.{unseen}"

    def missing(self, topics: list[str], detail: str) -> SourceTopicMissing:
        """Return the error for topics that do not exist."""
        names = ", ".join(f'"{name}"' for name in topics)
        many = len(topics) > 1
        return SourceTopicMissing(
            f"source topics {names} do not exist"
            if many
            else f"source topic {names} does not exist",
            detail=detail,
            hint=f"Create {'each' if many else 'it'}: `duolog topics create {topics[0]} "
            f"-b {self.bootstrap_servers}`, or give `duolog run` the option --create-topics.",
        )

    def leaderless(self, partitions: list[str]) -> LeaderMissing:
        """Return the error for partitions that no broker serves."""
        names = ", ".join(f'"{name}"' for name in partitions[:_SHOWN_MAX])
        many = len(partitions) > 1
        return LeaderMissing(
            f"source partition{'s' if many else ''} {names} {'have' if many else 'has'} no leader",
            detail=f"The broker at {self.bootstrap_servers} knows the topic, but no broker "
            "leads this partition.",
            hint="Its log may be damaged or its disk missing: see the broker's log.",
        )


def code_of(error: Exception) -> int | None:
    """Return the code of an error of Kafka's client; None for other errors."""
    reported = error.args[0] if error.args else None
    return reported.code() if isinstance(reported, KafkaError) else None


def leaderless_in(topics: Iterable[TopicMetadata]) -> list[str]:
    """Return the partitions without a leader, for example `orders-0`."""
    return sorted(
        f"{topic.topic}-{partition.id}"
        for topic in topics
        for partition in topic.partitions.values()
        if partition.leader < 0
    )


def nearest_names(missing: Iterable[str], there: Iterable[str]) -> str:
    """Return a question for each missing topic whose name is similar to an existing one.

    Example:
        >>> nearest_names(["oders", "visits"], ["orders", "customers"])
        'Instead of "oders", is "orders" meant? '
    """
    known = list(there)
    nearest = {name: get_close_matches(name, known, n=1) for name in missing}
    return "".join(
        f'Instead of "{name}", is "{found[0]}" meant? ' for name, found in nearest.items() if found
    )
