"""Users, rights and tokens of a cluster, followed from its topic."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from duolog.core.errors import KafkaError
from duolog.registry.access import cluster_users as module
from duolog.registry.access.cluster_users import RELOAD_S, ClusterUsers
from duolog.registry.access.settings import AccessSettings
from duolog.registry.store.clients import KafkaOptions
from duolog.registry.store.errors import StoreUnavailable
from duolog.registry.store.stored import StoredRecord
from duolog.security.authorization.acls import Acl, PatternType, Permission
from duolog.security.authorization.operations import Operation, ResourceType
from duolog.security.credentials.tokens import Token, digest_of, new_token
from duolog.security.identity.principal import Identity, Principal
from duolog.security.logins.audit import Audit
from duolog.security.records.records import (
    AclChange,
    Change,
    SecurityRecordDamaged,
    TokenChange,
    encode,
)
from duolog.security.sasl.bearer_exchange import InvalidToken
from duolog.testing.clock import FakeClock
from unit.registry.turns import until

AWAY, HERE = False, True
ALICE = Principal("User", "alice")
TEXT = new_token(b"a" * 32)
TOKEN = TokenChange(digest_of(TEXT)[:16], Token(digest_of(TEXT), ALICE, 0, None))
REVOKED = TokenChange(TOKEN.token_id, None)
RULE = AclChange(
    Acl(
        ResourceType.SUBJECT,
        PatternType.LITERAL,
        "orders-value",
        ALICE,
        "*",
        Operation.READ,
        Permission.ALLOW,
    ),
    present=True,
)


class Follower:
    """A follower of a topic in memory, which a test drives."""

    def __init__(self, cluster: "Cluster", deliver: Any, failed: Any, reached: Any) -> None:
        self.cluster = cluster
        self.deliver: Callable[[Sequence[StoredRecord]], None] = deliver
        self.failed: Callable[[Exception], None] = failed
        self.reached: Callable[[bool], None] = reached
        self.started = self.stopped = False

    def load(self) -> None:
        self.cluster.loads += 1
        if self.cluster.away:
            raise StoreUnavailable("could not read topic", code=-195)
        self.deliver(self.cluster.records)

    def start(self) -> None:
        self.started = True

    def stop(self) -> None:
        self.stopped = True


class Cluster:
    """The topic, and the users that a registry takes from it."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.records: list[StoredRecord] = []
        self.followers: list[Follower] = []
        self.loads = 0
        self.away = False
        self.users = ClusterUsers(
            KafkaOptions("h:1"),
            AccessSettings({}),
            self.clock,
            Audit(self.clock),
            follow=self._follow,  # type: ignore[arg-type] # a fake
        )

    def _follow(self, options: KafkaOptions, deliver: Any, failed: Any, reached: Any) -> Follower:
        assert options.topic == "__security"
        self.followers.append(Follower(self, deliver, failed, reached))
        return self.followers[-1]

    def append(self, *changes: Change) -> list[StoredRecord]:
        made = [
            StoredRecord(len(self.records) + number, *encode(change), 0)
            for number, change in enumerate(changes)
        ]
        self.records += made
        return made

    def may(self) -> bool:
        authorizer = self.users.authorizer
        assert authorizer is not None
        client = Identity(ALICE, "10.0.0.7")
        return authorizer.allows(client, Operation.READ, ResourceType.SUBJECT, "orders-value")

    def logs_in(self) -> bool:
        try:
            return self.users.mechanisms.verify_token(TEXT)[0] == ALICE
        except InvalidToken:
            return False


@pytest.fixture(autouse=True)
def topic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ensure_topic", lambda options: options.topic)
    monkeypatch.setattr(module, "RETRY_S", 0.001)


def run(scenario: Callable[[Cluster], Awaitable[None]], *changes: Change) -> None:
    async def whole() -> None:
        cluster = Cluster()
        cluster.append(*changes)
        cluster.users.load()
        cluster.users.start(asyncio.get_running_loop())
        try:
            await scenario(cluster)
        finally:
            cluster.users.stop()

    asyncio.run(whole())


def test_what_is_in_the_topic_counts_from_the_start() -> None:
    async def scenario(cluster: Cluster) -> None:
        assert cluster.logs_in()
        assert cluster.may()
        assert cluster.followers[0].started

    run(scenario, TOKEN, RULE)


def test_changes_count_as_soon_as_they_are_read() -> None:
    async def scenario(cluster: Cluster) -> None:
        [follower] = cluster.followers
        follower.deliver(cluster.append(TOKEN, RULE))
        await until(cluster.logs_in)
        assert cluster.may()

        follower.deliver(cluster.append(REVOKED, AclChange(RULE.acl, present=False)))
        await until(lambda: not cluster.logs_in())
        assert not cluster.may()

    run(scenario)


def test_without_an_authorizer_users_may_do_everything() -> None:
    clock = FakeClock()
    settings = AccessSettings({"authorizer.class.name": ""})

    users = ClusterUsers(KafkaOptions("h:1"), settings, clock, Audit(clock))

    assert users.authorizer is None


def test_the_last_state_stays_in_force_and_its_age_grows(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "duolog.registry")

    async def scenario(cluster: Cluster) -> None:
        [follower] = cluster.followers
        follower.reached(AWAY)
        await until(lambda: not cluster.users.reachable)
        cluster.clock.advance(30)
        follower.reached(AWAY)
        await until(lambda: cluster.users.age_s == 30)
        assert cluster.logs_in()

        follower.reached(HERE)
        await until(lambda: cluster.users.reachable)
        assert cluster.users.age_s == 0
        assert cluster.loads == 1

    run(scenario, TOKEN)

    texts = [record.getMessage() for record in caplog.records]
    assert len([text for text in texts if "stay in force" in text]) == 1
    assert len([text for text in texts if "are read again" in text]) == 1


def test_an_error_loads_the_topic_again_into_a_new_state() -> None:
    async def scenario(cluster: Cluster) -> None:
        # The tombstone of the token is gone by compaction: only a new state forgets the token.
        cluster.records.clear()
        cluster.append(RULE)
        cluster.away = True
        cluster.followers[0].failed(KafkaError("not authorized", code=29))
        await until(lambda: cluster.loads > 3)
        assert cluster.logs_in()

        cluster.away = False
        await until(cluster.may)
        assert not cluster.logs_in()
        assert cluster.users.reachable
        assert cluster.followers[0].stopped
        assert cluster.followers[-1].started

        cluster.followers[-1].deliver(cluster.append(TOKEN))
        await until(cluster.logs_in)

    run(scenario, TOKEN)


def test_after_a_long_absence_the_topic_is_loaded_again() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.records.clear()
        cluster.clock.advance(RELOAD_S + 1)

        cluster.followers[0].reached(HERE)

        await until(lambda: not cluster.logs_in())
        assert cluster.loads == 2

    run(scenario, TOKEN)


def test_a_damaged_record_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.followers[0].deliver([StoredRecord(7, b"{", b"s3cret", 0)])

        await until(lambda: cluster.loads > 1)
        assert cluster.logs_in()

    run(scenario, TOKEN)

    assert "s3cret" not in caplog.text


def test_a_damaged_record_stops_the_start() -> None:
    cluster = Cluster()
    cluster.records.append(StoredRecord(3, b"{", b"s3cret", 0))

    with pytest.raises(SecurityRecordDamaged, match="offset 3") as refused:
        cluster.users.load()

    assert "s3cret" not in str(refused.value)
    assert cluster.followers[0].stopped


def test_a_topic_that_cannot_be_read_stops_the_start_with_the_right_it_needs() -> None:
    cluster = Cluster()
    cluster.away = True

    with pytest.raises(StoreUnavailable, match="CLUSTER_ACTION"):
        cluster.users.load()
