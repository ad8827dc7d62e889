"""The freshness that an answer must have.

    ksql.query.pull.consistency = latest        each topic is read to its end, as it was when asked
    ksql.query.pull.consistency = snapshot      all topics are read to one moment, at which no
                                                transaction was open in them
    ksql.query.pull.staleness.ms.max = 500      records of the last 500 ms may be missing
    ksql.query.pull.offsets.min = totals-0=17   wait until record 16 of totals-0 is in the rows

An answer states the offsets that it includes in the same form, so that another client can ask for
at least these. ADR 0131 has the guarantees.
"""

from dataclasses import dataclass, field
from typing import Final

from duolog.ksql.errors import SqlError
from duolog.ksql.settings import (
    ANSWER_CONSISTENCY,
    ANSWER_OFFSETS,
    ANSWER_STALENESS,
    ANSWER_TIMEOUT,
    Settings,
)
from duolog.runtime.sql.answers import Offsets

SNAPSHOT: Final = "snapshot"
DEFAULT_WAIT_S: Final = 30.0
_FORM: Final = "totals-0=17,totals-1=4"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Requirements on the freshness of an answer."""

    staleness_ms_max: int = 0
    offsets_min: Offsets = field(default_factory=dict)
    snapshot: bool = False
    wait_s: float = DEFAULT_WAIT_S
    """Time limit for offsets that do not exist yet, and for a moment without transactions."""
    timeout_s: float | None = None
    """Time limit of the answer; None: it waits while its topics are being read."""


LATEST: Final = Wanted()


def wanted_of(settings: Settings) -> Wanted:
    """Return the requirements of a session.

    Raises:
        SqlError: a property has an invalid value, or two contradict each other.
    """
    staleness = settings.number(ANSWER_STALENESS)
    snapshot = settings[ANSWER_CONSISTENCY] == SNAPSHOT
    if snapshot and staleness:
        raise SqlError(
            f"a {SNAPSHOT} answer cannot be stale",
            detail=f"{ANSWER_CONSISTENCY} is '{SNAPSHOT}', and {ANSWER_STALENESS} is {staleness}.",
            hint=f"Set '{ANSWER_STALENESS}' to '0'.",
        )
    timeout_ms = settings.number(ANSWER_TIMEOUT)
    return Wanted(
        staleness,
        offsets_of(settings[ANSWER_OFFSETS] or ""),
        snapshot,
        timeout_ms / 1000 if timeout_ms else DEFAULT_WAIT_S,
        timeout_ms / 1000 if timeout_ms else None,
    )


def offsets_of(text: str) -> Offsets:
    """Read offsets; for a partition that is named twice, the greater one counts.

    Raises:
        SqlError: they are written differently.

    Example:
        >>> offsets_of("totals-0=17, totals-1=4")
        {'totals': {0: 17, 1: 4}}
    """
    found: dict[str, dict[int, int]] = {}
    for one in filter(None, (part.strip() for part in text.split(","))):
        place, _, offset = one.rpartition("=")
        topic, _, partition = place.rpartition("-")
        if not topic or not _is_number(partition) or not _is_number(offset):
            raise SqlError(
                f"Invalid value {text} for configuration {ANSWER_OFFSETS}",
                detail=f"{one!r} is not a topic partition with an offset.",
                hint=f"Write topic-partition=offset, separated by commas: {_FORM}.",
            )
        of_topic = found.setdefault(topic, {})
        of_topic[int(partition)] = max(int(offset), of_topic.get(int(partition), 0))
    return found


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < len(str(2**63))
