"""Topics by regular expression in RE2's syntax, which must match the whole name, as in Kafka.

A coordinator does not match by itself: it asks a `TopicMatcher`. The broker's matches in a helper
process, since an expression of a client may take seconds.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import re2

from duolog.coordinator.consumer_groups.errors import InvalidRegularExpression
from duolog.coordinator.consumer_groups.topics import TopicView


class Matches(NamedTuple):
    """The topics that an expression matches.

    Args:
        topics: their names; names of deleted topics may be among them.
        current: whether every topic that exists now was compared.
    """

    topics: frozenset[str]
    current: bool


class TopicMatcher(Protocol):
    """Matches expressions against the broker's topics."""

    def check(self, regex: str) -> None:
        """Check that an expression is not known to be invalid.

        Raises:
            GroupError: with the reason.
        """

    def matching(self, regex: str) -> Matches | None:
        """Return the latest result, or None; a later call may return a newer one."""


class MatchesAtOnce:
    """Matches while the caller waits: for tests, and for a coordinator without a broker."""

    def __init__(self, topics: Callable[[], TopicView]) -> None:
        self._topics = topics
        self._options = re2.Options()
        self._options.log_errors = False
        self._options.never_capture = True

    def check(self, regex: str) -> None:
        try:
            re2.compile(regex, self._options)
        except re2.error as error:
            raise InvalidRegularExpression(
                refusal(regex, error.args[0].decode(errors="replace"))
            ) from error

    def matching(self, regex: str) -> Matches | None:
        matches = re2.compile(regex, self._options).fullmatch
        names = self._topics().names()
        return Matches(frozenset(name for name in names if matches(name)), current=True)


def refusal(regex: str, reason: str) -> str:
    """Return the message that a client gets, in Kafka's words."""
    return f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {reason}."
