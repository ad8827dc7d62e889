"""Check that the marker topic of an application is its own, and keeps its last record.

Its name derives from the application's, so a user's topic may have the same name.
"""

import json
from collections.abc import Collection
from typing import Final

from duolog.engine.changelog.commit_topic import records_in
from duolog.engine.changelog.internal_topics import is_kept_by_age
from duolog.engine.client_options import client_options
from duolog.engine.errors import ChangelogMismatch
from duolog.engine.exactly_once.epochs import marker_topic
from duolog.engine.settings import EngineConfig
from duolog.engine.topics.topic_reader import TopicReader

_KEYS: Final = {"epoch", "owner"}
_LOOKED_AT: Final = 100


def is_marker(key: str, value: bytes) -> bool:
    """Return whether a record has the form that the kernel's `EpochMarkers` writes."""
    try:
        return key in _KEYS and isinstance(json.loads(value), dict)
    except (ValueError, RecursionError):
        return False


def ensure_is_marker(
    config: EngineConfig, topics: TopicReader, name: str, application_id: str
) -> None:
    """Raise ChangelogMismatch if the marker topic is used otherwise or deletes by age.

    Called before anything is written.

    Raises:
        BrokerUnreachable: no broker answers.
    """
    topic = marker_topic(name)
    partitions = topics.existing_partition_counts([topic]).get(topic)
    if partitions is None:
        return
    if partitions != 1:
        raise _not_its_own(
            topic, application_id, f"It has {partitions} partitions, but a marker topic has one."
        )
    policy = topics.cleanup_policies([topic]).get(topic, "compact")
    records = records_in(topic, client_options(config), application_id, records_max=_LOOKED_AT)
    if foreign := _foreign(records):
        raise _not_its_own(
            topic, application_id, f'It contains foreign records: one has the key "{foreign}".'
        )
    if is_kept_by_age(policy):
        raise ChangelogMismatch(
            f'internal topic "{topic}" has cleanup.policy={policy} instead of compact',
            query_id=application_id,
            detail="If the application is stopped for longer than the retention, the record of its "
            "last commit is deleted, and results could be written again.",
            hint=f"`duolog topics alter {topic} --config cleanup.policy=compact -b "
            f"{config.bootstrap_servers}`.",
        )


def _foreign(records: Collection[tuple[str, bytes]]) -> str | None:
    return next((key for key, value in records if not is_marker(key, value)), None)


def _not_its_own(topic: str, application_id: str, why: str) -> ChangelogMismatch:
    return ChangelogMismatch(
        f'topic "{topic}" is not the marker of application "{application_id}"',
        query_id=application_id,
        detail=f"{why} Exactly-once results need a topic of this name for the last commit.",
        hint="Use another application id, or rename that topic.",
    )
