"""The topics that a query keeps an eye on while it runs: those that it reads and writes, and the changelogs of its stores."""

from duolog.engine.changelogs import changelogs_of
from duolog.engine.launch import Launcher
from duolog.engine.logged_checkpoint import LoggedCheckpoint
from duolog.engine.topic_ids import TopicWatch
from duolog.engine.topics import TopicReader
from duolog.plan.nodes import Plan


def watch_over(topics: TopicReader, launcher: Launcher, plan: Plan) -> TopicWatch:
    """Return what compares them with what they are now; asks for those that are written."""
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
    )
