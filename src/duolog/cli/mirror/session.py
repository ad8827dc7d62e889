"""Run a mirror: read the progress, plan, copy, verify, move groups, then apply topic settings.

    open     create the progress topic, register the producer (which ends an earlier mirror)
    wait     for open transactions of the source; not with --follow
    round    plan ─► copy ─► commit offsets of groups        repeated by --follow
    finish   verify ─► commit offsets of groups ─► settings  of the last round

Every step can be repeated: after a kill, the next run starts again from the progress topic.
"""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING, Final

from duolog.cli.errors import UNAVAILABLE, MirrorConflict, exit_status
from duolog.cli.kafka.cluster import Cluster
from duolog.cli.kafka.connection import LOST_S
from duolog.cli.kafka.topics import EARLIEST, Offsets, Place, read_metadata
from duolog.cli.mirror.committed_records import read_committed, read_ends
from duolog.cli.mirror.copier import Copier
from duolog.cli.mirror.foreign_records import ensure_unmixed
from duolog.cli.mirror.group_offsets import (
    Groups,
    MovedGroups,
    move_groups,
    read_committed_groups,
    translated,
)
from duolog.cli.mirror.open_transactions import (
    ensure_stable,
    open_ranges,
    read_high_watermarks,
    wait_until_stable,
)
from duolog.cli.mirror.plan import Plan, Planner, recreated
from duolog.cli.mirror.progress import Progress, checked_entry, progress_topic, topic_entry
from duolog.cli.mirror.target_topics import TargetTopics, moved
from duolog.cli.mirror.topic_ids import read_ids
from duolog.cli.mirror.verification import verify
from duolog.core.counts import counted
from duolog.core.errors import KafkaError

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

ROUND_S: Final = 1.0
"""The pause between two rounds of `follow`."""
_IDLE_S_MAX: Final = 10.0
"""Limit of the pause after a round without records, which is as long as the round took."""
GROUPS_S: Final = 10.0
"""The time between two commits of groups by `follow`: it takes a request for each group."""
_AGAIN: Final = frozenset({1, 3})
"""OFFSET_OUT_OF_RANGE and UNKNOWN_TOPIC_OR_PARTITION: the source changed after the plan."""


@dataclass(frozen=True, slots=True)
class Options:
    """The choices of the user."""

    topics: re.Pattern[str] | None = None
    groups: re.Pattern[str] | None = None
    replication_factor: int = -1


@dataclass(slots=True)
class Result:
    """The plan and the results of a run."""

    plan: Plan
    records: int = 0
    """The number of records copied by this run."""
    raised_timestamps: int = 0
    groups: MovedGroups = field(default_factory=MovedGroups)

    @property
    def gone(self) -> list[str]:
        """Topics that were deleted on the source before their copy was verified."""
        return [topic for topic, was_verified in self.plan.gone.items() if not was_verified]


class Mirror:
    """Copies from one cluster to another.

    Args:
        say: reports a step to the user.

    Raises:
        KafkaError: a cluster cannot be reached.
        MirrorConflict: source and target are the same cluster.
    """

    def __init__(
        self, source: Cluster, target: Cluster, options: Options, say: Callable[[str], None]
    ) -> None:
        self.progress = Progress()
        self._source, self._target, self._options, self._say = source, target, options, say
        self._connect()
        source_id = str(read_metadata(self._source_client, source).cluster_id)
        there = read_metadata(self._target_client, target)
        if source_id == str(there.cluster_id):
            raise MirrorConflict(
                "source and target are the same cluster",
                detail=f"Cluster id {source_id}.",
                hint="Name the cluster to copy to with --to.",
            )
        self._topic = progress_topic(source_id)
        self._is_known = self._topic in there.topics
        self._copier: Copier | None = None
        self._lost_at: float | None = None
        self._said: set[str] = set()
        self._unmixed: set[Place] = set()
        """Partitions of the target that had no records of other programs when first planned."""

    def _connect(self) -> None:
        """Create clients, which know nothing yet of the leaders of partitions."""
        self._source_client: AdminClient = self._source.admin()
        self._target_client: AdminClient = self._target.admin()
        self._planner = Planner(
            (self._source_client, self._source),
            (self._target_client, self._target),
            self._options.topics,
            self._options.replication_factor,
        )
        self._topics = TargetTopics(
            self._target_client, self._target, self._options.replication_factor
        )
        self._is_connected = True

    def plan(self) -> Plan:
        """Return what a run would do; change nothing. Raises as `run`."""
        if self._is_known:
            self.progress = self._read_progress()
        return self._checked_plan()

    def open_offsets(self, plan: Plan) -> dict[Place, int]:
        """Return the number of offsets of each partition that open transactions hold back."""
        ends = {place: end for topic in plan.topics for place, end in topic.ends.items()}
        wanted = read_high_watermarks(self._source_client, self._source, list(ends))
        return {place: end - ends[place] for place, end in open_ranges(ends, wanted).items()}

    def groups(self) -> Groups:
        """Return the groups that a run would move."""
        return read_committed_groups(self._source_client, self._source, self._options.groups)

    def run(self, stopping: Event) -> Result:
        """Copy everything up to the present ends, verify it, and move groups and settings.

        Raises:
            MirrorConflict: records of the target would be mixed with others.
            MirrorIncomplete: records could not be copied; `Result` has those lost before.
            MirrorMismatch: the verification failed.
            KafkaError: a cluster refuses or cannot be reached.
        """
        self._open()
        try:
            client, source = self._source_client, self._source
            wanted = read_high_watermarks(client, source, self._planner.places())
            wait_until_stable(client, source, wanted, stopping, self._say)
            groups = self.groups()
            result = self._copy(stopping)
            if not stopping.is_set():
                ends = {at: end for topic in result.plan.topics for at, end in topic.ends.items()}
                ensure_stable(ends, {at: end for at, end in wanted.items() if at in ends})
                self._finish(result, groups)
                self._report_new(ends)
        finally:
            self._close()
        return result

    def follow(self, stopping: Event) -> None:
        """Copy until `stopping` is set; groups follow after each round. Raises as `run`.

        If a cluster becomes unavailable, start again from the progress for up to `LOST_S`.
        """
        while not stopping.is_set():
            try:
                self._follow(stopping)
            except KafkaError as error:
                is_passing = exit_status(error) == UNAVAILABLE or error.code in _AGAIN
                if not is_passing or self._is_lost_too_long():
                    raise
                self._say_once(f"{error.message}; retrying for {LOST_S:.0f} s")
                stopping.wait(ROUND_S)
                self._is_connected = False

    def _follow(self, stopping: Event) -> None:
        if not self._is_connected:
            self._connect()
        self._open()
        groups_at = time.monotonic()
        try:
            while not stopping.is_set():
                began_at = time.monotonic()
                is_due = began_at >= groups_at
                groups = self.groups() if is_due else {}
                result = self._copy(stopping, reads_settings=False)
                self._lost_at = None
                if result.records:
                    self._say(f"copied {counted(result.records, 'record')}")
                if is_due and not stopping.is_set():
                    self._move_groups(result, groups, {}, is_complete=False)
                    groups_at = time.monotonic() + GROUPS_S
                took_s = 0.0 if result.records else time.monotonic() - began_at
                stopping.wait(min(max(ROUND_S, took_s), _IDLE_S_MAX))
        finally:
            self._close()

    def _is_lost_too_long(self) -> bool:
        now = time.monotonic()
        if self._lost_at is None:
            self._lost_at = now
        return now - self._lost_at >= LOST_S

    def lost(self, result: Result) -> dict[Place, list[tuple[int, int]]]:
        """Return the offsets that the source deleted before they were copied, in any run."""
        return {
            place: found
            for topic in result.plan.topics
            for place in topic.places
            if (found := self.progress.partition(place).lost)
        }

    def rows(self, result: Result) -> Iterator[dict[str, object]]:
        """Yield the state of each partition after a run."""
        for topic in result.plan.topics:
            for place in topic.places:
                at = self.progress.partition(place)
                yield {
                    "topic": topic.topic,
                    "partition": place[1],
                    "records": at.checked[0],
                    "checksum": f"{at.checked[1]:08x}",
                    "source_offset": topic.ends[place],
                    "target_offset": at.target_end,
                }

    def _open(self) -> None:
        if not self._is_known:
            self._checked_plan()  # Refuse before anything is created.
            self._topics.create_progress(self._topic)
            self._is_known = True
        self.progress = Progress()
        target = self._target_client, self._target
        copier = Copier(self._source, target, self.progress, self._topic)
        # Only now: a mirror that was still running could have committed until here.
        self.progress.replay_all(self._entries())
        self._topics.ensure_keeps_progress(self._topic)
        self._copier = copier

    def _close(self) -> None:
        if self._copier is not None:
            self._copier.close()
            self._copier = None

    def _checked_plan(self, *, reads_settings: bool = True) -> Plan:
        plan = self._planner.plan(self.progress, reads_settings=reads_settings)
        nexts = {
            place: at
            for topic in plan.topics
            for place, at in topic.target_nexts.items()
            if topic.action == "copy" and (topic.is_new_copy or place not in self._unmixed)
        }
        ensure_unmixed(self._target_client, self._target, nexts)
        # From now on, the copier checks that they stay unmixed.
        self._unmixed |= set(nexts)
        return plan

    def _copy(self, stopping: Event, *, reads_settings: bool = True) -> Result:
        """Copy one round."""
        assert self._copier is not None
        plan = self._checked_plan(reads_settings=reads_settings)
        result = Result(plan)
        self._report(plan)
        for topic in plan.to_copy:
            self._topics.prepare(topic, self.progress, self._copier.store)
        starts = {place: at for topic in plan.to_copy for place, at in topic.starts.items()}
        ends = {place: at for topic in plan.to_copy for place, at in topic.ends.items()}
        last_copied = {at: of for topic in plan.to_copy for at, of in topic.last_copied.items()}
        result.records = self._copier.copy(starts, ends, last_copied, stopping)
        result.raised_timestamps = self._copier.raised_timestamps
        return result

    def _report(self, plan: Plan) -> None:
        for name, owner in sorted(plan.left_out.items()):
            self._say_once(f'left out internal topic "{name}" of {owner}')
        for note in plan.notes():
            self._say_once(note)

    def _report_new(self, ends: Offsets) -> None:
        """Report what the source received during the run."""
        now = read_high_watermarks(self._source_client, self._source, list(ends))
        if count := sum(now[place] - end for place, end in ends.items()):
            self._say(
                f"the source has {counted(count, 'new offset')} since the run started; "
                f"run the same command "
                "again to copy them"
            )

    def _say_once(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self._say(text)

    def _finish(self, result: Result, groups: Groups) -> None:
        assert self._copier is not None
        copied = result.plan.to_copy
        places = [place for topic in copied for place in topic.places]
        if places:
            self._say(
                f"verifying {counted(len(places), 'partition')} of {counted(len(copied), 'topic')}"
            )
        self._ensure_same_topics(result.plan)
        ends = verify(self._target_client, self._target, self.progress, places)
        self._ensure_same_topics(result.plan)
        self._move_groups(result, groups, ends, is_complete=True)
        for topic in copied:
            # From now on, this topic may be compacted: it is not verified again.
            entries = [
                checked_entry(place, ends[place], self.progress.partition(place))
                for place in topic.places
            ]
            entry = topic_entry(topic.topic, moved(topic, self.progress, settled=False))
            self._copier.store([*entries, entry])
        for topic in result.plan.topics:
            if not self.progress.topics[topic.topic].settled:
                self._topics.settle(topic, self.progress, self._copier.store)

    def _ensure_same_topics(self, plan: Plan) -> None:
        """Ensure that no topic was deleted and created again since it was planned.

        Raises:
            MirrorConflict: one was.
            KafkaError: one was deleted.
        """
        names = [topic.topic for topic in plan.topics]
        here = read_ids(self._source_client, self._source, names)
        there = read_ids(self._target_client, self._target, names)
        for topic in plan.topics:
            known = self.progress.topics[topic.topic]
            if here[topic.topic] != topic.source_id:
                raise recreated(
                    topic.topic, f"Its id was {topic.source_id} and is {here[topic.topic]}."
                )
            if there[topic.topic] != known.target_id:
                raise MirrorConflict(
                    f'topic "{topic.topic}" of the target was deleted and created again while it '
                    "was being copied",
                    detail=f"Its id was {known.target_id} and is {there[topic.topic]}.",
                    hint="Run the same command again: it copies the topic from the beginning.",
                )

    def _move_groups(
        self, result: Result, groups: Groups, verified: Offsets, *, is_complete: bool
    ) -> None:
        assert self._copier is not None
        ends: dict[Place, int] = {
            place: verified.get(place, self.progress.partition(place).target_end)
            for topic in result.plan.topics
            for place in topic.places
        }
        wanted = {
            group: offsets
            for group, committed in groups.items()
            if (offsets := translated(self.progress, committed, ends, is_complete=is_complete))
        }
        result.groups = move_groups(
            self._target_client, self._target, self.progress, wanted, self._copier.store
        )

    def _read_progress(self) -> Progress:
        progress = Progress()
        progress.replay_all(self._entries())
        return progress

    def _entries(self) -> list[tuple[str, str]]:
        place = (self._topic, 0)
        with self._target.errors("read the progress of the mirror"):
            start = read_ends(self._target_client, self._target, [place], EARLIEST)[place]
            end = read_ends(self._target_client, self._target, [place])[place]
            return [
                (_text(message.key()), _text(message.value()))
                for records in read_committed(self._target, {place: (start, end)})
                for _, message in records
            ]


def _text(content: bytes | str | None) -> str:
    return content.decode() if isinstance(content, bytes) else content or ""
