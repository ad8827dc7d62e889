"""Match topic names against the regular expressions of subscriptions, in the helper process.

An expression is matched once against each name: a new one against all, later only against new
names. Groups with the same expression share its result.

    heartbeat ─ new expression ───▶ helper process ─▶ heartbeat continues with the topics
              └ known expression ─▶ continues with known matches; new names are matched meanwhile

Thread: the loop.
"""

import itertools
import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from duolog.broker.expressions.expressions import InvalidExpression
from duolog.coordinator.consumer_groups.errors import InvalidRegularExpression
from duolog.coordinator.consumer_groups.regex import Matches, refusal
from duolog.coordinator.errors import CoordinatorNotAvailable
from duolog.coordinator.records import TEXT_BYTES_MAX

if TYPE_CHECKING:
    from duolog.broker.groups.needs import Broker

logger = logging.getLogger(__name__)

KEPT_MAX: Final = 1000
"""Above this, errors and results that were not requested within `_IN_USE_S` are dropped."""
_IN_USE_S: Final = 60.0
"""Longer than from one heartbeat to the next: a member must see the result of its comparison."""


@dataclass(slots=True)
class _Result:
    """The state of one expression.

    Args:
        topics: the names that it matches.
        compared: the names that it was matched against; None before the first result.
        tried: the names of the last attempt, even if it timed out.
        error: the reason for a missing result.
        busy: whether the helper process is matching it.
        waiting: the callbacks for the first result.
        asked_s: the time of the last request for it.
    """

    topics: frozenset[str] = frozenset()
    compared: frozenset[str] | None = None
    tried: frozenset[str] | None = None
    error: Exception | None = None
    busy: bool = False
    waiting: list[Callable[[], None]] = field(default_factory=list)
    asked_s: float = 0.0

    @property
    def failed(self) -> bool:
        """True if the helper process failed, not the expression: the next process may succeed."""
        return self.error is not None and not isinstance(self.error, InvalidExpression)


class TopicMatches:
    """A `TopicMatcher` of the topics that are served."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._results: OrderedDict[str, _Result] = OrderedDict()
        """Errors first, then in the order of the last request."""
        self._names: frozenset[str] = frozenset()
        self._version = -1

    def when_known(self, regex: str | None, then: Callable[[], None]) -> bool:
        """Call `then` after the first result for `regex`; return True if it was called at once."""
        if not regex or len(regex.encode()) > TEXT_BYTES_MAX:
            then()
            return True
        result = self._results.get(regex)
        if result is None or result.failed:
            result = self._compare(regex, _Result())
        if result.compared is None and result.error is None:
            result.waiting.append(then)
            return False
        then()
        return True

    def check(self, regex: str) -> None:
        result = self._results.get(regex)
        if result is None:
            return
        if isinstance(result.error, InvalidExpression):
            raise InvalidRegularExpression(refusal(regex, result.error.message))
        if result.error is not None:
            raise CoordinatorNotAvailable(str(result.error))

    def matching(self, regex: str) -> Matches | None:
        result = self._results.get(regex)
        if result is None or (result.compared is None and result.failed):
            # After a restart of the broker a group knows the expression, and no heartbeat brings
            # it.
            self._compare(regex, _Result())
            return None
        if result.compared is None:
            return None
        self._asked(regex, result)
        current = not result.busy and result.tried is self._names_now()
        if not current and not result.busy:
            self._compare(regex, result)
        return Matches(result.topics, current)

    def _names_now(self) -> frozenset[str]:
        """Return the names of all topics; the same object until there are others."""
        topics = self._broker.topics
        if self._version != topics.version:
            self._version = topics.version
            names = frozenset(topic.name for topic in topics)
            if names != self._names:
                self._names = names
        return self._names

    def _compare(self, regex: str, result: _Result) -> _Result:
        """Compare an expression with the names that it was not compared with."""
        self._results[regex] = result
        self._asked(regex, result)
        result.busy, result.tried = True, self._names_now()
        before, names, topics = result.compared or frozenset(), result.tried, result.topics

        def done(found: frozenset[str] | None, error: Exception | None) -> None:
            result.busy = False
            if found is not None:
                result.topics = found | (topics & names)
                result.compared, result.error = names, None
            elif result.compared is None:
                result.error, result.asked_s = error, 0.0
                if self._results.get(regex) is result:
                    self._results.move_to_end(regex, last=False)
            else:
                # What it matched before stays. An expression that takes too long is tried again
                # when there are other names; after a failure of the helper process, the next
                # heartbeat does so.
                if not isinstance(error, InvalidExpression):
                    result.tried = None
                logger.warning(
                    "did not compare an expression with new topics",
                    extra={"regex": regex[:100], "reason": str(error)},
                )
            waiting, result.waiting = result.waiting, []
            for then in waiting:
                then()

        new = (name for name in names if name not in before)
        self._broker.expressions.match(regex, new, done)
        self._forget_some()
        return result

    def _asked(self, regex: str, result: _Result) -> None:
        result.asked_s = self._broker.clock.monotonic()
        self._results.move_to_end(regex)

    def _forget_some(self) -> None:
        excess = len(self._results) - KEPT_MAX
        if excess <= 0:
            return
        until = self._broker.clock.monotonic() - _IN_USE_S
        unused = itertools.takewhile(
            lambda item: item[1].busy or item[1].asked_s < until, self._results.items()
        )
        for regex in [regex for regex, result in unused if not result.busy][:excess]:
            del self._results[regex]
