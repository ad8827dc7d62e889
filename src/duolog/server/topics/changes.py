"""Creates, changes and deletes topics for the clients of a server.

    create    CREATE on the cluster or on the topic
    change    ALTER_CONFIGS on the topic; its number of partitions: ALTER
    delete    DELETE on the topic

Rights are checked before anything is revealed.

Threads: any; each call opens clients of its own.
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from duolog.runtime.browsing.cluster_topics import ClusterTopics
from duolog.security.authorization.operations import CLUSTER_NAME, Operation, ResourceType
from duolog.server.access.checks import Checks
from duolog.server.access.client import Right
from duolog.server.errors import RequestRefused
from duolog.server.topics.parameters import members, text_member, whole_member

if TYPE_CHECKING:
    from duolog.runtime.sql.service import SqlService

Json = dict[str, Any]
PARTITIONS_MAX: Final = 10_000
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,249}")
_CONFIGS_MAX: Final = 100
_TEXT_MAX: Final = 10_000


class NewTopicRequest(NamedTuple):
    """A topic to be created; `replication` -1 is the cluster's default."""

    name: str
    partitions: int
    replication: int
    configs: Mapping[str, str]


class ChangeRequest(NamedTuple):
    """Changes of a topic; None reverts a setting to the broker's value."""

    configs: Mapping[str, str | None]
    partitions: int | None
    dry_run: bool


def read_new_topic(body: bytes) -> NewTopicRequest:
    """Return the topic of `{"name", "partitions", "replication", "configs": {NAME: TEXT}}`.

    Raises:
        RequestRefused: the body is invalid.
    """
    given = members(body, {"name", "partitions", "replication", "configs"})
    name = text_member(given, "name")
    if not _NAME.fullmatch(name) or name in (".", ".."):
        raise RequestRefused(
            "A topic's name has 1 to 249 letters, digits, dots, underscores and hyphens"
        )
    configs = _configs(given)
    if (empty := next((one for one, value in configs.items() if value is None), None)) is not None:
        raise RequestRefused(f"'{empty}' has no value")
    partitions = whole_member(given, "partitions", 1, 1, PARTITIONS_MAX)
    replication = whole_member(given, "replication", -1, -1, 100)
    assert partitions is not None and replication is not None  # noqa: PT018 - for types
    return NewTopicRequest(
        name, partitions, replication, {one: value or "" for one, value in configs.items()}
    )


def read_change(body: bytes) -> ChangeRequest:
    """Return the change of `{"configs": {NAME: TEXT | null}, "partitions", "dryRun"}`.

    Raises:
        RequestRefused: the body is invalid.
    """
    given = members(body, {"configs", "partitions", "dryRun"})
    dry_run = given.get("dryRun", False)
    if not isinstance(dry_run, bool):
        raise RequestRefused("'dryRun' is neither true nor false")
    partitions = whole_member(given, "partitions", None, 1, PARTITIONS_MAX)
    configs = _configs(given)
    if not configs and partitions is None:
        raise RequestRefused("The body has neither 'configs' nor 'partitions'")
    return ChangeRequest(configs, partitions, dry_run)


def create(service: "SqlService", checks: Checks, wanted: NewTopicRequest) -> Json:
    """Create a topic.

    Raises:
        RequestRefused: the client may not.
        KafkaError: it exists, or the broker refuses.
    """
    if not checks.allowed(Operation.CREATE, ResourceType.CLUSTER, [CLUSTER_NAME]):
        checks.ensure([Right(Operation.CREATE, ResourceType.TOPIC, wanted.name)])
    topics = ClusterTopics(service.brokers)
    topics.create(wanted.name, wanted.partitions, wanted.replication, dict(wanted.configs))
    return {"name": wanted.name}


def change(service: "SqlService", checks: Checks, topic: str, wanted: ChangeRequest) -> Json:
    """Change a topic; raises as `create`."""
    rights = []
    if wanted.configs:
        rights.append(Right(Operation.ALTER_CONFIGS, ResourceType.TOPIC, topic))
    if wanted.partitions is not None:
        rights.append(Right(Operation.ALTER, ResourceType.TOPIC, topic))
    checks.ensure(rights)
    topics = ClusterTopics(service.brokers)
    topics.partitions(topic)
    if wanted.configs:
        topics.alter(topic, wanted.configs, dry_run=wanted.dry_run)
    if wanted.partitions is not None:
        topics.add_partitions(topic, wanted.partitions, dry_run=wanted.dry_run)
    return {"name": topic, "dryRun": wanted.dry_run}


def delete(service: "SqlService", checks: Checks, topic: str) -> Json:
    """Delete a topic; raises as `create`."""
    checks.ensure([Right(Operation.DELETE, ResourceType.TOPIC, topic)])
    ClusterTopics(service.brokers).delete(topic)
    return {"name": topic}


def _configs(given: Mapping[str, Any]) -> dict[str, str | None]:
    configs = given.get("configs", {})
    if not isinstance(configs, dict) or len(configs) > _CONFIGS_MAX:
        raise RequestRefused(f"'configs' is not an object with at most {_CONFIGS_MAX} members")
    for name, value in configs.items():
        if not (value is None or isinstance(value, str)) or len(value or "") > _TEXT_MAX:
            raise RequestRefused(f"The value of '{name[:100]}' is neither a text nor null")
    return configs
