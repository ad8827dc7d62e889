"""What an application has left in Kafka, where nothing on this disk tells of it: its internal topics.

Its topic of commits says what they are called. By their names alone nothing is taken for its own: topics of an application
"totals-2", and of people, begin like those of one that is called "totals".
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from duolog.engine.changelogs import commit_topic
from duolog.engine.commit_topic import CommitTopic, records_in
from duolog.engine.epochs import marker_topic
from duolog.engine.errors import CheckpointInUse
from duolog.engine.marker_topic import is_marker
from duolog.engine.settings import EngineConfig
from duolog.runtime.metrics.local_registry import list_applications
from duolog.runtime.states import internal_topics


@dataclass(frozen=True, slots=True)
class OrphanedTopics:
    """What one application has left."""

    internal_topics: list[str]
    """Those that exist."""
    source_topics: list[str]
    """What it has read, as far as that is known."""


def find_orphaned_topics(
    config: EngineConfig, application_id: str, there: Collection[str]
) -> OrphanedTopics:
    """Return what an application has left; `there` are the topics that exist.

    Raises:
        BrokerUnreachable: no broker answers in time.
    """
    fixed: list[Mapping[str, Any]] = []
    if commit_topic(application_id) in there:
        fixed += CommitTopic(config, application_id).read_applications()
    # Each upgrade has named some anew, and may have been struck before it had removed those before.
    names = dict.fromkeys(name for of in fixed for name in internal_topics(application_id, of))
    if not fixed and _marks_epochs(config, application_id, there):
        names = dict.fromkeys([marker_topic(application_id)])
    sources = fixed[-1].get("topics", {}) if fixed else {}
    return OrphanedTopics([name for name in names if name in there], sorted(sources))


def ensure_runs_nowhere(application_id: str) -> None:
    """Raise CheckpointInUse where a process of this user runs the application, with whatever data directory."""
    for other in list_applications():
        if other["application_id"] == application_id:
            raise CheckpointInUse(
                f'application "{application_id}" runs in another process',
                query_id=application_id,
                detail=f"Process {other['pid']} runs it, with a checkpoint that is not among those looked at.",
                hint="Stop it first; --data says where its checkpoint is.",
            )


def _marks_epochs(config: EngineConfig, application_id: str, there: Collection[str]) -> bool:
    """Tell whether there is a marker of results exactly once: an application without changelogs has it, too."""
    topic = marker_topic(application_id)
    if topic not in there:
        return False
    options = {**config.client_options, "log_level": 0}
    options["bootstrap.servers"] = config.bootstrap_servers
    records = records_in(topic, options, application_id)
    return bool(records) and all(is_marker(key, value) for key, value in records)
