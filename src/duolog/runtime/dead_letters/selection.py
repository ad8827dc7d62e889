"""Select letters of a topic.

All conditions must hold. Offsets, partitions and times also limit the part of the topic that is
read.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from duolog.runtime.dead_letters.letter import Letter

_ALL: Final[frozenset[int]] = frozenset()


@dataclass(frozen=True, slots=True)
class Selection:
    """Conditions on letters.

    Attributes:
        partitions: partitions of the dead-letter topic; empty for all.
        first: the first offset, in each partition.
        last: the last offset; None for no limit.
        since_ms: the lowest timestamp, included.
        until_ms: the lowest timestamp that is too late; None for no limit.
        reason: part of the class or the message of the error, in any case.
        query: id of the application or query, or name of the connector.
        source: the topic that the record was read from.
        replayed: True for replayed letters, False for others; None for both.
        hidden: ids of applications whose letters are left out.
    """

    partitions: frozenset[int] = _ALL
    first: int = 0
    last: int | None = None
    since_ms: int = 0
    until_ms: int | None = None
    reason: str = ""
    query: str = ""
    source: str = ""
    replayed: bool | None = None
    hidden: frozenset[str] = frozenset()

    def takes(self, letter: Letter, replayed: Mapping[int, frozenset[int]]) -> bool:
        """Return whether a letter is selected; `replayed` has the replayed offsets."""
        at = letter.record
        failure = letter.failure
        wanted = self.reason.casefold()
        done = at.offset in replayed.get(at.partition, _ALL)
        return (
            (not self.partitions or at.partition in self.partitions)
            and self.first <= at.offset
            and (self.last is None or at.offset <= self.last)
            and self.since_ms <= at.timestamp_ms
            and (self.until_ms is None or at.timestamp_ms < self.until_ms)
            and (wanted in failure.class_name.casefold() or wanted in failure.message.casefold())
            and self.query in ("", letter.query)
            and letter.query not in self.hidden
            and self.source in ("", letter.source.topic)
            and self.replayed in (None, done)
        )


@dataclass(slots=True)
class Counts:
    """Numbers of letters of one topic, and their ages.

    Attributes:
        oldest_ms: the lowest timestamp; None before the first letter.
    """

    letters: int = 0
    replayed: int = 0
    plain: int = 0
    """Records of the topic that are not dead letters."""
    oldest_ms: int | None = None
    newest_ms: int | None = None
    groups: dict[tuple[str, str, str, str], "Counts"] = field(default_factory=dict)
    """By writer, reason, query and source topic; empty in a group."""

    def add(self, letter: Letter, *, replayed: bool) -> None:
        """Count a letter, in the whole and in its group."""
        self._add(letter.record.timestamp_ms, replayed=replayed)
        group = (letter.writer, letter.reason, letter.query, letter.source.topic or "")
        self.groups.setdefault(group, Counts())._add(  # noqa: SLF001 - of the same class
            letter.record.timestamp_ms, replayed=replayed
        )

    def _add(self, timestamp_ms: int, *, replayed: bool) -> None:
        self.letters += 1
        self.replayed += replayed
        known = [] if self.oldest_ms is None or self.newest_ms is None else [self.oldest_ms]
        self.oldest_ms = min([timestamp_ms, *known])
        self.newest_ms = max(timestamp_ms, self.newest_ms or 0)
