"""Rights of a client are checked before anything is revealed or changed."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from duolog.runtime.browsing.cluster_topics import Config, Figures, Replicas
from duolog.security.authorization.operations import Operation, ResourceType
from duolog.server.access.client import Right
from duolog.server.errors import FORBIDDEN, RequestRefused
from duolog.server.topics import changes, listing, producing
from duolog.server.topics.listing import Topics, read_asked

Granted = set[tuple[Operation, ResourceType, str]]
SERVICE: Any = None
"""A service that nothing may be asked of."""


class Rights:
    """The rights of a client that may do what is granted."""

    client = "ann"

    def __init__(self, granted: Granted | None = None) -> None:
        self._granted = granted or set()

    def ensure(self, rights: Iterable[Right]) -> None:
        if not all(tuple(one) in self._granted for one in rights):
            raise RequestRefused("no", FORBIDDEN)

    def allowed(
        self, operation: Operation, resource: ResourceType, names: Iterable[str]
    ) -> frozenset[str]:
        return frozenset(name for name in names if (operation, resource, name) in self._granted)

    def may_any(self, operation: Operation, resource: ResourceType) -> bool:
        return any(one[:2] == (operation, resource) for one in self._granted)


def topic(operation: Operation, name: str = "orders") -> tuple[Operation, ResourceType, str]:
    return operation, ResourceType.TOPIC, name


READ_AVRO = producing.read_write(b'{"value": {"format": "AVRO", "text": "1"}}')
CALLS: list[tuple[Callable[[Any], object], Granted]] = [
    (lambda may: Topics(SERVICE, may).described("orders"), {topic(Operation.READ)}),
    (
        lambda may: changes.create(SERVICE, may, changes.read_new_topic(b'{"name": "orders"}')),
        {topic(Operation.CREATE, "other"), topic(Operation.WRITE)},
    ),
    (
        lambda may: changes.change(
            SERVICE, may, "orders", changes.read_change(b'{"partitions": 2, "configs": {"a": "b"}}')
        ),
        {topic(Operation.ALTER_CONFIGS)},
    ),
    (
        lambda may: changes.change(
            SERVICE, may, "orders", changes.read_change(b'{"configs": {"a": "b"}}')
        ),
        {topic(Operation.ALTER)},
    ),
    (lambda may: changes.delete(SERVICE, may, "orders"), {topic(Operation.ALTER)}),
    (
        lambda may: producing.produce(SERVICE, may, "orders", READ_AVRO),
        {topic(Operation.WRITE)},  # Not READ on the subject.
    ),
    (lambda may: producing.form(SERVICE, may, "orders"), {topic(Operation.WRITE)}),
]


@pytest.mark.parametrize(("call", "granted"), CALLS)
def test_a_client_without_the_right_is_refused_before_the_service_is_asked(
    call: Callable[[Any], object], granted: Granted
) -> None:
    with pytest.raises(RequestRefused) as refused:
        call(Rights(granted))

    assert refused.value.code == FORBIDDEN


class Cluster:
    """Topics in memory; what it is asked is noted."""

    def __init__(self, _brokers: object) -> None: ...

    def names(self) -> dict[str, tuple[Replicas, ...]]:
        part = (Replicas(0, 1, (1, 2), (1,)),)
        return dict.fromkeys(("_internal", "orders", "secret", "visits"), part)

    def figures(self, topics: Iterable[str]) -> dict[str, Figures]:
        return {name: Figures(2**60, None) for name in topics}

    def sizes(self, topics: Iterable[str]) -> dict[str, int]:
        return dict.fromkeys(topics, 7)

    def configs(self, topics: Iterable[str]) -> dict[str, list[Config]]:
        policy = Config("cleanup.policy", "compact", "topic", read_only=False, sensitive=False)
        return {name: [policy] for name in topics}


def test_topics_without_describe_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "ClusterTopics", Cluster)
    service: Any = type("Service", (), {"brokers": None})()
    checks: Any = Rights(
        {
            *(topic(Operation.DESCRIBE, name) for name in ("orders", "visits", "_internal")),
            topic(Operation.DESCRIBE_CONFIGS),
        }
    )

    answer = Topics(service, checks).listed(read_asked({}))

    assert [(one["name"], one["cleanupPolicy"]) for one in answer["topics"]] == [
        ("orders", "compact"),
        ("visits", None),
    ]
    assert answer["topics"][0]["records"] == str(2**60)
    assert (answer["total"], answer["internalTopics"]) == (2, 1)
    assert answer["may"] == {"create": False}
    # Sizes need a right on the cluster.
    assert answer["topics"][0]["bytes"] is None
    see = (Operation.DESCRIBE, ResourceType.CLUSTER, "kafka-cluster")
    more: Any = Rights({topic(Operation.DESCRIBE), see, topic(Operation.CREATE, "mine-")})
    answer = Topics(service, more).listed(read_asked({}))
    (orders,) = answer["topics"]
    assert orders["bytes"] == "7"
    assert answer["may"] == {"create": True}, "of topics with a prefix"
