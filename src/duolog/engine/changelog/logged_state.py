"""Create the changelogs of an application at its first start, and restore its state from them.

first start        create the topics, and store the fixed facts outside of the checkpoint
each later start   compare the setting, and check that no topic is missing
checkpoint lost    bring back the fixed facts; `restore` fills the stores
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
from duolog.engine.changelog.commit_topic import Committed, CommitTopic, StoredCommits
from duolog.engine.changelog.internal_topics import ensure_compacted, ensure_same, ensure_there
from duolog.engine.changelog.logged_checkpoint import LoggedCheckpoint
from duolog.engine.checkpoint.checkpoint import Checkpoint
from duolog.engine.checkpoint.checkpoint_files import last_commit
from duolog.engine.checkpoint.generations import BEFORE_ALL, InternalTopics, held_topics
from duolog.engine.checkpoint.shape_difference import first_difference
from duolog.engine.errors import ChangelogsDiffer, CheckpointMismatch
from duolog.engine.exactly_once.epochs import marker_topic
from duolog.engine.exactly_once.fencing import fence
from duolog.engine.json_object import Json
from duolog.engine.settings import FIRST_START, EngineConfig
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
        """True if a first start creates changelogs."""
        return wants_changelogs(self.config)

    def lost(self, *, forced: bool = False) -> StoredCommits | None:
        """Return what restores a lost or damaged checkpoint; None if there is nothing to restore.

        `forced` requests it for an intact checkpoint, too. A checkpoint of a SQL query is also lost
        if the query has run elsewhere since: another server has continued from its changelogs.

        Raises:
            BrokerUnreachable: no broker answers.
            CheckpointDamaged: the content outside of the checkpoint cannot be parsed.
        """
        logged = LoggedCheckpoint(self.checkpoint)
        is_whole = logged.is_whole()
        if is_whole and not forced and not self._may_be_outdated:
            return None
        name = commit_topic(self.config.internal_prefix + self.application_id)
        if not self.topics.existing_partition_counts([name]):
            return None
        kept = self.commits.read()
        if kept is None or kept.committed.offsets is None:
            return None
        # A start counts its generation in the checkpoint first, and then in the topic.
        is_outdated = is_whole and kept.committed.generation > logged.generation
        return kept if forced or is_outdated or not is_whole else None

    @property
    def _may_be_outdated(self) -> bool:
        """True if another process may have continued from the changelogs of this checkpoint."""
        return bool(self.config.internal_prefix) and self.checkpoint.has_changelogs

    def put_back(self, kept: StoredCommits) -> Committed:
        """Begin a restore: put the fixed facts back into the checkpoint, and set the rest aside.

        Returns the generation in which the restore writes.

        Raises:
            CheckpointMismatch: another version of Duolog wrote the changelogs.
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
        """Raise CheckpointMismatch if the setting contradicts the first start."""
        wanted, checkpoint = self.config.changelog, self.checkpoint
        if wanted in {"auto", FIRST_START} or checkpoint.pinned_tasks() is None:
            return
        if checkpoint.has_changelogs != (wanted == "on"):
            has = "has had changelogs" if wanted == "off" else "has had no changelogs"
            raise CheckpointMismatch(
                f'the stores of application "{self.application_id}" cannot change to '
                f"state.changelog={wanted}",
                query_id=self.application_id,
                detail=f"It {has} since its first start: a changelog that starts later, or has a "
                "gap, could not restore the state.",
                hint="Remove the setting to continue as before, or use another application id.",
            )

    def ensure_restores(
        self, kept: StoredCommits, shape: Json, *, from_others: bool = False
    ) -> None:
        """Raise if state cannot be restored to a topology of this shape.

        Called first, so that a refusal changes nothing.
        `from_others` also accepts changelogs with other ids than before, because the user states
        that they are complete.

        Raises:
            ChangelogsDiffer: the changelogs belong to another topology.
            ChangelogMismatch: a changelog is missing or incomplete.
            BrokerUnreachable: no broker answers.
        """
        difference = first_difference(kept.application["shape"], shape)
        if difference:
            raise ChangelogsDiffer(
                f'the changelogs of application "{self.application_id}" belong to another topology',
                query_id=self.application_id,
                detail=f"{difference} Its checkpoint is lost or damaged, and its state would be "
                "restored from them.",
                hint="Start it once as it was, or run `duolog state restore` with that file, then "
                f"upgrade it. `duolog state reset {self.application_id}` starts again from the "
                "source topics.",
            )
        log = kept.application["changelog"]
        names = InternalTopics.of(self.application_id, log)
        changelogs = [names.changelog(store) for store in kept.application["shape"]["stores"]]
        held, known = held_topics(log, changelogs, ()), {} if from_others else log.get("ids", {})
        self._ensure_whole(changelogs, held, known, has_state=False)

    def fenced(
        self, kept: StoredCommits, shape: Json, *, from_others: bool = False
    ) -> StoredCommits:
        """Fence writers of exactly-once results, and return the content after the last transaction.

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
        """Raise if internal topics lack entries, or will; return their partition counts.

        `held` are those that have had entries, `known` their ids; `has_state` says whether the
        checkpoint has what they lack.
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
        """Return the spec with the changelogs of its stores, and create the missing topics.

        Raises:
            ChangelogMismatch: a topic belongs to another application, or one that held entries is
                missing or incomplete.
            CheckpointMismatch: something was committed under this name that the checkpoint does not
                know of.
            BrokerUnreachable: no broker answers, or it refuses to create a topic.
        """
        if not self.checkpoint.has_changelogs:
            return spec
        logged, commits = LoggedCheckpoint(self.checkpoint), self.commits
        spec = with_changelogs(spec, logged.name_topics(spec["stores"]))
        changelogs = changelogs_of(spec)
        is_upgrade = self.checkpoint.upgrade.spark_dir_before is not None
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
        """Raise CheckpointMismatch if a first start would overwrite commits of the same name."""
        if before.offsets is not None:
            raise CheckpointMismatch(
                f'application "{self.application_id}" has commits that its new checkpoint does not '
                "contain",
                query_id=self.application_id,
                detail=f'Topic "{self.commits.name}" contains commit {before.number}, but this is '
                "a first start. "
                f"Checkpoint: {self.checkpoint.directory}.",
                hint="Start it again: its state is restored from its changelogs. "
                f"`duolog state reset {self.application_id}` starts again from the source topics.",
            )

    def keep_content(self) -> None:
        """Store the facts fixed by the first start outside of the checkpoint, too.

        Raises:
            BrokerUnreachable: no broker answers.
        """
        content = self.checkpoint.file.content()
        assert content is not None, "it was pinned"
        self.commits.write_application(content)


def begin_generation(config: EngineConfig, checkpoint: Checkpoint) -> Committed:
    """Record that a query starts on a checkpoint with changelogs; return the last commit.

    Raises:
        CheckpointNotWritable: nothing can be written to the checkpoint.
        BrokerUnreachable: no broker answers.
    """
    logged = LoggedCheckpoint(checkpoint)
    begun = logged.begin_generation()
    CommitTopic(config, checkpoint.directory.name).write_start(begun)
    checkpoint.upgrade.settle()
    # The new names are recorded now, so a restore needs none of the dropped topics.
    dropped = logged.dropped_topics()
    if dropped and delete_internal_topics(config, dropped):
        logged.forget_dropped_topics()
    return begun
