"""The readers and records that a new schema breaks, as values and as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from duolog.registry.json_text import Json

Kind = Literal["stream", "table", "query", "topology", "group", "service"]


class Verdict(StrEnum):
    """The effect on a reader when records are written with the new schema."""

    SAFE = "safe"
    BREAKS = "breaks"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason of a verdict.

    Attributes:
        text: a sentence.
        path: the column or the place in the schema; empty if it is the whole schema.
    """

    text: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """The verdict about one reader of the subject.

    Attributes:
        kind: what reads.
        name: the name of the stream or table, or the id of the query, topology or group.
        reads: the topic that it reads, or the stream or table.
        service: the service id of the SQL engine; empty for others.
    """

    kind: Kind
    name: str
    reads: str
    verdict: Verdict
    reasons: tuple[Reason, ...] = ()
    service: str = ""

    def to_json(self) -> dict[str, Json]:
        """Return the object."""
        of_service = {"service": self.service} if self.service else {}
        return {
            "kind": self.kind,
            "name": self.name,
            **of_service,
            "reads": self.reads,
            "verdict": self.verdict.value,
            "reasons": [{"path": one.path, "text": one.text} for one in self.reasons],
        }


@dataclass(frozen=True, slots=True)
class BrokenRecord:
    """A record that a reader with the new schema cannot read."""

    topic: str
    partition: int
    offset: int
    reason: str

    def to_json(self) -> dict[str, Json]:
        """Return the object."""
        return {
            "topic": self.topic,
            "partition": self.partition,
            "offset": self.offset,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class Report:
    """The readers that a schema would break as the next version of a subject."""

    subject: str
    topics: tuple[str, ...]
    findings: tuple[Finding, ...] = ()
    records_read: Mapping[str, int] = field(default_factory=dict)
    """Number of records that were tried, by topic."""
    broken_records: tuple[BrokenRecord, ...] = ()
    unreadable_records: int = 0
    """Number of records that were not tried: their own schema cannot read them."""
    notes: tuple[str, ...] = ()
    """The parts of the cluster that could not be inspected."""

    @property
    def verdict(self) -> Verdict:
        """The worst verdict; a record that cannot be read breaks."""
        verdicts = {one.verdict for one in self.findings}
        if self.broken_records or Verdict.BREAKS in verdicts:
            return Verdict.BREAKS
        return Verdict.UNKNOWN if Verdict.UNKNOWN in verdicts or self.notes else Verdict.SAFE

    def to_json(self) -> dict[str, Json]:
        """Return the object."""
        return {
            "subject": self.subject,
            "verdict": self.verdict.value,
            "topics": list(self.topics),
            "readers": [one.to_json() for one in self.findings],
            "records": {
                "read": sum(self.records_read.values()),
                "broken": [one.to_json() for one in self.broken_records],
                "unreadable": self.unreadable_records,
            },
            "notes": list(self.notes),
        }


def breaks_or_safe(reasons: Sequence[Reason]) -> Verdict:
    """Return the verdict that reasons against a reader give."""
    return Verdict.BREAKS if reasons else Verdict.SAFE
