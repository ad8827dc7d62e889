"""Lists and describes topics, as far as the client may see them.

    list        DESCRIBE on the topic; its cleanup policy: DESCRIBE_CONFIGS; its format: READ;
                sizes on disk: DESCRIBE on the cluster
    describe    DESCRIBE; its settings: DESCRIBE_CONFIGS

The server itself asks, with its own rights.

Threads: any; each call opens clients of its own.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from duolog.runtime.browsing.cluster_topics import ClusterTopics, Config, Replicas
from duolog.runtime.browsing.samples import newest_of
from duolog.security.authorization.operations import CLUSTER_NAME, Operation, ResourceType
from duolog.server.access.checks import Checks
from duolog.server.access.client import Right
from duolog.server.topics.browsing import decoder_of
from duolog.server.topics.parameters import ensure_known, flag, number
from duolog.server.topics.selections import Filters

if TYPE_CHECKING:
    from duolog.runtime.sql.service import SqlService

Json = dict[str, Any]
_LISTED: Final = 100
_LISTED_MAX: Final = 500
_SAMPLE_S: Final = 3.0
_POLICY: Final = "cleanup.policy"
_MAY: Final = {
    "read": Operation.READ,
    "write": Operation.WRITE,
    "delete": Operation.DELETE,
    "alter": Operation.ALTER,
    "alterConfigs": Operation.ALTER_CONFIGS,
}


class Asked(NamedTuple):
    """The topics that a client asks for.

    Attributes:
        search: a part of their names, in any case.
        after: the name after which to begin.
        formats: guess formats by a record.
    """

    search: str
    internal: bool
    after: str
    limit: int
    formats: bool


def read_asked(given: Mapping[str, str]) -> Asked:
    """Return what a query string asks for; raises RequestRefused if it is invalid."""
    ensure_known(given, {"search", "internal", "after", "limit", "formats"})
    return Asked(
        given.get("search", "").casefold(),
        flag(given, "internal"),
        given.get("after", ""),
        number("limit", given.get("limit"), _LISTED, 1, _LISTED_MAX),
        flag(given, "formats"),
    )


def is_internal(topic: str) -> bool:
    """Return whether a topic belongs to a service, not to users.

    Example:
        >>> is_internal("__consumer_offsets"), is_internal("_schemas"), is_internal("orders")
        (True, True, False)
    """
    return topic.startswith("_")


class Topics:
    """The topics of a server's cluster, for one client."""

    def __init__(self, service: "SqlService", checks: Checks) -> None:
        self._service = service
        self._checks = checks

    def listed(self, asked: Asked) -> Json:
        """Return a page of topics, by name.

        Raises:
            KafkaError: the broker does not answer.
        """
        topics = ClusterTopics(self._service.brokers)
        found = topics.names()
        seen = sorted(self._allowed(Operation.DESCRIBE, found))
        shown = [name for name in seen if asked.internal or not is_internal(name)]
        named = [name for name in shown if asked.search in name.casefold()]
        rest = [name for name in named if name > asked.after]
        page = rest[: asked.limit]
        chosen = {name: found[name] for name in page}
        figures = topics.figures(chosen)
        configs = topics.configs(self._allowed(Operation.DESCRIBE_CONFIGS, chosen))
        may_see = self._checks.allowed(Operation.DESCRIBE, ResourceType.CLUSTER, [CLUSTER_NAME])
        sizes = topics.sizes(chosen) if may_see else {}
        formats = self._formats(topics, chosen) if asked.formats else {}
        return {
            "topics": [
                {
                    "name": name,
                    "partitions": len(parts),
                    "replication": _replication(parts),
                    "records": _text(figures[name].records),
                    "bytes": _text(sizes.get(name)),
                    "lastTimestamp": _text(figures[name].last_ms),
                    "cleanupPolicy": _value(configs.get(name, ()), _POLICY),
                    "internal": is_internal(name),
                    **({"format": formats.get(name)} if asked.formats else {}),
                }
                for name, parts in chosen.items()
            ],
            "total": len(named),
            "internalTopics": sum(map(is_internal, seen)),
            "next": page[-1] if len(rest) > len(page) else None,
            "may": {"create": self._may_create()},
        }

    def described(self, topic: str) -> Json:
        """Return a topic with its partitions and settings.

        Raises:
            RequestRefused: the client may not see it.
            KafkaError: it does not exist, or the broker does not answer.
        """
        self._checks.ensure([Right(Operation.DESCRIBE, ResourceType.TOPIC, topic)])
        topics = ClusterTopics(self._service.brokers)
        parts = topics.partitions(topic)
        spans = topics.spans(topic, parts)
        may_see = self._allowed(Operation.DESCRIBE_CONFIGS, [topic])
        settings = topics.configs(may_see).get(topic)
        return {
            "name": topic,
            "internal": is_internal(topic),
            "replication": _replication(parts),
            "partitions": [_partition(one, spans.get(one.number)) for one in parts],
            "configs": None if settings is None else [one._asdict() for one in settings],
            "may": {
                word: bool(self._allowed(operation, [topic])) for word, operation in _MAY.items()
            },
        }

    def _formats(
        self, topics: ClusterTopics, chosen: Mapping[str, tuple[Replicas, ...]]
    ) -> dict[str, str]:
        """Return the probable format of the values of topics that the client may read."""
        places = {}
        for name in self._allowed(Operation.READ, chosen):
            spans = topics.spans(name, chosen[name])
            if spans:
                places[name] = max(spans.items(), key=lambda one: one[1][1] - one[1][0])
        decoder = decoder_of(self._service, self._checks, Filters())
        return {
            name: decoder.decoded("value", record.value, record.headers).form
            for name, record in newest_of(self._service.brokers, places, _SAMPLE_S).items()
            if record.value is not None
        }

    def _may_create(self) -> bool:
        return bool(
            self._checks.allowed(Operation.CREATE, ResourceType.CLUSTER, [CLUSTER_NAME])
            or self._checks.may_any(Operation.CREATE, ResourceType.TOPIC)
        )

    def _allowed(
        self, operation: Operation, names: "Mapping[str, object] | list[str] | frozenset[str]"
    ) -> frozenset[str]:
        return self._checks.allowed(operation, ResourceType.TOPIC, names)


def _replication(parts: tuple[Replicas, ...]) -> int:
    return max((len(one.replicas) for one in parts), default=0)


def _partition(one: Replicas, span: tuple[int, int] | None) -> Json:
    low, end = span or (None, None)
    return {
        "partition": one.number,
        "leader": one.leader if one.leader >= 0 else None,
        "replicas": list(one.replicas),
        "inSync": list(one.in_sync),
        "logStart": _text(low),
        "end": _text(end),
        "records": None if low is None or end is None else str(end - low),
    }


def _value(configs: "list[Config] | tuple[()]", name: str) -> str | None:
    return next((one.value for one in configs if one.name == name), None)


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)
