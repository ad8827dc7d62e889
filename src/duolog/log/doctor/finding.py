"""A finding of the doctor, and the list that checks add theirs to."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from duolog.log.files.disk import Disk


class Severity(StrEnum):
    """The consequence of a finding."""

    DAMAGE = "damage"
    """Bytes are gone or changed that no other file determines."""
    REBUILDABLE = "rebuildable"
    """The content follows from other files; a repair writes it again."""
    NOTE = "note"
    """Nothing is wrong: the next start completes or ignores it."""


@dataclass(frozen=True, slots=True)
class Place:
    """The part of a data directory that a finding is about; `path` is relative to it."""

    path: str
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None
    position: int | None = None


@dataclass(frozen=True, slots=True)
class Repair:
    """A change that makes a finding go away; `action` says what it does, as an imperative."""

    action: str
    apply: Callable[[Disk], None]


@dataclass(frozen=True, slots=True)
class Finding:
    """A fact about a data directory, and the repair if there is one."""

    severity: Severity
    place: Place
    problem: str
    repair: Repair | None = None


class Findings:
    """The findings so far, in the order in which they were made."""

    def __init__(self) -> None:
        self._found: list[Finding] = []

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def damage(self, place: Place, problem: str) -> None:
        self._found.append(Finding(Severity.DAMAGE, place, problem))

    def rebuildable(self, place: Place, problem: str, repair: Repair) -> None:
        self._found.append(Finding(Severity.REBUILDABLE, place, problem, repair))

    def note(self, place: Place, problem: str) -> None:
        self._found.append(Finding(Severity.NOTE, place, problem))

    def add(self, finding: Finding) -> None:
        self._found.append(finding)
