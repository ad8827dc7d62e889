"""The topics that a query checks while it runs: sources, results, and changelogs of its stores."""

import contextlib
from collections.abc import Collection

from duolog.engine.changelog.changelogs import changelogs_of
from duolog.engine.changelog.logged_checkpoint import LoggedCheckpoint
from duolog.engine.checkpoint.checkpoint import Checkpoint
from duolog.engine.checkpoint.topic_ids import TopicWatch, rewrite_changelogs_hint
from duolog.engine.checkpoint.truncation_watch import TruncationWatch
from duolog.engine.errors import CheckpointDamaged
from duolog.engine.query.launch.launcher import Launcher
from duolog.engine.topics.topic_reader import TopicReader
from duolog.plan.nodes import Plan


def log_watch(
    topics: TopicReader, checkpoint: Checkpoint, changelogs: Collection[str], *, of_sql: bool
) -> TruncationWatch:
    """Return the watch that compares positions with the logs of sources and changelogs.

    Changelogs have a partition for each task.
    """
    internal = dict.fromkeys(changelogs, checkpoint.pinned_tasks() or 0)
    return TruncationWatch(
        topics, checkpoint.directory, internal, rewrite_changelogs_hint(of_sql=of_sql)
    )


def ensure_logs_whole(
    topics: TopicReader, checkpoint: Checkpoint, sources: Collection[str], *, of_sql: bool
) -> None:
    """Compare the positions in a checkpoint with the logs of `sources` and of its changelogs.

    Raises:
        LogTruncated: a log has lost records that were read.
        BrokerUnreachable, SourceTopicMissing: no broker answers, or a topic is missing.
        CheckpointDamaged: the stored marks cannot be read.
    """
    planned = checkpoint.planned_positions()
    positions = {topic: at for topic, at in planned.items() if topic in sources}
    _changelog_watch(topics, checkpoint, of_sql=of_sql).ensure_whole(positions)


def ensure_changelogs_whole(topics: TopicReader, checkpoint: Checkpoint, *, of_sql: bool) -> None:
    """Compare a lost checkpoint with its changelogs, as far as it is left.

    Raises as `ensure_logs_whole`.
    """
    with contextlib.suppress(CheckpointDamaged):  # Treated as if nothing was stored.
        _changelog_watch(topics, checkpoint, of_sql=of_sql).ensure_whole({})


def _changelog_watch(
    topics: TopicReader, checkpoint: Checkpoint, *, of_sql: bool
) -> TruncationWatch:
    held = [*LoggedCheckpoint(checkpoint).topic_ids()] if checkpoint.has_changelogs else []
    there = topics.existing_partition_counts(held) if held else {}
    return log_watch(topics, checkpoint, there, of_sql=of_sql)


def watch_over(topics: TopicReader, launcher: Launcher, plan: Plan) -> TopicWatch:
    """Return the watch that compares the ids of topics; requests the ids of result topics."""
    checkpoint, changelogs = launcher.checkpoint, changelogs_of(launcher.spec)
    written = topics.topic_ids(topic for sink in plan.sinks for topic in sink.topics)
    known = LoggedCheckpoint(checkpoint).topic_ids() if changelogs else {}
    return TopicWatch(
        checkpoint.topic_ids(),
        topics.topic_ids,
        launcher.application_id,
        written,
        {topic: known.get(topic, "") for topic in changelogs},
        topics.gone,
        of_sql=bool(launcher.config.internal_prefix),
        sources=launcher.partition_counts,
        logs=log_watch(
            topics, checkpoint, changelogs, of_sql=bool(launcher.config.internal_prefix)
        ),
    )
