"""Errors of persistent queries as SQL's users see them: text, kind and time.

    USER      a record, a right, a login or a topic must be changed before the query can run
    SYSTEM    something was missing that may return: a broker, the JVM, its memory
    UNKNOWN   anything else

The engine's hints are for applications. Those that name what SQL does not have get SQL's words.

Source of the kinds: ksqlDB's `queryErrors`.
"""

import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from duolog.core.errors import DuologError
from duolog.core.exception_text import describe_exception
from duolog.engine.errors import QueryFailed, SourceTopicMissing
from duolog.ksql.settings import FAIL_ON_REFUSED
from duolog.runtime.errors import BrokerUnavailable

ErrorKind = Literal["USER", "SYSTEM", "UNKNOWN"]

_NEVER_STARTED: Final = "the query ended unexpectedly"
_PRODUCTION: Final = "production.exception.handler"
_RESET: Final = re.compile(r"`(duolog state (?:reset|restore)[^`]*)`")
_TOPIC: Final = re.compile(r'topic "([^"]+)"')
_TIME: Final = re.compile(r"InvalidTimestampException|message\.timestamp\.(?:after|before)")
_REFUSES: Final = "a transaction cannot leave out a record"
_ACCEPT: Final = (
    "Result records have timestamps of source records. If theirs are right, let the topic accept "
    "them: duolog topics alter {topic} --config message.timestamp.after.max.ms={ahead}. The query "
    "then continues by itself."
)
_SKIP: Final = (
    f"To skip such results, run SET '{FAIL_ON_REFUSED}'='false', and create the query again: with "
    "CREATE OR REPLACE, or TERMINATE and INSERT INTO. The processing log then reports them."
)
_ANY_TIME: Final = 2**63 - 1
_CHANGELOG: Final = ("cannot write a change of a store", "cannot write a dead letter")


@dataclass(frozen=True, slots=True)
class QueryTrouble:
    """The last error of a query."""

    text: str = ""
    """Message, details and hint; empty if there is none."""
    kind: ErrorKind = "UNKNOWN"
    at_ms: int = 0
    """When it was noticed, in ms since 1970."""


NO_TROUBLE: Final = QueryTrouble()


def trouble_of(error: Exception | None, data: Path | None = None) -> QueryTrouble:
    """Return an error of a query, or of its start, as of now; of None: it ended without one.

    Args:
        error: the error.
        data: the directory of the service on this machine.
    """
    at_ms = time.time_ns() // 1_000_000
    if error is None:
        return QueryTrouble(_NEVER_STARTED, at_ms=at_ms)
    if not isinstance(error, DuologError):
        # An error of another library is this query's error, too.
        error = DuologError(describe_exception(error))
    return QueryTrouble(str(_with_hint(error, data)), _kind(error), at_ms)


def _kind(error: DuologError) -> ErrorKind:
    if isinstance(error, QueryFailed):
        if error.kind.by_user or error.kind.source_missing:
            return "USER"
        return "SYSTEM" if error.kind.may_pass or error.kind.out_of_memory else "UNKNOWN"
    if isinstance(error, SourceTopicMissing):
        return "USER"
    return "SYSTEM" if isinstance(error, BrokerUnavailable) else "UNKNOWN"


def _with_hint(error: DuologError, data: Path | None) -> DuologError:
    """Return an error whose hint works for a query of SQL."""
    hint = error.hint
    if _PRODUCTION in hint or _REFUSES in error.message:
        hint = _refused(error.message)
    elif data is not None:
        hint = _RESET.sub(lambda found: f"`{found[1]} --data {data}`", hint)
    return DuologError(error.message, detail=error.detail, hint=hint)


def _refused(message: str) -> str:
    """Return the hint for a result that the broker refuses.

    A transaction cannot leave it out, and no change of a store or dead letter may be skipped.
    """
    hints = []
    if _TIME.search(message):
        topics = _TOPIC.findall(message)
        topic = topics[-1] if topics else "TOPIC"
        hints.append(_ACCEPT.format(topic=topic, ahead=_ANY_TIME))
    if _REFUSES not in message and not any(one in message for one in _CHANGELOG):
        hints.append(_SKIP)
    return " ".join(hints)
