"""Restart an application from scratch if a change does not match its state.

    checkpoint and internal topics     deleted, as by `duolog state reset`
    result topics                      deleted; the start recreates them
    input topics                       kept

Only on the broker that the command starts: on another cluster, others may read the results.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from duolog.cli.kafka import clients

if TYPE_CHECKING:
    from duolog.plan.nodes.plan import Plan
    from duolog.runtime.application import Application

_TIMEOUT_S = 30.0


class FreshStart:
    """Deletes the state and results of applications in one data directory."""

    def __init__(self, directory: Path, bootstrap_servers: str) -> None:
        self._directory = directory
        self._bootstrap_servers = bootstrap_servers
        self._results: dict[str, set[str]] = {}
        """Application id → result topics of all plans that have run in this process."""

    def note(self, application: "Application") -> None:
        """Remember the topics that an application writes; a later version may write other ones."""
        self._results.setdefault(application.application_id, set()).update(
            results_of(application.plan)
        )

    def clear(self, application: "Application") -> list[str]:
        """Delete the state and results of a stopped application; return the deleted topics.

        Raises:
            CheckpointInUse: it is running in another process.
            KafkaError: a topic cannot be deleted.
        """
        # Imported late to keep `duolog run --help` fast.
        from duolog.engine.settings import EngineConfig  # noqa: PLC0415
        from duolog.runtime.orphaned_topics import find_orphaned_topics  # noqa: PLC0415
        from duolog.runtime.states import KeptState  # noqa: PLC0415

        self.note(application)
        kept = KeptState(application.checkpoint_dir)
        kept.ensure_stopped()
        admin = clients.admin(self._bootstrap_servers, {})
        with clients.kafka_errors("list its topics", self._bootstrap_servers):
            there = set(admin.list_topics(timeout=_TIMEOUT_S).topics)
        config = EngineConfig(self._bootstrap_servers, self._directory / "checkpoints")
        left = find_orphaned_topics(config, application.application_id, there)
        results = self._results[application.application_id]
        read = {topic for topic in results if is_read(application.plan, topic)}
        wanted = {*kept.internal_topics, *left.internal_topics, *(results - read)}
        topics = sorted(wanted & there)
        with clients.kafka_errors("delete its topics", self._bootstrap_servers):
            for future in admin.delete_topics(topics).values() if topics else ():
                future.result(_TIMEOUT_S)
        kept.remove()
        return topics


def results_of(plan: "Plan") -> set[str]:
    """Return the topics that a plan writes and does not read."""
    topics = {topic for sink in plan.sinks for topic in sink.topics}
    return {topic for topic in topics if not is_read(plan, topic)}


def is_read(plan: "Plan", topic: str) -> bool:
    return any(source.reads_topic(topic) for source in plan.sources)
