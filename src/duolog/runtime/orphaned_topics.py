"""Find an application's internal topics when its local checkpoint is gone.

Its commit topic has their names. Names alone are not enough: topics of an application "totals-2",
and topics of users, may start like those of "totals".
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from duolog.engine.changelog.changelogs import commit_topic
from duolog.engine.changelog.commit_topic import CommitTopic, is_commit, records_in
from duolog.engine.changelog.marker_topic import is_marker
from duolog.engine.client_options import client_options
from duolog.engine.errors import CheckpointInUse
from duolog.engine.exactly_once.epochs import marker_topic
from duolog.engine.settings import EngineConfig
from duolog.runtime.metrics.local_registry import list_applications
from duolog.runtime.states import Fixed, internal_topics

_FIRST_RECORDS: Final = 100


@dataclass(frozen=True, slots=True)
class OrphanedTopics:
    """Topics of an application without a checkpoint."""

    internal_topics: list[str]
    """Those that exist."""
    source_topics: list[str]
    """Its source topics, if known."""


def find_orphaned_topics(
    config: EngineConfig, application_id: str, there: Collection[str]
) -> OrphanedTopics:
    """Return the topics that an application has left; `there` are the existing topics.

    Raises:
        BrokerUnreachable: no broker answers in time.
    """
    fixed: list[Fixed] = []
    if commit_topic(application_id) in there:
        fixed += CommitTopic(config, application_id).read_applications()
    # Upgrades rename topics, and may have been interrupted before the old ones were deleted.
    names = dict.fromkeys(name for of in fixed for name in internal_topics(application_id, of))
    if not fixed and _marks_epochs(config, application_id, there):
        names = dict.fromkeys([marker_topic(application_id)])
    sources = fixed[-1].get("topics", {}) if fixed else {}
    return OrphanedTopics([name for name in names if name in there], sorted(sources))


def is_internal(config: EngineConfig, topic: str) -> bool:
    """Return whether a topic with one partition starts like a commit or marker topic.

    Reads only its first records: users' topics may have such names and be large.

    Raises:
        BrokerUnreachable: no broker answers in time.
    """
    records = records_in(topic, client_options(config), topic, records_max=_FIRST_RECORDS)
    return bool(records) and all(is_commit(key) or is_marker(key, value) for key, value in records)


def ensure_not_running(application_id: str) -> None:
    """Raise CheckpointInUse if a process of this user runs the application, with any data dir."""
    for other in list_applications():
        if other["application_id"] == application_id:
            raise CheckpointInUse(
                f'application "{application_id}" runs in another process',
                query_id=application_id,
                detail=f"Process {other['pid']} runs it, with a checkpoint in another directory.",
                hint="Stop it first, or pass its data directory with --data.",
            )


def _marks_epochs(config: EngineConfig, application_id: str, there: Collection[str]) -> bool:
    """Return true if there is a marker topic.

    Exactly-once applications without changelogs have one too.
    """
    topic = marker_topic(application_id)
    if topic not in there:
        return False
    records = records_in(topic, client_options(config), application_id)
    return bool(records) and all(is_marker(key, value) for key, value in records)
