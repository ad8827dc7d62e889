"""A broker with resources of every kind, two of each: an open one and a secret one."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

from duolog.broker.configs.resources import BROKER, GROUP
from duolog.record.records import BatchProducer
from duolog.security.authorization.operations import CLUSTER_NAME, ResourceType
from unit.broker.authorization.fake_authorizer import FakeAuthorizer
from unit.broker.conftest import Client, Harness
from unit.broker.transactional_producer import TransactionalProducer, coordinate

OPEN, SECRET = "open", "secret"
NAMES = {
    ResourceType.TOPIC: SECRET,
    ResourceType.GROUP: "secret-group",
    ResourceType.TRANSACTIONAL_ID: "secret-tx",
    ResourceType.CLUSTER: CLUSTER_NAME,
}
_IDENTITIES = (
    "name",
    "topic",
    "topic_name",
    "group_id",
    "transactional_id",
    "resource_name",
    "key",
    "coordinator_key",
)
_CODES = ("error_code", "partition_error_code")


class World:
    """One broker; `secrets` says whether the secret resources exist."""

    def __init__(self, harness: Harness, *, secrets: bool = True) -> None:
        self.harness = harness
        self.broker = harness.broker
        self.authorizer = FakeAuthorizer()
        coordinate(harness)
        harness.turn_until(lambda: self.broker.coordinators_loaded)
        self.kinds = (OPEN, SECRET) if secrets else (OPEN,)
        self.producers: dict[str, TransactionalProducer] = {}
        for kind in self.kinds:
            harness.topic(kind, 2)
            harness.client().produce(kind, harness.batch(b"a"))
        for kind in self.kinds:
            self._use(kind)
        self.broker.authorizer = self.authorizer

    def _use(self, kind: str) -> None:
        client = self.harness.client()
        client.ask(
            8,
            9,
            group_id=f"{kind}-group",
            generation_id_or_member_epoch=-1,
            member_id="",
            topics=[committed(topic, 1) for topic in self.kinds],
        )
        client.ask(68, 1, **joining(f"{kind}-cg", subscribed_topic_names=[kind]))
        producer = self.producers[kind] = TransactionalProducer(self.harness, f"{kind}-tx")
        producer.init()
        for topic in self.kinds:
            producer.add(0, topic=topic)

    def client(self) -> Client:
        return self.harness.client()

    def names_by_id(self) -> dict[UUID, str]:
        return {topic.id: topic.name for topic in self.broker.topics}

    def transactional_batch(self, kind: str) -> bytes:
        me = self.producers[kind].me
        return self.harness.batch(
            b"t", producer=BatchProducer(me.producer_id, me.epoch, 0, transactional=True)
        )

    def producer_fields(self, kind: str) -> dict[str, Any]:
        """Return id and epoch of a producer; of any one if there is no such producer."""
        producer = self.producers.get(kind) or self.producers[OPEN]
        return {"producer_id": producer.me.producer_id, "producer_epoch": producer.me.epoch}

    def state(self) -> dict[tuple[str, str], Any]:
        """Return all that a request may change, by kind and name."""
        broker = self.broker
        found: dict[tuple[str, str], Any] = {}
        for topic in broker.topics:
            ends = [(row.log.log_start_offset, row.log.log_end_offset) for row in topic.partitions]
            found["topic", topic.name] = (topic.id, ends, dict(topic.configs))
        for group in broker.groups.list_groups():
            offsets = {
                key: value.offset for key, value in broker.groups.offsets(group.group_id).items()
            }
            configs = dict(broker.configs.kind(GROUP).configs(group.group_id))
            found["group", group.group_id] = (group.state, offsets, configs)
        for name, record in broker.transactions.records().items():
            found["transaction", name] = record
        found["quotas", ""] = list(broker.quotas.find([], strict=False))
        found["broker", ""] = dict(broker.configs.kind(BROKER).configs(""))
        return found


@contextmanager
def opened(*, secrets: bool = True, **settings: str) -> Iterator[World]:
    """Open a world in a directory of its own."""
    texts = {name.replace("_", "."): text for name, text in settings.items()}
    with TemporaryDirectory() as directory:
        harness = Harness(
            Path(directory) / "data",
            {"durability": "os", "group.initial.rebalance.delay.ms": "0", **texts},
        )
        try:
            yield World(harness, secrets=secrets)
        finally:
            harness.stop()


def committed(topic: str, offset: int) -> dict[str, Any]:
    row = {
        "partition_index": 0,
        "committed_offset": offset,
        "committed_leader_epoch": -1,
        "committed_metadata": "",
    }
    return {"name": topic, "partitions": [row]}


def joining(group_id: str, **more: Any) -> dict[str, Any]:
    """Return the fields of a heartbeat that joins a group of the consumer protocol."""
    return {
        "group_id": group_id,
        "member_id": f"member-of-{group_id}",
        "member_epoch": 0,
        "rebalance_timeout": 60_000,
        "topic_partitions": [],
        **more,
    }


def codes(answer: Any, names_by_id: dict[UUID, str]) -> list[tuple[tuple[str, ...], int]]:
    """Return every error code of an answer, with the names of what it belongs to."""
    return list(_codes(answer, (), names_by_id))


def _codes(
    entity: Any, within: tuple[str, ...], names_by_id: dict[UUID, str]
) -> Iterator[tuple[tuple[str, ...], int]]:
    names = within
    for name in _IDENTITIES:
        found = getattr(entity, name, None)
        if isinstance(found, str):
            names = (*names, found)
    topic_id = getattr(entity, "topic_id", None)
    if topic_id in names_by_id:
        names = (*names, names_by_id[topic_id])
    for name in _CODES:
        if hasattr(entity, name):
            yield names, int(getattr(entity, name))
    for item in _items(entity):
        yield from _codes(item, names, names_by_id)


def _items(entity: Any) -> Iterable[Any]:
    for field in fields(entity):
        value = getattr(entity, field.name)
        for item in value if isinstance(value, tuple) else (value,):
            if is_dataclass(item):
                yield item


def mentions(entity: Any, name: str, names_by_id: dict[UUID, str]) -> bool:
    """Return whether any text or topic id of an answer is, or belongs to, this name."""
    if isinstance(entity, str):
        return entity == name
    if isinstance(entity, UUID):
        return names_by_id.get(entity) == name
    if isinstance(entity, tuple):
        return any(mentions(item, name, names_by_id) for item in entity)
    if is_dataclass(entity):
        return any(
            mentions(getattr(entity, field.name), name, names_by_id) for field in fields(entity)
        )
    return False
