"""What a start has to do with the changelogs of an application: begin them, or have its state come back from them.

first start        topics are made, and what it has fixed is kept outside of the checkpoint
each other start   the setting is compared, and that no topic is missing
checkpoint lost    what was fixed is put back, and `restore` fills the stores
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from duolog.engine.changelog.changelogs import (
    changelogs_of,
    commit_topic,
    create_internal_topics,
    delete_internal_topics,
    wants_changelogs,
    with_changelogs,
)
from duolog.engine.changelog.commit_topic import Committed, CommitTopic, Kept
from duolog.engine.changelog.internal_topics import ensure_compacted, ensure_same, ensure_there
from duolog.engine.changelog.logged_checkpoint import LoggedCheckpoint
from duolog.engine.checkpoint.checkpoint import Checkpoint
from duolog.engine.checkpoint.checkpoint_files import last_commit
from duolog.engine.checkpoint.generations import BEFORE_ALL, InternalTopics, held_topics
from duolog.engine.checkpoint.shape_difference import first_difference
from duolog.engine.errors import CheckpointMismatch
from duolog.engine.exactly_once.epochs import marker_topic
from duolog.engine.exactly_once.fencing import fence
from duolog.engine.lowering.rows import Json
from duolog.engine.settings import EngineConfig
from duolog.engine.topics.topic_reader import TopicReader


@dataclass(frozen=True, slots=True)
class LoggedState:
    """The changelogs of one application, as its starts see them. Threads: one at a time."""

    config: EngineConfig
    topics: TopicReader
    checkpoint: Checkpoint
    application_id: str

    @property
    def commits(self) -> CommitTopic:
        return CommitTopic(self.config, self.application_id)

    @property
    def is_wanted(self) -> bool:
        """Whether a first start begins changelogs."""
        return wants_changelogs(self.config)

    def lost(self, *, forced: bool = False) -> Kept | None:
        """Return what a checkpoint that is lost or damaged comes back to; None where nothing can come back.

        `forced` asks for one that is whole, too.

        Raises:
            BrokerUnreachable: no broker answers.
            CheckpointDamaged: what is kept outside of the checkpoint cannot be read.
        """
        if LoggedCheckpoint(self.checkpoint).is_whole() and not forced:
            return None
        name = commit_topic(self.config.internal_prefix + self.application_id)
        if not self.topics.existing_partition_counts([name]):
            return None
        kept = self.commits.read()
        return None if kept is None or kept.committed.offsets is None else kept

    def put_back(self, kept: Kept) -> Committed:
        """Begin a restore: what a start needs to know stands in the checkpoint again, the rest is put aside.

        Return the generation that the restore writes in.

        Raises:
            CheckpointMismatch: the changelogs were written by another Duolog.
            CheckpointNotWritable: nothing can be written to the checkpoint.
            BrokerUnreachable: no broker answers.
        """
        was = kept.committed
        begun = replace(
            was, generation=was.generation + 1, epoch=BEFORE_ALL, generations=was.all_generations
        )
        LoggedCheckpoint(self.checkpoint).begin_restore(
            kept.application, begun.generation, begun.generations
        )
        self.commits.write_start(begun)
        return begun

    def ensure_same_setting(self) -> None:
        """Raise CheckpointMismatch where the setting says otherwise than the first start."""
        wanted, checkpoint = self.config.changelog, self.checkpoint
        if wanted == "auto" or checkpoint.pinned_tasks() is None:
            return
        if checkpoint.has_changelogs != (wanted == "on"):
            has = "has had changelogs" if wanted == "off" else "has had no changelogs"
            raise CheckpointMismatch(
                f'the stores of application "{self.application_id}" cannot change to state.changelog={wanted}',
                query_id=self.application_id,
                detail=f"It {has} since its first start: a changelog that begins later, or has a gap, could not "
                "bring the state back.",
                hint="Leave the setting out to go on as before, or start it under another application id.",
            )

    def ensure_restores(self, kept: Kept, shape: Json, *, from_others: bool = False) -> None:
        """Raise where state cannot come back to a topology of this shape. Before anything is put back: what is there stays as it is.

        `from_others`: from changelogs of other ids than before, too, as somebody says that they are whole.

        Raises:
            CheckpointMismatch: the changelogs are those of another topology.
            ChangelogMismatch: one of them is missing, or not kept whole.
            BrokerUnreachable: no broker answers.
        """
        difference = first_difference(kept.application["shape"], shape)
        if difference:
            raise CheckpointMismatch(
                f'the changelogs of application "{self.application_id}" are those of another topology',
                query_id=self.application_id,
                detail=f"{difference} Its checkpoint is lost or cannot be read, and they are what its state comes back from.",
                hint="Start it once as it was, or `duolog state restore` with that file, and upgrade it then. "
                f"`duolog state reset {self.application_id}` begins anew from the source topics.",
            )
        log = kept.application["changelog"]
        names = InternalTopics.of(self.application_id, log)
        changelogs = [names.changelog(store) for store in kept.application["shape"]["stores"]]
        held, known = held_topics(log, changelogs, ()), {} if from_others else log.get("ids", {})
        self._ensure_whole(changelogs, held, known, has_state=False)

    def fenced(self, kept: Kept, shape: Json, *, from_others: bool = False) -> Kept:
        """Shut out whoever writes results exactly once, wait for the last transaction, and return what is kept by then.

        Raises:
            BrokerUnreachable, CheckpointMismatch, ChangelogMismatch: as `ensure_restores`.
        """
        name = self.config.internal_prefix + self.application_id
        if not self.topics.existing_partition_counts([marker_topic(name)]):
            return kept
        fence(self.config, name, self.application_id)
        now = self.commits.read()
        assert now is not None, "it was read before"
        self.ensure_restores(now, shape, from_others=from_others)
        return now

    def _ensure_whole(
        self,
        changelogs: Sequence[str],
        held: Sequence[str],
        known: Mapping[str, str],
        *,
        has_state: bool,
    ) -> Mapping[str, int]:
        """Raise where internal topics lack entries, or would; return the partitions of those that exist.

        `held` are those that have had entries, `known` their ids; `has_state` says whether the checkpoint has what they lack.
        """
        there = self.topics.existing_partition_counts([*changelogs, self.commits.name])
        of_sql = bool(self.config.internal_prefix)
        ensure_there(self.application_id, held, there, has_state=has_state, of_sql=of_sql)
        compared = {topic: known[topic] for topic in held if topic in known}
        found = self.topics.topic_ids(compared)
        ensure_same(self.application_id, compared, found, has_state=has_state, of_sql=of_sql)
        policies = self.topics.cleanup_policies(there)
        ensure_compacted(self.application_id, policies, self.config.bootstrap_servers)
        return there

    def begin(self, spec: Json, *, is_restored: bool) -> Json:
        """Return the spec with the changelogs of its stores, if they have any; make the topics that are missing.

        Raises:
            ChangelogMismatch: a topic is another application's, or one that held entries is missing or not kept whole.
            CheckpointMismatch: something was committed under this name that the checkpoint does not know of.
            BrokerUnreachable: no broker answers, or it refuses one.
        """
        if not self.checkpoint.has_changelogs:
            return spec
        logged, commits = LoggedCheckpoint(self.checkpoint), self.commits
        spec = with_changelogs(spec, logged.name_topics(spec["stores"]))
        changelogs = changelogs_of(spec)
        is_upgrade = self.checkpoint.spark_dir_before_upgrade is not None
        is_new = last_commit(self.checkpoint.spark_dir) is None and not (is_restored or is_upgrade)
        held = [] if is_new else logged.held_topics(changelogs)
        known = {} if is_restored else logged.topic_ids()
        there = self._ensure_whole(changelogs, held, known, has_state=True)
        before = commits.read() if is_new and commits.name in there else None
        if before is not None:
            self._ensure_begins(before.committed)
        create_internal_topics(self.config, spec, commits.name, there)
        logged.note_made(changelogs, self.topics.topic_ids(changelogs))
        if before is not None:
            logged.skip_generations(before.committed)
        self.keep_content()
        return spec

    def _ensure_begins(self, before: Committed) -> None:
        """Raise CheckpointMismatch where something was committed under this name, which a first start would write over."""
        if before.offsets is not None:
            raise CheckpointMismatch(
                f'application "{self.application_id}" has committed something that its new checkpoint does not know of',
                query_id=self.application_id,
                detail=f'Topic "{self.commits.name}" tells of commit {before.number}, and this was to be a first start. '
                f"Checkpoint: {self.checkpoint.directory}.",
                hint="Start it once more: its state comes back from its changelogs. "
                f"`duolog state reset {self.application_id}` begins anew from the source topics.",
            )

    def keep_content(self) -> None:
        """Keep what the first start fixed outside of the checkpoint, too.

        Raises:
            BrokerUnreachable: no broker answers.
        """
        content = self.checkpoint.content()
        assert content is not None, "it was pinned"
        self.commits.write_application(content)


def begin_generation(config: EngineConfig, checkpoint: Checkpoint) -> Committed:
    """Tell that a query starts on a checkpoint with changelogs: what was committed before it, and that this counts; return that.

    Raises:
        CheckpointNotWritable: nothing can be written to the checkpoint.
        BrokerUnreachable: no broker answers.
    """
    logged = LoggedCheckpoint(checkpoint)
    begun = logged.begin_generation()
    CommitTopic(config, checkpoint.directory.name).write_start(begun)
    checkpoint.settle_upgrade()
    # Told by now: who restores it needs none of them.
    dropped = logged.dropped_topics()
    if dropped and delete_internal_topics(config, dropped):
        logged.forget_dropped_topics()
    return begun
