"""Subscriptions by expression: matched by the helper process, each name once."""

from typing import Any

import pytest

from duolog.broker.groups import topic_matches
from duolog.broker.groups.offsets_topic import OFFSETS_TOPIC
from duolog.protocol.error_codes import ErrorCode
from unit.broker.fake_broker import CONSUMER_HEARTBEAT, FakeBroker
from unit.broker.groups.test_consumer_group_apis import SESSION_S, join

NAMES: dict[str, Any] = {"subscribed_topic_names": None}


@pytest.fixture
def broker() -> FakeBroker:
    return FakeBroker(names=("orders", "orders_eu", "other"))


def topics(broker: FakeBroker, reply: Any) -> list[str]:
    if reply.assignment is None:
        return []
    names = {topic.id: topic.name for topic in broker}
    return sorted(names[row.topic_id] for row in reply.assignment.topic_partitions)


def send_join(broker: FakeBroker, member_id: str) -> list[Any]:
    return broker.send(
        CONSUMER_HEARTBEAT,
        1,
        group_id="g",
        member_id=member_id,
        member_epoch=0,
        rebalance_timeout=60_000,
        subscribed_topic_names=(),
        topic_partitions=[],
        subscribed_topic_regex="orders.*",
    )


def create(broker: FakeBroker, name: str) -> None:
    broker.names.add(name)
    broker.version += 1


def beat(broker: FakeBroker, reply: Any) -> Any:
    """Send everything again, as a client does after an error: the answer has the assignment."""
    return broker.ask(
        CONSUMER_HEARTBEAT,
        1,
        group_id="g",
        member_id=reply.member_id,
        member_epoch=reply.member_epoch,
        rebalance_timeout=60_000,
        subscribed_topic_names=(),
        subscribed_topic_regex="orders.*",
        topic_partitions=[],
    )


def test_the_first_answer_waits_for_the_topics(broker: FakeBroker) -> None:
    broker.expressions.held = []
    replies = send_join(broker, "a")
    assert replies == []

    broker.expressions.answer()

    assert topics(broker, replies[0]) == ["orders", "orders_eu"]


def test_two_members_wait_for_one_result(broker: FakeBroker) -> None:
    broker.expressions.held = []
    replies = [send_join(broker, member_id) for member_id in ("a", "b")]
    asked = len(broker.expressions.asked)

    broker.expressions.answer()

    assert [reply.error_code for (reply,) in replies] == [0, 0]
    assert asked == 1


def test_a_heartbeat_that_waits_keeps_its_session(broker: FakeBroker) -> None:
    """A member that changed its expression while others were matched lost its partitions to the group."""
    reply = join(broker, subscribed_topic_regex="orders.*", **NAMES)
    broker.expressions.held = []
    broker.pass_time(SESSION_S - 5)
    changed = broker.send(
        CONSUMER_HEARTBEAT,
        1,
        group_id="g",
        member_id=reply.member_id,
        member_epoch=reply.member_epoch,
        rebalance_timeout=60_000,
        subscribed_topic_names=(),
        subscribed_topic_regex="ord.*",
        topic_partitions=[],
    )

    broker.pass_time(SESSION_S - 5)
    assert changed == []
    broker.expressions.answer()

    assert changed[0].error_code == 0
    assert topics(broker, changed[0]) == ["orders", "orders_eu"]


def test_a_heartbeat_that_waits_with_a_wrong_epoch_keeps_nothing(broker: FakeBroker) -> None:
    reply = join(broker, subscribed_topic_regex="orders.*", **NAMES)
    broker.expressions.held = []
    broker.pass_time(SESSION_S - 5)
    refused = broker.send(
        CONSUMER_HEARTBEAT,
        1,
        group_id="g",
        member_id=reply.member_id,
        member_epoch=reply.member_epoch + 7,
        rebalance_timeout=60_000,
        subscribed_topic_names=(),
        subscribed_topic_regex="ord.*",
        topic_partitions=[],
    )

    broker.pass_time(10)
    broker.expressions.answer()

    assert refused[0].error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_each_new_name_is_compared_once(broker: FakeBroker) -> None:
    reply = join(broker, subscribed_topic_regex="orders.*", **NAMES)
    compared = [set(broker.expressions.asked[0][1])]
    for name in ("orders_us", "orders_ca"):
        create(broker, name)
        for _ in range(3):
            broker.clock.advance(11)
            reply = beat(broker, reply)
        compared.append(set(broker.expressions.asked[-1][1]) - {OFFSETS_TOPIC})

    assert topics(broker, reply) == ["orders", "orders_ca", "orders_eu", "orders_us"]
    assert compared[0] >= {"orders", "orders_eu", "other"}
    assert compared[1:] == [{"orders_us"}, {"orders_ca"}]
    assert len(broker.expressions.asked) == 3


def test_groups_share_a_result(broker: FakeBroker) -> None:
    join(broker, subscribed_topic_regex="orders.*", **NAMES)
    asked = len(broker.expressions.asked)

    reply = join(broker, group_id="h", subscribed_topic_regex="orders.*", **NAMES)

    assert topics(broker, reply) == ["orders", "orders_eu"]
    # The first group made `__consumer_offsets`, a new name.
    assert all(names == [OFFSETS_TOPIC] for _, names in broker.expressions.asked[asked:])


def test_an_invalid_expression_is_refused_each_time(broker: FakeBroker) -> None:
    first = join(broker, subscribed_topic_regex="(", **NAMES)
    second = join(broker, subscribed_topic_regex="(", **NAMES)

    assert (first.error_code, second.error_code) == (128, 128)
    assert len(broker.expressions.asked) == 1


def test_a_helper_that_fails_is_tried_again(broker: FakeBroker) -> None:
    broker.expressions.failures = 1

    failed = join(broker, subscribed_topic_regex="orders.*", **NAMES)
    reply = join(broker, subscribed_topic_regex="orders.*", **NAMES)

    assert failed.error_code == 15
    assert topics(broker, reply) == ["orders", "orders_eu"]


def test_a_helper_that_fails_for_new_topics_is_tried_again(broker: FakeBroker) -> None:
    """Without the second try a topic was not read until yet another one was created."""
    reply = join(broker, subscribed_topic_regex="orders.*", **NAMES)
    create(broker, "orders_us")
    broker.expressions.failures = 1
    broker.clock.advance(11)
    reply = beat(broker, reply)
    assert topics(broker, reply) == ["orders", "orders_eu"]

    for _ in range(2):
        broker.clock.advance(11)
        reply = beat(broker, reply)

    assert topics(broker, reply) == ["orders", "orders_eu", "orders_us"]


def test_a_helper_that_fails_after_a_restart_of_the_broker_is_tried_again() -> None:
    first = FakeBroker(names=("orders",))
    reply = join(first, subscribed_topic_regex="orders.*", **NAMES)
    broker = FakeBroker(first.logs, names=("orders", "orders_us"))
    broker.expressions.failures = 1
    for _ in range(3):
        broker.clock.advance(11)
        reply = broker.ask(
            CONSUMER_HEARTBEAT,
            1,
            group_id="g",
            member_id=reply.member_id,
            member_epoch=reply.member_epoch,
            rebalance_timeout=-1,
            subscribed_topic_names=None,
            subscribed_topic_regex=None,
            topic_partitions=None,
        )

    assert topics(broker, reply) == ["orders", "orders_us"]


def test_a_topic_that_was_deleted_and_made_again_is_found(broker: FakeBroker) -> None:
    reply = join(broker, subscribed_topic_regex="orders.*", **NAMES)
    for change in (broker.names.discard, broker.names.add):
        change("orders_eu")
        broker.version += 1
        for _ in range(3):
            broker.clock.advance(11)
            reply = beat(broker, reply)

    assert topics(broker, reply) == ["orders", "orders_eu"]


def test_many_expressions_that_are_valid_one_by_one_are_valid_together(
    broker: FakeBroker,
) -> None:
    """The 20th member got UNKNOWN_SERVER_ERROR: together they exceeded the memory of RE2."""
    expressions = [f"o.{{0,900}}rders.{{0,900}}{number}?" for number in range(40)]

    replies = [
        join(broker, f"m{number}", subscribed_topic_regex=expression, **NAMES)
        for number, expression in enumerate(expressions)
    ]

    assert {reply.error_code for reply in replies} == {0}


def test_more_expressions_in_use_than_are_kept_all_follow_new_topics(
    broker: FakeBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each one's new result had been forgotten when its group sent the next heartbeat."""
    monkeypatch.setattr(topic_matches, "KEPT_MAX", 3)
    matches = broker.groups.topic_matches
    expressions = [f"orders.*|{number}" for number in range(5)]
    for _ in range(3):
        for expression in expressions:
            matches.matching(expression)
    create(broker, "orders_us")
    for _ in range(2):
        for expression in expressions:
            matches.matching(expression)
        broker.clock.advance(11)

    found = [matches.matching(expression) for expression in expressions]

    assert [one and "orders_us" in one.topics for one in found] == [True] * 5
    assert len(broker.expressions.asked) == 10


def test_unused_expressions_are_forgotten(
    broker: FakeBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topic_matches, "KEPT_MAX", 3)
    matches = broker.groups.topic_matches
    for number in range(5):
        matches.matching(f"orders.*|{number}")
    broker.clock.advance(61)
    for bad in ("(", "[", "{,(", "*"):
        matches.when_known(bad, lambda: None)
    matches.matching("orders")
    asked = len(broker.expressions.asked)

    for forgotten in ("orders.*|0", "orders.*|2", "("):
        matches.matching(forgotten)

    assert len(broker.expressions.asked) == asked + 3
