"""Topics that match an expression, without those that the client may not know of.

As in Kafka, a group has one result for an expression: that of the member whose heartbeat asked
last. The result is asked for again when topics change, rights change, or some minutes have passed.

Source: Kafka `GroupMetadataManager.filterTopicDescribeAuthorizedTopics`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from duolog.broker.authorization.table import checks_of
from duolog.coordinator.consumer_groups.regex import Matches, TopicMatcher

if TYPE_CHECKING:
    from duolog.broker.authorization.checks import Asker

_, _, _MATCHED = checks_of(68)


class VisibleTopics:
    """A `TopicMatcher` that hides topics from the client whose heartbeat is handled."""

    def __init__(self, matcher: TopicMatcher) -> None:
        self._matcher = matcher
        self._client: Asker | None = None

    @contextmanager
    def to(self, client: "Asker") -> Iterator[None]:
        """Show what this client may see, until the end of the block."""
        self._client = client
        try:
            yield
        finally:
            self._client = None

    def check(self, regex: str) -> None:
        self._matcher.check(regex)

    def matching(self, regex: str) -> Matches | None:
        matches, client = self._matcher.matching(regex), self._client
        if matches is None or client is None or client.authorizer is None:
            return matches
        denied = _MATCHED.denied(client, matches.topics)
        return matches._replace(topics=matches.topics - denied) if denied else matches
