"""How fresh an answer is, and how fresh it must be.

    ksql.query.pull.consistency = latest        each topic is read to its end, as it was when asked
    ksql.query.pull.consistency = snapshot      all topics are read to one moment, at which no
                                                transaction was open in them
    ksql.query.pull.staleness.ms.max = 500      records of the last 500 ms may be missing
    ksql.query.pull.offsets.min = totals-0=17   wait until record 16 of totals-0 is in the rows

An answer states the offsets that it includes in the same form: what one client has read, another
can ask for. ADR 0131 has the guarantees.
"""

from collections.abc import Iterable, Mapping
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

SNAPSHOT: Final = "snapshot"
DEFAULT_WAIT_S: Final = 30.0
_FORM: Final = "totals-0=17,totals-1=4"

Offsets = Mapping[str, Mapping[int, int]]
"""By topic and partition, the offset of the first record that is not included."""


@dataclass(frozen=True, slots=True)
class Freshness:
    """The records that an answer includes.

    `age_ms` is the time since the latest moment for which all committed records are known to be
    included; None if that was never known.
    """

    offsets: Offsets
    age_ms: float | None

    def __str__(self) -> str:
        return offsets_text(self.offsets)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Requirements on the freshness of an answer."""

    staleness_ms_max: int = 0
    offsets_min: Offsets = field(default_factory=dict)
    snapshot: bool = False
    wait_s: float = DEFAULT_WAIT_S
    """Time limit for offsets that do not exist yet, and for a moment without transactions."""


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
    )


def offsets_text(offsets: Offsets) -> str:
    """Write offsets, sorted by topic and partition.

    Example:
        >>> offsets_text({"totals": {1: 4, 0: 17}})
        'totals-0=17,totals-1=4'
    """
    return ",".join(
        f"{topic}-{partition}={offset}"
        for topic, of_topic in sorted(offsets.items())
        for partition, offset in sorted(of_topic.items())
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


def together(all_offsets: Iterable[Offsets]) -> Offsets:
    """Return the offsets of several topics."""
    return {topic: of for offsets in all_offsets for topic, of in offsets.items()}


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < len(str(2**63))
