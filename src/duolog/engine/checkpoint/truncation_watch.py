"""Detect truncated logs: compare them with stored positions, at each start and later.

    position > end of its log              truncated
    leader epoch or last record differs    truncated, then extended past the position
    else                                   the position and its current facts are the next mark

Positions are stored outside of their logs by Spark's log of offsets (for sources, including those
of global tables) and by the state, which contains all of its changelogs. Records that the broker
has lost would be skipped silently: new records get offsets that the application has already read.

Thread rule: one.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from duolog.engine.checkpoint.position_marks import NOTHING, Marks, read_marks, write_marks
from duolog.engine.errors import LogTruncated
from duolog.engine.topics.offsets import EndOffsets, LogEnd
from duolog.engine.topics.record_checks import UNKNOWN, Mark
from duolog.engine.topics.record_sampler import Position
from duolog.engine.topics.topic_client import GLANCE_S, TIMEOUT_S
from duolog.engine.topics.topic_reader import TopicReader

_SHOWN_MAX: Final = 5


@dataclass(slots=True)
class TruncationWatch:
    """Detects truncated logs of one application: of its source topics and internal topics."""

    topics: TopicReader
    directory: Path
    internal: Mapping[str, int] = field(default_factory=dict)
    """The number of partitions of each changelog."""
    anew: str = ""
    """The hint that describes how to rewrite changelogs."""
    glance_s: float = GLANCE_S
    """The timeout of the broker requests that check a running query."""
    _kept: Marks | None = None
    """The content of the file; None before it was read."""
    _read: Marks = NOTHING
    """The positions that the running query has read, which may be ahead of the committed ones."""

    @property
    def application_id(self) -> str:
        return self.directory.name

    def ensure_whole(self, positions: EndOffsets) -> None:
        """Compare everything stored with the logs; `positions` are those at which sources continue.

        Raises:
            LogTruncated: a log has lost records that were read.
            BrokerUnreachable, SourceTopicMissing: no broker answers, or a topic is missing.
            CheckpointDamaged: the stored marks cannot be read.
        """
        kept, topics = self._marks(), [*positions, *self.internal]
        ids = self.topics.topic_ids(topics)
        marks = {
            at: Mark(offset)
            for topic, offsets in positions.items()
            for at, offset in (((topic, number), of) for number, of in offsets.items())
        }
        self._ensure(marks, self._ends(marks))
        # Another check reports a missing changelog by its name.
        there = set(topics) - set(self.topics.gone(self.internal) if self.internal else ())
        noted = kept.within(there, ids)
        self._ensure(noted, self._ends(noted), look_at=noted)

    def look(self, read: EndOffsets, committed: EndOffsets, topic_ids: Mapping[str, str]) -> None:
        """Compare the marks of the last call with the logs, and store new ones.

        Raises:
            LogTruncated: a log has lost records that were read.
            BrokerUnreachable, SourceTopicMissing: no broker answers, or a topic is missing.
            CheckpointDamaged, CheckpointNotWritable: the marks cannot be read or written.
        """
        topics = [*read, *self.internal]
        kept = self._marks()
        before = self._read.within(topics, topic_ids)
        noted = kept.within(topics, topic_ids)
        # Collected before the ends are requested, so that an end is never older than a position.
        asked = {**{(t, n): 0 for t, of in read.items() for n in of}, **before, **noted}
        ends = self._ends(asked, self.glance_s)
        # Without new records read, a truncated log cannot have been extended past the position
        # unnoticed.
        moved = {
            at
            for at, mark in before.items()
            if read[at[0]].get(at[1], mark.position) != mark.position
        }
        self._ensure(before, ends, look_at=moved)
        self._ensure({at: mark for at, mark in noted.items() if before.get(at) != mark}, ends)
        # Keep an id that a broker did not report in time this time.
        ids = {**kept.topic_ids, **{topic: of for topic, of in topic_ids.items() if of}}
        self._read = Marks(self._mark(read, ends, before), ids)
        now = {**self._mark(committed, ends, self._read.of), **self._ends_of_internal()}
        if now and (now != noted or ids != kept.topic_ids):
            self._kept = Marks(now, ids)
            write_marks(self.directory, self._kept)

    def _marks(self) -> Marks:
        if self._kept is None:
            self._kept = read_marks(self.directory)
        return self._kept

    def _ends(
        self, of: Collection[Position], timeout_s: float = TIMEOUT_S
    ) -> dict[Position, LogEnd]:
        return self.topics.log_ends(of, committed=False, timeout_s=timeout_s)

    def _ends_of_internal(self) -> dict[Position, Mark]:
        wanted = [(topic, n) for topic, count in self.internal.items() for n in range(count)]
        ends = self.topics.log_ends(wanted, committed=True, timeout_s=self.glance_s)
        return {at: Mark(end.offset, end.leader_epoch) for at, end in ends.items()}

    def _mark(
        self, positions: EndOffsets, ends: Mapping[Position, LogEnd], known: Mapping[Position, Mark]
    ) -> dict[Position, Mark]:
        """Return marks of positions, with their last records; marks that are `known` are reused."""
        found: dict[Position, Mark] = {}
        for topic, offsets in positions.items():
            for number, offset in offsets.items():
                at = (topic, number)
                epoch = ends[at].leader_epoch if at in ends else UNKNOWN
                before = known.get(at)
                if before is not None and before.position == offset:
                    found[at] = replace(before, leader_epoch=epoch)
                else:
                    found[at] = Mark(offset, epoch)
        unknown = {
            at: mark.position
            for at, mark in found.items()
            if mark.position and mark.record == UNKNOWN
        }
        for at, last in self.topics.looks.last_before(unknown).items():
            found[at] = replace(
                found[at], record=last.offset, record_epoch=last.leader_epoch, digest=last.digest
            )
        return found

    def _ensure(
        self,
        marks: Mapping[Position, Mark],
        ends: Mapping[Position, LogEnd],
        look_at: Collection[Position] = (),
    ) -> None:
        """Raise LogTruncated for marks that do not match.

        Records are read if the leader epoch differs, and for positions in `look_at`.
        """
        here = {at: mark for at, mark in marks.items() if at in ends}
        wrong = {
            at: f"ends at offset {ends[at].offset}, but was read up to offset {mark.position}"
            for at, mark in here.items()
            if mark.position > ends[at].offset
        }
        if not wrong:
            doubtful = {
                at: mark
                for at, mark in here.items()
                if _can_be_compared(mark)
                and (at in look_at or mark.leader_epoch != ends[at].leader_epoch)
            }
            changed = self.topics.looks.changed(self._still_there(doubtful))
            # Records that retention deleted meanwhile are missing, too.
            still_there = self._still_there({at: marks[at] for at in changed})
            wrong = {
                at: f"was read up to offset {marks[at].position}: {changed[at]}"
                for at in still_there
            }
        if wrong:
            raise self._truncated(wrong)

    def _still_there(self, marks: Mapping[Position, Mark]) -> dict[Position, Mark]:
        """Return the marks whose records may still exist: retention deletes older ones."""
        begins = self.topics.log_begins(marks)
        return {at: mark for at, mark in marks.items() if begins.get(at, 0) <= _offset(mark)}

    def _truncated(self, wrong: Mapping[Position, str]) -> LogTruncated:
        (topic, _), application_id = min(wrong), self.application_id
        is_internal = topic in self.internal
        told = [f"Partition {at[1]} {of}." for at, of in sorted(wrong.items()) if at[0] == topic]
        more = len(told) - _SHOWN_MAX
        detail = " ".join(told[:_SHOWN_MAX]) + (
            f" The same holds for {more} more." if more > 0 else ""
        )
        if self._kept is not None and not self._kept.knows_id(topic):
            detail += " Or the topic was deleted and created again: its id was unknown."
        reset = (
            f"`duolog state reset {application_id}` makes the next start compute everything again "
            "from the topics."
        )
        if is_internal:
            return LogTruncated(
                f'changelog "{topic}" of application "{application_id}" has lost records',
                query_id=application_id,
                detail=f"{detail} State that is restored from it would lack them.",
                hint=f"Restore the broker's data. {self.anew} {reset}".replace("  ", " "),
            )
        return LogTruncated(
            f'source topic "{topic}" has lost records that application "{application_id}" has read',
            query_id=application_id,
            detail=f"{detail} New records with offsets below that would be skipped.",
            hint=f"Restore the broker's data. If the records are lost for good: {reset}",
        )


def _offset(mark: Mark) -> int:
    return mark.position if mark.record == UNKNOWN else mark.record


def _can_be_compared(mark: Mark) -> bool:
    return mark.position > 0 and (mark.record != UNKNOWN or mark.leader_epoch != UNKNOWN)
