"""Create the target's topics, give them settings, and claim them in the progress.

    prepare   create ─► settings while records are copied ─► claim
    settle    settings of the source ─► note it

Both can be repeated after a kill at any point: it leaves at most an empty topic, which the next run
claims.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from duolog.cli.errors import MirrorConflict
from duolog.cli.kafka.cluster import Cluster
from duolog.cli.kafka.topics import read_metadata
from duolog.cli.mirror.plan import TopicPlan, other_partitions
from duolog.cli.mirror.progress import (
    CONFIGS,
    Entry,
    Progress,
    TopicProgress,
    lost_entry,
    read_entry,
    reset_entry,
    topic_entry,
)
from duolog.cli.mirror.topic_ids import read_ids
from duolog.cli.mirror.topic_settings import read_settings, set_settings
from duolog.core.counts import counted
from duolog.core.errors import KafkaError

Store = Callable[[Iterable[Entry]], None]
_ALREADY_EXISTS: Final = 36
_POLICY_VIOLATION: Final = 44


class TargetTopics:
    """The topics of one target."""

    def __init__(self, client: AdminClient, target: Cluster, replication_factor: int) -> None:
        self._client, self._target = client, target
        self._replication_factor = replication_factor

    def create_progress(self, topic: str) -> None:
        """Create the progress topic; it may exist.

        Raises:
            KafkaError: the target refuses.
        """
        self._create(topic, 1, CONFIGS)

    def ensure_keeps_progress(self, topic: str) -> None:
        """Ensure that the progress topic deletes nothing but replaced records.

        Raises:
            MirrorConflict: it may already have lost some.
        """
        found = read_settings(self._client, self._target, [topic])[topic].get("cleanup.policy")
        count = self._partitions(topic)
        if (found, count) != ("compact", 1):
            raise MirrorConflict(
                f'topic "{topic}" of the target cannot store the progress of a mirror',
                detail=f"It has {counted(count, 'partition')} and "
                f"cleanup.policy={found or 'delete'}, "
                "instead of one and compact. It may have lost records.",
                hint="Delete it and the topics that were copied, and run the same command again.",
            )

    def prepare(self, plan: TopicPlan, progress: Progress, store: Store) -> None:
        """Give a topic its partitions and the settings while records are copied; then claim it.

        Raises:
            KafkaError: the target refuses.
            MirrorConflict: another program has created it with other partitions.
        """
        known = progress.topics.get(plan.topic)
        if plan.is_new_copy:
            store([reset_entry(plan.topic)])
        elif (
            known is not None
            and not known.moved
            and known.partitions == len(plan.ends)
            and plan.target_id is not None
            and not plan.partitions_missing
        ):
            store(_lost(plan, progress))
            return  # An earlier round or run has prepared it.
        if plan.target_id is not None or not self._create(
            plan.topic, len(plan.ends), plan.while_copying
        ):
            self._extend(plan)
            set_settings(self._client, self._target, plan.topic, plan.while_copying)
        target_id = read_ids(self._client, self._target, [plan.topic])[plan.topic]
        claim = TopicProgress(plan.source_id, target_id, len(plan.ends))
        # From now on, offsets that the source deletes are missed.
        starts = [
            read_entry(place, at)
            for place, at in plan.starts.items()
            if progress.partition(place).read_to < 0
        ]
        store([topic_entry(plan.topic, claim), *starts, *_lost(plan, progress)])

    def settle(self, plan: TopicPlan, progress: Progress, store: Store) -> None:
        """Give a topic the settings that it has on the source.

        Raises:
            KafkaError: the target refuses.
        """
        set_settings(
            self._client, self._target, plan.topic, plan.settings, unset=plan.while_copying
        )
        store([topic_entry(plan.topic, moved(plan, progress, settled=True))])

    def _create(self, topic: str, partitions: int, settings: Mapping[str, str]) -> bool:
        """Return whether the topic was created; it may exist."""
        new = NewTopic(topic, partitions, self._replication_factor, config=dict(settings))
        try:
            with self._target.errors(f'create topic "{topic}"'):
                self._target.first_result(self._client.create_topics([new]).values())
        except KafkaError as error:
            # Another program was faster, or a request without an answer was repeated.
            if error.code == _ALREADY_EXISTS:
                return False
            if error.code == _POLICY_VIOLATION:
                error.hint = (
                    f"Create the topic on the target with {counted(partitions, 'partition')} "
                    f"{' '.join(f'{name}={value}' for name, value in settings.items())}, and run "
                    "the same command again."
                )
            raise
        return True

    def _extend(self, plan: TopicPlan) -> None:
        """Add the partitions that an existing topic lacks."""
        topic, wanted = plan.topic, len(plan.ends)
        there = self._partitions(topic)
        if there < wanted and plan.partitions_missing:
            with self._target.errors(f'add partitions to topic "{topic}"'):
                new = [NewPartitions(topic, wanted)]
                self._target.first_result(self._client.create_partitions(new).values())
        elif there != wanted:
            raise other_partitions(topic, there, wanted)

    def _partitions(self, topic: str) -> int:
        return len(read_metadata(self._client, self._target, topic).topics[topic].partitions)


def moved(plan: TopicPlan, progress: Progress, *, settled: bool) -> TopicProgress:
    """Return the entry of a topic that was copied and verified."""
    return TopicProgress(
        plan.source_id,
        progress.topics[plan.topic].target_id,
        len(plan.ends),
        moved=True,
        settled=settled,
        ends=tuple(plan.ends[place] for place in plan.places),
    )


def _lost(plan: TopicPlan, progress: Progress) -> list[Entry]:
    return [
        lost_entry(place, [*progress.partition(place).lost, offsets])
        for place, offsets in plan.lost.items()
    ]
