"""Run a mirror: read the progress, plan, copy, verify, move groups, then apply topic settings.

    open     create the progress topic, register the producer (which ends an earlier mirror)
    round    plan ─► copy ─► commit offsets of groups        repeated by --follow
    finish   verify ─► commit offsets of groups ─► settings  of the last round

Every step can be repeated: after a kill, the next run starts again from the progress topic.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from threading import Event
from typing import Final

from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from duolog.cli.errors import UNAVAILABLE, MirrorConflict, exit_status
from duolog.cli.kafka.cluster import Cluster
from duolog.cli.kafka.connection import LOST_S
from duolog.cli.kafka.topics import EARLIEST, Offsets, Place, read_metadata
from duolog.cli.mirror.committed_records import read_committed, read_ends
from duolog.cli.mirror.copier import Copier
from duolog.cli.mirror.group_offsets import (
    Groups,
    MovedGroups,
    move_groups,
    read_committed_groups,
    translated,
)
from duolog.cli.mirror.plan import Plan, Planner, TopicPlan
from duolog.cli.mirror.progress import (
    CONFIGS,
    Progress,
    TopicProgress,
    checked_entry,
    progress_topic,
    reset_entry,
    topic_entry,
)
from duolog.cli.mirror.topic_settings import set_settings
from duolog.cli.mirror.verification import ensure_unmixed, verify
from duolog.core.errors import KafkaError

ROUND_S: Final = 1.0
"""The pause between two rounds of `follow`."""
_ALREADY_EXISTS: Final = 36


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
        )
        self._is_connected = True

    def plan(self) -> Plan:
        """Return what a run would do; change nothing. Raises as `run`."""
        if self._is_known:
            self.progress = self._read_progress()
        return self._checked_plan()

    def groups(self) -> Groups:
        """Return the groups that a run would move."""
        return read_committed_groups(self._source_client, self._source, self._options.groups)

    def run(self, stopping: Event) -> Result:
        """Copy everything up to the present ends, verify it, and move groups and settings.

        Raises:
            MirrorConflict: records of the target would be mixed with others.
            MirrorMismatch: the verification failed.
            KafkaError: a cluster refuses or cannot be reached.
        """
        self._open()
        try:
            groups = self.groups()
            result = self._copy(stopping)
            if not stopping.is_set():
                self._finish(result, groups)
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
                if exit_status(error) != UNAVAILABLE or self._is_lost_too_long():
                    raise
                self._say_once(f"{error.message}; retrying for {LOST_S:.0f} s")
                stopping.wait(ROUND_S)
                self._is_connected = False

    def _follow(self, stopping: Event) -> None:
        if not self._is_connected:
            self._connect()
        self._open()
        try:
            while not stopping.is_set():
                groups = self.groups()
                result = self._copy(stopping)
                self._move_groups(result, groups, {})
                self._lost_at = None
                if result.records:
                    self._say(f"copied {result.records} record(s)")
                stopping.wait(ROUND_S)
        finally:
            self._close()

    def _is_lost_too_long(self) -> bool:
        now = time.monotonic()
        if self._lost_at is None:
            self._lost_at = now
        return now - self._lost_at >= LOST_S

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
            self._create(self._topic, 1, CONFIGS)
            self._is_known = True
        self.progress = Progress()
        copier = Copier(self._source, self._target, self.progress, self._topic)
        # Only now: a mirror that was still running could have committed until here.
        self.progress.replay_all(self._entries())
        self._copier = copier

    def _close(self) -> None:
        if self._copier is not None:
            self._copier.close()
            self._copier = None

    def _checked_plan(self) -> Plan:
        plan = self._planner.plan(self.progress)
        places = {
            place
            for topic in plan.topics
            for place in topic.places
            if topic.action == "copy" and not topic.partitions_missing
        }
        ensure_unmixed(
            self._target_client, self._target, self.progress, sorted(places - self._unmixed)
        )
        self._unmixed |= places
        return plan

    def _copy(self, stopping: Event) -> Result:
        """Copy one round."""
        assert self._copier is not None
        plan = self._checked_plan()
        result = Result(plan)
        self._report(plan)
        for topic in plan.to_copy:
            self._prepare(topic)
        starts = {place: at for topic in plan.to_copy for place, at in topic.starts.items()}
        ends = {place: at for topic in plan.to_copy for place, at in topic.ends.items()}
        result.records = self._copier.copy(starts, ends, stopping)
        result.raised_timestamps = self._copier.raised_timestamps
        return result

    def _report(self, plan: Plan) -> None:
        for (topic, number), (copied, low) in sorted(plan.deleted.items()):
            self._say_once(
                f'partition {number} of topic "{topic}": the source deleted offsets {copied} to '
                f"{low - 1} before they were copied"
            )
        for name, owner in sorted(plan.left_out.items()):
            self._say_once(f'left out internal topic "{name}" of {owner}')
        for of in plan.topics:
            for name, reason in of.refused.items():
                self._say_once(
                    f'topic "{of.topic}": the target does not accept setting {name}: {reason}'
                )

    def _say_once(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self._say(text)

    def _prepare(self, plan: TopicPlan) -> None:
        """Give a topic its partitions and the settings while records are copied; then claim it.

        In this order, a kill in between leaves at most an empty topic, which the next run claims.
        """
        assert self._copier is not None
        claim = TopicProgress(plan.source_id, len(plan.ends))
        if plan.is_new_copy:
            self._copier.store([reset_entry(plan.topic)])
        elif self.progress.topics.get(plan.topic) == claim and not plan.partitions_missing:
            return  # An earlier round or run has prepared it.
        if plan.action == "create":
            self._create(plan.topic, len(plan.ends), plan.while_copying)
        else:
            if plan.partitions_missing:
                with self._target.errors(f'add partitions to topic "{plan.topic}"'):
                    new = [NewPartitions(plan.topic, len(plan.ends))]
                    self._target.first_result(self._target_client.create_partitions(new).values())
            set_settings(self._target_client, self._target, plan.topic, plan.while_copying)
        self._copier.store([topic_entry(plan.topic, claim)])

    def _create(self, topic: str, partitions: int, settings: Mapping[str, str]) -> None:
        new = NewTopic(topic, partitions, self._options.replication_factor, config=dict(settings))
        try:
            with self._target.errors(f'create topic "{topic}"'):
                futures = self._target_client.create_topics([new])
                self._target.first_result(futures.values())
        except KafkaError as error:
            # A request without an answer is repeated, and may have succeeded.
            if error.code != _ALREADY_EXISTS:
                raise

    def _finish(self, result: Result, groups: Groups) -> None:
        assert self._copier is not None
        copied = result.plan.to_copy
        places = [place for topic in copied for place in topic.places]
        if places:
            self._say(f"verifying {len(places)} partition(s) of {len(copied)} topic(s)")
        ends = verify(self._target_client, self._target, self.progress, places)
        self._move_groups(result, groups, ends)
        for topic in copied:
            # From now on, this topic may be compacted: it is not verified again.
            entries = [
                checked_entry(place, ends[place], self.progress.partition(place))
                for place in topic.places
            ]
            self._copier.store([*entries, topic_entry(topic.topic, _moved(topic, settled=False))])
        for topic in result.plan.topics:
            if not self.progress.topics[topic.topic].settled:
                self._settle(topic)

    def _settle(self, topic: TopicPlan) -> None:
        """Give a topic the settings that it has on the source."""
        assert self._copier is not None
        set_settings(
            self._target_client,
            self._target,
            topic.topic,
            topic.settings,
            unset=topic.while_copying,
        )
        self._copier.store([topic_entry(topic.topic, _moved(topic, settled=True))])

    def _move_groups(self, result: Result, groups: Groups, verified: Offsets) -> None:
        assert self._copier is not None
        ends: dict[Place, int] = {
            place: verified.get(place, self.progress.partition(place).target_end)
            for topic in result.plan.topics
            for place in topic.places
        }
        wanted = {
            group: offsets
            for group, committed in groups.items()
            if (offsets := translated(self.progress, committed, ends))
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


def _moved(topic: TopicPlan, *, settled: bool) -> TopicProgress:
    return TopicProgress(
        topic.source_id,
        len(topic.ends),
        moved=True,
        settled=settled,
        ends=tuple(topic.ends[place] for place in topic.places),
    )


def _text(content: bytes | str | None) -> str:
    return content.decode() if isinstance(content, bytes) else content or ""
