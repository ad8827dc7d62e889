"""Topics and start of a source as users write them: `pattern="orders-.*"`, `start="2 hours"`.

Source: Kafka Streams `StreamsBuilder.stream(Pattern)`, `Consumed.withOffsetResetPolicy`,
`AutoOffsetReset`.
"""

import datetime as dt
import re
from collections.abc import Sequence
from typing import Final

from duolog.dsl.expressions.windows import instant_ms
from duolog.plan.durations import Duration, milliseconds
from duolog.plan.errors import InvalidPlan
from duolog.plan.starts import EARLIEST, Start

Begin = Duration | dt.datetime | int
"""`"earliest"`, `"latest"`, a duration, or a time: datetime, ISO text, milliseconds since 1970."""

_A_DATE: Final = re.compile(r"\d{4}-\d\d")


def start_of(given: Begin | None) -> Start:
    """Return the start position of a source.

    Raises:
        StatementError: it is not a valid position.

    Example:
        >>> print(start_of("2 hours"))
        , from 7200000 ms before the first start
    """
    if given is None or given == "earliest":
        return EARLIEST
    if given == "latest":
        return Start("latest")
    try:
        start = _in_time(given)
    except InvalidPlan as error:
        raise _no_place(given, error.detail or error.hint) from error
    if start.ms < 0:
        raise _no_place(
            given, "It is before 1970." if start.kind == "at" else "It is in the future."
        )
    return start


def read_topics(topic: str | Sequence[str], pattern: str | None) -> list[str]:
    """Return the names of the topics that a stream reads, or its pattern.

    Raises:
        StatementError: both or neither are given, or the pattern is not a regular expression.
    """
    if pattern is None and topic:
        return [topic] if isinstance(topic, str) else list(dict.fromkeys(topic))
    if pattern is None or topic:
        raise InvalidPlan(
            "a stream reads topics by their names or by a pattern"
            if topic
            else "a stream needs a topic",
            hint='Write stream("orders", ...), or stream(pattern="orders-.*", ...).',
        )
    try:
        re.compile(pattern)
    except re.error as error:
        raise InvalidPlan(f"{pattern!r} is not a regular expression", detail=f"{error}.") from error
    return [pattern]


def _in_time(given: Duration | dt.datetime | int) -> Start:
    if isinstance(given, bool):
        raise _no_place(given)
    if isinstance(given, int):
        return Start("at", given)
    if isinstance(given, dt.datetime) or (isinstance(given, str) and _A_DATE.match(given)):
        return Start("at", instant_ms(given))
    return Start("ago", milliseconds(given, "start"))


def _no_place(given: object, why: str = "") -> InvalidPlan:
    return InvalidPlan(
        f"{given!r} is not a start position",
        detail=why,
        hint='Write "earliest", "latest", a duration before now ("2 hours", a timedelta), or a '
        "time: a datetime with its time zone, its text, or milliseconds since 1970.",
    )
