"""Resources of every kind in a broker that is reached by the protocol alone, and rights denied there.

    admin   127.0.0.1   makes the resources and the rules; the broker's own connections, too
    client  127.0.0.2   sends the request of a row; rules deny a right to this host alone

So a broker of Apache Kafka keeps the rights that it needs itself, and every row of the table can be
denied. The requests are those of `unit/broker/authorization/samples.py`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Final

import waiting
from conformance.kafka.members import FIND_COORDINATOR, await_coordinator
from conformance.kafka.wire_client import WireClient
from conformance.kafka.wire_helpers import METADATA, batch, create_and_wait, new_topic
from duolog.record import BatchProducer
from duolog.security.authorization.operations import Operation
from unit.broker.authorization.fake_authorizer import ANY_NAME, Right
from unit.broker.authorization.world import codes, committed, joining

CLIENT_HOST: Final = "127.0.0.2"
PRODUCE, OFFSET_COMMIT, INIT_PRODUCER_ID, ADD_PARTITIONS, CONSUMER_HEARTBEAT = 0, 8, 22, 24, 68
API_VERSIONS = 18
DESCRIBE_ACLS, CREATE_ACLS, DELETE_ACLS, DESCRIBE_LOG_DIRS = 29, 30, 31, 35
LITERAL, ANY, DENY, ALLOW = 3, 1, 2, 3
LONGEST_MS: Final = 900_000
"""A transaction that lasts as long stays open in Kafka until the tests end."""


class WireWorld:
    """One broker, with the topic, groups and transaction of each kind that was made."""

    def __init__(self, address: str) -> None:
        self._address = address
        self.admin = WireClient(address)
        self.harness = SimpleNamespace(batch=batch)
        self.producers: dict[str, SimpleNamespace] = {}
        self.patterns: list[str] = []
        node = self.admin.ask(METADATA, 12, topics=[], allow_auto_topic_creation=False).brokers[0]
        log_dir = self.admin.ask(DESCRIBE_LOG_DIRS, 4, topics=[]).results[0].log_dir
        self.versions = {
            row.api_key: row.max_version for row in self.admin.ask(API_VERSIONS, 2).api_keys
        }
        """The newest version of each API that the broker serves."""
        self.broker = SimpleNamespace(data_dir=log_dir, node_id=node.node_id, topics=[])
        self.make("open")

    def close(self) -> None:
        self.admin.close()

    @contextmanager
    def client(self) -> Iterator[WireClient]:
        """Connect as the client whose rights are denied."""
        with WireClient(self._address, source=CLIENT_HOST) as client:
            yield client

    # Resources

    def make(self, kind: str) -> None:
        """Make a topic of this name, and KIND-group, KIND-cg and KIND-tx, which use `open`, too."""
        self._forget_rules()
        create_and_wait(self.admin, new_topic(kind, 2))
        topics = [{"name": kind, "topic_id": None}]
        found = self.admin.ask(METADATA, 12, topics=topics, allow_auto_topic_creation=False).topics
        self.broker.topics.append(SimpleNamespace(name=kind, id=found[0].topic_id))
        data = [{"index": 0, "records": batch(b"a")}]
        rows = [{"name": kind, "partition_data": data}]
        self.admin.ask(PRODUCE, 9, acks=-1, timeout=30_000, topic_data=rows, transactional_id=None)
        self._commit(kind)
        await_coordinator(self.admin, f"{kind}-cg")
        joined = joining(f"{kind}-cg", subscribed_topic_names=[kind])
        self._done(CONSUMER_HEARTBEAT, 1, **joined)
        self._begin(kind)

    def _commit(self, kind: str) -> None:
        """Commit offsets of both topics to the groups of both kinds."""
        for group, names in ((kind, {"open", kind}), ("open", {kind})):
            await_coordinator(self.admin, f"{group}-group")
            fields = {"group_id": f"{group}-group", "generation_id_or_member_epoch": -1}
            topics = [committed(name, 1) for name in sorted(names)]
            self._done(OFFSET_COMMIT, 9, **fields, member_id="", topics=topics)

    def _begin(self, kind: str) -> None:
        """Begin a transaction, and add the first partitions of both topics to both transactions."""
        # Kafka creates the internal topic when a client looks for the coordinator.
        self._done(FIND_COORDINATOR, 3, key=f"{kind}-tx", key_type=1)
        fields = {"transactional_id": f"{kind}-tx", "producer_id": -1, "producer_epoch": -1}
        me = self._done(INIT_PRODUCER_ID, 4, **fields, transaction_timeout=LONGEST_MS)
        self.producers[kind] = SimpleNamespace(producer_id=me.producer_id, epoch=me.producer_epoch)
        for owner, names in ((kind, {"open", kind}), ("open", {kind})):
            topics = [{"name": name, "partitions": [0]} for name in sorted(names)]
            fields = {"transactional_id": f"{owner}-tx", "topics": topics}
            fields |= self.producer_fields(owner)
            older = {f"v3_and_below_{name}": value for name, value in fields.items()}
            self._done(ADD_PARTITIONS, 3, **older)

    def _done(self, key: int, version: int, /, **fields: Any) -> Any:
        """Ask until there is no error: a coordinator may be loading yet."""
        answers: list[Any] = []

        def succeeded() -> bool:
            answers.append(self.admin.ask(key, version, **fields))
            return not any(code for _, code in codes(answers[-1], {}))

        waiting.wait_until(succeeded, lambda: f"API {key}: {answers[-1]}")
        return answers[-1]

    def producer_fields(self, kind: str) -> dict[str, Any]:
        me = self.producers[kind]
        return {"producer_id": me.producer_id, "producer_epoch": me.epoch}

    def transactional_batch(self, kind: str) -> bytes:
        me = self.producers[kind]
        producer = BatchProducer(me.producer_id, me.epoch, 0, transactional=True)
        return batch(b"t", **producer._asdict())

    def names_by_id(self) -> dict[Any, str]:
        return {topic.id: topic.name for topic in self.broker.topics}

    # Rights

    @contextmanager
    def denied(self, rights: list[Right]) -> Iterator[None]:
        """Deny these rights to the client, and allow all others to the same resources."""
        bindings = []
        for operation, resource, name in rights:
            where = {
                "resource_type": int(resource),
                "resource_name": "*" if name == ANY_NAME else name,
                "resource_pattern_type": LITERAL,
            }
            everything = {"host": "*", "operation": int(Operation.ALL), "permission_type": ALLOW}
            forbidden = {
                "host": CLIENT_HOST,
                "operation": int(operation),
                "permission_type": DENY,
            }
            bindings.append({**where, "principal": "User:*", **everything})
            bindings.append({**where, "principal": "User:ANONYMOUS", **forbidden})
        self._forget_rules()
        answer = self.admin.ask(CREATE_ACLS, 3, creations=bindings)
        assert {row.error_code for row in answer.results} == {0}
        distinct = len({tuple(binding.items()) for binding in bindings})
        waiting.wait_until(lambda: self._count() == distinct, "the rules are not in force")
        yield
        self._forget_rules()

    def _forget_rules(self) -> None:
        """Delete all rules, also those that the request of a row has made."""
        answer = self.admin.ask(DELETE_ACLS, 3, filters=[_EVERY_RULE])
        assert {row.error_code for row in answer.filter_results} == {0}
        waiting.wait_until(lambda: self._count() == 0, "the rules are still in force")

    def _count(self) -> int:
        """Return the number of rules that the broker knows; Kafka's has them from its controller."""
        found = self.admin.ask(DESCRIBE_ACLS, 3, **_EVERY_RULE)
        assert found.error_code == 0
        return sum(len(resource.acls) for resource in found.resources)


_EVERY_RULE: Final = {
    "resource_type_filter": ANY,
    "resource_name_filter": None,
    "pattern_type_filter": ANY,
    "principal_filter": None,
    "host_filter": None,
    "operation": ANY,
    "permission_type": ANY,
}
