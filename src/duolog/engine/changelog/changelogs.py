"""The changelogs of an application's stores: internal topics from which its state is restored.

    APPLICATION-STORE-changelog     each change of a store, one partition for each task; compacted
    APPLICATION-STORE-changelog-N   the same, created by an upgrade or for another number of tasks
    APPLICATION-commits             the commits: `commit_topic`

The kernel writes them (`Changelog`, `CommitTopic`), together with the results and in the same
order. If a checkpoint is deleted, `restore` recovers it from them.

Source: Kafka Streams' names (`ProcessorStateManager.storeChangelogTopic`) and settings of internal
topics (`UnwindowedUnversionedChangelogTopicConfig`). Unlike there, windows are removed by
tombstones, as stores remove their rows, and not by retention.
"""

import logging
from collections.abc import Collection, Mapping
from typing import Final

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from duolog.core.counts import counted
from duolog.core.units import MIB
from duolog.engine.checkpoint.generations import InternalTopics
from duolog.engine.client_options import client_options
from duolog.engine.errors import BrokerUnreachable, ChangelogMismatch
from duolog.engine.json_object import Json
from duolog.engine.jvm.masters import is_one_jvm
from duolog.engine.settings import FIRST_START, EngineConfig

logger: Final = logging.getLogger(__name__)

ENTRY_BYTES_MAX: Final = 16 * MIB
"""The maximum size of one entry of a store, for example an accumulator of many values."""
_SEGMENT_BYTES: Final = 50 * MIB
_COMPACTED: Final = {
    "cleanup.policy": "compact",
    "segment.bytes": str(_SEGMENT_BYTES),
    "max.message.bytes": str(ENTRY_BYTES_MAX),
}
_TIMEOUT_S: Final = 15.0


def commit_topic(name: str) -> str:
    """Return the commit topic of the application with this name in Kafka."""
    return f"{name}-commits"


def wants_changelogs(config: EngineConfig) -> bool:
    """Return whether the first start of an application should create changelogs.

    The default is yes on a cluster, whose executors may disappear together with their disks.
    """
    if config.changelog == "auto":
        return not is_one_jvm(config.master)
    return config.changelog in {"on", FIRST_START}


def with_changelogs(spec: Json, topics: InternalTopics) -> Json:
    """Return a spec whose stores have changelogs: additional sinks after its own."""
    known = spec["sinks"]
    logs = [
        {
            "id": len(known) + number,
            "topic": topics.changelog(store),
            "window_bytes": 0,
            "store": store,
        }
        for number, store in enumerate(spec["stores"])
    ]
    return spec | {"sinks": [*known, *logs]}


def changelogs_of(spec: Json) -> list[str]:
    """Return the changelog topics that a spec writes."""
    return [sink["topic"] for sink in spec["sinks"] if sink.get("store")]


def create_internal_topics(
    config: EngineConfig, spec: Json, commits: str, there: Mapping[str, int]
) -> None:
    """Create the missing internal topics of an application.

    `commits` is its commit topic; `there` has the partition counts of the topics that exist.

    Raises:
        ChangelogMismatch: the partition count of an existing topic differs from the number of
            tasks.
        BrokerUnreachable: no broker answers, or it refuses to create a topic.
    """
    tasks: int = spec["tasks"]
    wanted = dict.fromkeys(changelogs_of(spec), tasks)
    wanted[commits] = 1
    for name, partitions in wanted.items():
        if there.get(name, partitions) != partitions:
            raise ChangelogMismatch(
                f'internal topic "{name}" has {counted(there[name], "partition")} instead '
                f"of {partitions}",
                query_id=spec["application_id"],
                detail="A changelog has one partition for each task.",
                hint=f"`duolog state reset {spec['application_id']}` removes the topics of an "
                "earlier topology with this name.",
            )
    missing = [
        NewTopic(name, partitions, config=_COMPACTED)
        for name, partitions in wanted.items()
        if name not in there
    ]
    admin = AdminClient(
        client_options(config)
    )  # Kept alive until it has answered: closing it discards the answer.
    for name, made in admin.create_topics(missing).items() if missing else ():
        try:
            made.result(_TIMEOUT_S)
        except (KafkaException, TimeoutError) as error:
            told = error.args[0] if error.args else None
            if isinstance(told, KafkaError) and told.code() == KafkaError.TOPIC_ALREADY_EXISTS:
                continue
            raise BrokerUnreachable(
                f'internal topic "{name}" cannot be created',
                query_id=spec["application_id"],
                detail=f"{told or error}.",
            ) from error


def delete_internal_topics(config: EngineConfig, names: Collection[str]) -> bool:
    """Delete those of these unused topics that exist; return whether all are gone."""
    admin = AdminClient(client_options(config))
    gone = True
    for name, deleted in admin.delete_topics(list(names)).items() if names else ():
        try:
            deleted.result(_TIMEOUT_S)
        except (KafkaException, TimeoutError) as error:
            told = error.args[0] if error.args else None
            unknown = KafkaError.UNKNOWN_TOPIC_OR_PART
            if not isinstance(told, KafkaError) or told.code() != unknown:
                logger.warning("unused topic %s could not be deleted: %s", name, error)
                gone = False
    return gone
