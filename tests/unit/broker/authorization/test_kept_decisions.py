"""Decisions that connections, sessions and caches keep, when rights or clients change."""

from collections.abc import Iterator
from typing import Any

import pytest

from duolog.broker.authorization import decisions
from duolog.broker.authorization.decisions import Decisions
from duolog.broker.authorization.table import READ_RECORDS
from duolog.protocol.error_codes import ErrorCode
from duolog.protocol.produce_single import FIRST_VERSION
from duolog.security.authorization.operations import CLUSTER_NAME, Operation, ResourceType
from duolog.security.identity.principal import Identity, Principal
from unit.broker.authorization.fake_authorizer import FakeAuthorizer
from unit.broker.authorization.world import OPEN, SECRET, World, joining, opened
from unit.broker.conftest import Client, fetch_fields, produce_fields

PRODUCE, FETCH, METADATA, DESCRIBE_CLUSTER = 0, 1, 3, 60
DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
READ = (Operation.READ, ResourceType.TOPIC, SECRET)
WRITE = (Operation.WRITE, ResourceType.TOPIC, SECRET)
DESCRIBE = (Operation.DESCRIBE, ResourceType.TOPIC, SECRET)
ALICE, BOB = (Identity(Principal("User", name), "127.0.0.1") for name in ("alice", "bob"))


@pytest.fixture
def world() -> Iterator[World]:
    with opened() as found:
        yield found


class OnlyAlice(FakeAuthorizer):
    """Denies its rights to all users but one."""

    def allows(
        self, client: Identity, operation: Operation, resource: ResourceType, name: str
    ) -> bool:
        allowed = super().allows(client, operation, resource, name)
        return allowed or client.principal == ALICE.principal

    def operations(self, client: Identity, resource: ResourceType, name: str) -> int:
        all_ = (1 << 16) - 8
        return (
            all_
            if client.principal == ALICE.principal
            else super().operations(client, resource, name)
        )


def of(world: World, identity: Identity) -> Client:
    client = world.client()
    client.connection.identity = identity
    return client


def end(world: World, topic: str = SECRET) -> int:
    return int(world.broker.log(topic, 0).log_end_offset)


def produce(client: Client, world: World) -> int:
    """Produce by the short way, which takes batches of usual sizes from the second one on."""
    batch = world.harness.batch(b"x" * 200)
    return int(client.produce(SECRET, batch, version=FIRST_VERSION).error_code)


def test_a_produce_request_by_the_short_way_is_refused_and_writes_nothing(world: World) -> None:
    assert produce(world.client(), world) == 0
    assert world.broker.topics.find(SECRET).newest_time > 0, "the short way is not open"
    world.authorizer.change(WRITE)
    before = end(world)

    assert produce(world.client(), world) == DENIED
    assert end(world) == before


def test_rights_that_change_count_from_the_next_produce_request_on(world: World) -> None:
    client = world.client()
    assert produce(client, world) == 0

    world.authorizer.change(WRITE)
    assert produce(client, world) == DENIED

    world.authorizer.change()
    assert produce(client, world) == 0


def test_a_produce_request_without_an_answer_is_refused_by_closing(world: World) -> None:
    world.authorizer.change(WRITE)
    before, client = end(world), world.client()

    client.send_bytes(
        client.frame(PRODUCE, 9, **produce_fields(SECRET, world.harness.batch(b"x"), acks=0))
    )

    assert client.closed_by_broker
    assert end(world) == before


def test_the_authorizer_is_asked_once_for_each_topic_and_epoch(world: World) -> None:
    client = world.client()
    world.authorizer.asked.clear()
    for _ in range(5):
        produce(client, world)
        client.fetch(SECRET, 0)

    assert world.authorizer.asked == [WRITE, READ]


def test_a_client_with_another_identity_on_the_connection_is_asked_for_anew(world: World) -> None:
    world.broker.authorizer = OnlyAlice(WRITE, READ)
    client = of(world, ALICE)
    assert (produce(client, world), client.fetch(SECRET, 0).error_code) == (0, 0)

    client.connection.identity = BOB

    assert (produce(client, world), client.fetch(SECRET, 0).error_code) == (DENIED, DENIED)


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decisions, "KEPT_MAX", 10)
    authorizer, kept = FakeAuthorizer(), Decisions(READ_RECORDS)
    for number in range(100):
        assert kept.allows(authorizer, ALICE, f"t{number}")
        assert len(kept._kept) <= 10  # noqa: SLF001  The bound is not seen from outside.


def long_poll(client: Client, world: World, topic: str = SECRET) -> None:
    client.send(FETCH, 11, **fetch_fields(topic, end(world, topic), max_wait_ms=3_600_000))
    client.receive_nothing()


def test_a_fetch_that_waits_gets_nothing_that_came_after_it_lost_its_right(world: World) -> None:
    client = world.client()
    long_poll(client, world)
    world.authorizer.change(READ)
    world.client().produce(SECRET, world.harness.batch(b"new"))

    row = client.receive().responses[0].partitions[0]

    assert (row.error_code, row.records or b"") == (DENIED, b"")


def test_fetches_that_wait_are_answered_when_rights_change(world: World) -> None:
    forbidden, allowed = world.client(), world.client()
    long_poll(forbidden, world)
    long_poll(allowed, world, OPEN)
    world.authorizer.change(READ)

    world.broker.rights_changed()

    assert forbidden.receive().responses[0].partitions[0].error_code == DENIED
    allowed.receive_nothing()


def session_fields(world: World, session_id: int, epoch: int, *topics: str) -> dict[str, Any]:
    rows = [fetch_fields(topic, end(world, topic))["topics"][0] for topic in topics]
    fields = fetch_fields(OPEN, 0, session_id=session_id)
    return {**fields, "session_epoch": epoch, "topics": rows}


def begun(client: Client, world: World) -> int:
    answer = client.ask(FETCH, 11, **session_fields(world, 0, 0, OPEN, SECRET))
    assert answer.session_id
    return int(answer.session_id)


def heard(answer: Any) -> dict[str, int]:
    return {row.topic: row.partitions[0].error_code for row in answer.responses}


def test_a_session_hears_of_a_right_that_was_lost_without_new_records(world: World) -> None:
    client = world.client()
    session_id = begun(client, world)
    assert heard(client.ask(FETCH, 11, **session_fields(world, session_id, 1))) == {}
    assert heard(client.ask(FETCH, 11, **session_fields(world, session_id, 2))) == {}

    world.authorizer.change(READ)
    assert heard(client.ask(FETCH, 11, **session_fields(world, session_id, 3))) == {SECRET: DENIED}

    world.authorizer.change()
    world.client().produce(SECRET, world.harness.batch(b"again"))
    assert heard(client.ask(FETCH, 11, **session_fields(world, session_id, 4))) == {SECRET: 0}


def test_a_session_that_waits_is_answered_when_it_loses_a_right(world: World) -> None:
    client = world.client()
    session_id = begun(client, world)
    client.send(FETCH, 11, **{**session_fields(world, session_id, 1), "max_wait": 60_000})
    client.receive_nothing()
    world.authorizer.change(READ)

    world.broker.rights_changed()

    assert heard(client.receive()) == {SECRET: DENIED}


def test_a_session_belongs_to_the_user_who_began_it(world: World) -> None:
    alice, bob = of(world, ALICE), of(world, BOB)
    session_id = begun(alice, world)

    stolen = bob.ask(FETCH, 11, **session_fields(world, session_id, 1))
    ended = bob.ask(FETCH, 11, **session_fields(world, session_id, -1))

    assert stolen.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert ended.error_code == 0
    assert len(world.broker.fetch_sessions) == 1
    again = of(world, ALICE._replace(host="127.0.0.2"))
    assert again.ask(FETCH, 11, **session_fields(world, session_id, 1)).error_code == 0


def test_metadata_that_is_kept_for_one_user_is_not_shown_to_another(world: World) -> None:
    world.broker.authorizer = OnlyAlice(DESCRIBE, WRITE)
    world.broker.authorizer.denied.add((Operation.WRITE, ResourceType.TOPIC, OPEN))
    fields = {
        "topics": None,
        "allow_auto_topic_creation": False,
        "include_topic_authorized_operations": True,
    }

    def ask(identity: Identity) -> dict[str, int]:
        answer = of(world, identity).ask(METADATA, 10, **fields)
        return {row.name: row.topic_authorized_operations for row in answer.topics}

    first, second, third = ask(ALICE), ask(BOB), ask(ALICE)

    assert first == third
    assert SECRET in first
    assert SECRET not in second
    write = 1 << Operation.WRITE
    assert first[OPEN] & write
    assert second[OPEN] == first[OPEN] & ~write


@pytest.mark.parametrize("known", [True, False])
def test_authorized_operations_are_those_of_the_authorizer(*, known: bool) -> None:
    groups = {"include_authorized_operations": True}
    with opened() as world:
        denied = [
            (Operation.DELETE, ResourceType.GROUP, f"open-{kind}") for kind in ("group", "cg")
        ]
        denied.append((Operation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME))
        denied.append((Operation.WRITE, ResourceType.TOPIC, OPEN))
        if not known:
            world.broker.authorizer = None
        world.authorizer.change(*denied)
        client = world.client()
        cluster = client.ask(
            DESCRIBE_CLUSTER, 2, include_cluster_authorized_operations=True, endpoint_type=1
        )
        classic = client.ask(15, 5, groups=["open-group"], **groups).groups[0]
        consumer = client.ask(69, 1, group_ids=["open-cg"], **groups).groups[0]
        topics = client.ask(
            75, 0, topics=[{"name": OPEN}], response_partition_limit=10, cursor=None
        ).topics

        for bits, operation in (
            (cluster.cluster_authorized_operations, Operation.ALTER),
            (classic.authorized_operations, Operation.DELETE),
            (consumer.authorized_operations, Operation.DELETE),
            (topics[0].topic_authorized_operations, Operation.WRITE),
        ):
            assert bool(bits & 1 << operation) is not known
            assert bits & 1 << Operation.DESCRIBE
            # READ_ALL and the like do not exist for the resource: they are never shown.
            assert not bits & 1 << Operation.CREATE_TOKENS


def test_members_by_expression_follow_rights_that_change(world: World) -> None:
    client = world.client()
    ids = world.names_by_id()

    def topics(answer: Any) -> set[str]:
        return {ids[row.topic_id] for row in answer.assignment.topic_partitions}

    joined = client.ask(68, 1, **joining("regex-cg", subscribed_topic_regex="open|secret"))
    assert topics(joined) == {OPEN, SECRET}

    world.authorizer.change(DESCRIBE)
    seen: set[str] = set()

    def follows() -> bool:
        nonlocal seen
        fields = joining("regex-cg", subscribed_topic_regex="open|secret")
        answer = client.ask(68, 1, **{**fields, "member_epoch": 0})
        seen = topics(answer)
        return seen == {OPEN}

    world.harness.turn_until(follows)

    assert seen == {OPEN}
