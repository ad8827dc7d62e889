"""Groups whose members change over, one by one, from one protocol to the other and back."""

from struct import pack
from typing import Any

import pytest

from unit.broker.fake_broker import (
    CONSUMER_DESCRIBE,
    CONSUMER_HEARTBEAT,
    HEARTBEAT,
    JOIN,
    LEAVE,
    LIST,
    SYNC,
    FakeBroker,
)


@pytest.fixture
def broker() -> FakeBroker:
    return with_topic(FakeBroker())


def with_topic(broker: FakeBroker) -> FakeBroker:
    broker.partitions["t"] = 4
    return broker


def text(value: str) -> bytes:
    return pack(">h", len(value)) + value.encode()


def topic_partitions(indexes: list[int]) -> bytes:
    if not indexes:
        return pack(">i", 0)
    return pack(">i", 1) + text("t") + pack(f">i{len(indexes)}i", len(indexes), *indexes)


def subscription(owned: list[int]) -> bytes:
    """Return a subscription to `t` in version 1, with the partitions that are owned."""
    return pack(">hi", 1, 1) + text("t") + pack(">i", -1) + topic_partitions(owned)


def assignment(indexes: list[int]) -> bytes:
    return pack(">h", 1) + topic_partitions(indexes) + pack(">i", -1)


class Classic:
    """A member of the classic protocol that follows its rules."""

    def __init__(self, broker: FakeBroker, instance_id: str | None = None) -> None:
        self.broker = broker
        self.instance_id = instance_id
        self.member_id = ""
        self.generation = -1
        self.owned: list[int] = []

    def join(self, **changes: Any) -> Any:
        fields = {
            "group_id": "g",
            "session_timeout": 10_000,
            "rebalance_timeout": 60_000,
            "member_id": self.member_id,
            "group_instance_id": self.instance_id,
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": subscription(self.owned)}],
            **changes,
        }
        answers = self.broker.send(JOIN, 5, **fields)
        if not answers:
            return None
        reply = answers[0]
        if reply.error_code == 79:
            self.member_id = reply.member_id
            return self.join(**{**changes, "member_id": self.member_id})
        if reply.error_code == 0:
            self.member_id, self.generation = reply.member_id, reply.generation_id
        return reply

    def sync(self, shares: dict[str, list[int]] | None = None) -> Any:
        reply = self.broker.ask(
            SYNC,
            3,
            group_id="g",
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            assignments=[
                {"member_id": name, "assignment": assignment(share)}
                for name, share in (shares or {}).items()
            ],
        )
        if reply.error_code == 0:
            self.owned = read_indexes(reply.assignment)
        return reply

    def beat(self) -> int:
        reply = self.broker.ask(
            HEARTBEAT,
            3,
            group_id="g",
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
        )
        return int(reply.error_code)

    def leave(self) -> int:
        identity = {"member_id": self.member_id, "group_instance_id": self.instance_id}
        reply = self.broker.ask(LEAVE, 3, group_id="g", members=[identity])
        return int(reply.members[0].error_code)

    def alone(self) -> "Classic":
        """Make a stable group of this member."""
        self.join()
        self.sync({self.member_id: [0, 1, 2, 3]})
        return self


def read_indexes(data: bytes) -> list[int]:
    """Return the partitions of `t` in an assignment."""
    topics = int.from_bytes(data[2:6])
    if topics == 0:
        return []
    count = int.from_bytes(data[9:13])
    return [int.from_bytes(data[13 + 4 * n : 17 + 4 * n]) for n in range(count)]


class Modern:
    """A member of the new protocol that owns what the coordinator assigns."""

    def __init__(self, broker: FakeBroker, member_id: str, instance_id: str | None = None) -> None:
        self.broker = broker
        self.member_id = member_id
        self.instance_id = instance_id
        self.epoch = 0
        self.owned: list[int] = []

    def beat(self, epoch: int | None = None) -> Any:
        joins = self.epoch == 0
        reply = self.broker.ask(
            CONSUMER_HEARTBEAT,
            1,
            group_id="g",
            member_id=self.member_id,
            member_epoch=self.epoch if epoch is None else epoch,
            instance_id=self.instance_id,
            rebalance_timeout=60_000 if joins else -1,
            subscribed_topic_names=["t"] if joins else None,
            topic_partitions=self._owned(),
        )
        if reply.error_code == 0:
            self.epoch = reply.member_epoch
            if reply.assignment is not None:
                topics = reply.assignment.topic_partitions
                self.owned = [index for topic in topics for index in topic.partitions]
        return reply

    def _owned(self) -> list[Any]:
        topic_id = self.broker.find("t").id
        return [{"topic_id": topic_id, "partitions": self.owned}] if self.owned else []


def listed(broker: FakeBroker) -> tuple[str, str]:
    (group,) = broker.ask(LIST, 5).groups
    return group.group_type, group.group_state


def test_a_member_of_the_new_protocol_upgrades_a_group_and_shares_with_the_others(
    broker: FakeBroker,
) -> None:
    old = Classic(broker).alone()
    new = Modern(broker, "new")

    assert new.beat().error_code == 0
    assert (listed(broker), new.owned) == (("consumer", "Reconciling"), [])
    assert old.beat() == 27
    # It revokes the partitions that it may not keep, and reports that with its next JoinGroup.
    assert old.join().error_code == 0
    assert old.sync().error_code == 0
    assert old.owned == [0, 1]
    assert old.beat() == 27
    old.join()
    old.sync()
    new.beat()

    assert (old.owned, old.beat(), new.owned) == ([0, 1], 0, [2, 3])
    assert listed(broker) == ("consumer", "Stable")
    (group,) = broker.ask(CONSUMER_DESCRIBE, 1, group_ids=["g"]).groups
    assert {member.member_id: member.member_type for member in group.members} == {
        old.member_id: 0,
        "new": 1,
    }


def test_a_restart_in_the_middle_of_an_upgrade_loses_nothing(broker: FakeBroker) -> None:
    old = Classic(broker).alone()
    Modern(broker, "new").beat()

    restarted = with_topic(FakeBroker(broker.logs))

    old.broker = restarted
    assert listed(restarted) == ("consumer", "Reconciling")
    assert old.beat() == 27
    assert old.join().error_code == 0


def test_the_last_member_of_the_new_protocol_downgrades_a_group(broker: FakeBroker) -> None:
    old = Classic(broker).alone()
    new = Modern(broker, "new")
    new.beat()
    old.join()
    old.sync()

    new.beat(epoch=-1)

    assert listed(broker) == ("classic", "PreparingRebalance")
    assert old.beat() == 27
    reply = old.join()
    assert (reply.error_code, reply.leader) == (0, old.member_id)
    old.sync({old.member_id: [0, 1, 2, 3]})
    assert (old.owned, listed(broker)) == ([0, 1, 2, 3], ("classic", "Stable"))
    assert listed(FakeBroker(broker.logs)) == ("classic", "Stable")


def test_a_member_of_the_new_protocol_whose_session_ends_downgrades_as_well(
    broker: FakeBroker,
) -> None:
    old = Classic(broker).alone()
    Modern(broker, "new").beat()
    old.join()
    old.sync()
    for _ in range(9):
        broker.pass_time(5)
        if old.beat() == 27:
            old.join()
            old.sync()

    broker.pass_time(1)

    assert listed(broker)[0] == "classic"


@pytest.mark.parametrize(
    ("policy", "upgraded"),
    [("disabled", 69), ("downgrade", 69), ("upgrade", 0), ("bidirectional", 0)],
)
def test_the_policy_says_whether_a_group_with_members_is_upgraded(
    policy: str, upgraded: int
) -> None:
    broker = with_topic(FakeBroker(settings={"group.consumer.migration.policy": policy}))
    Classic(broker).alone()

    assert Modern(broker, "new").beat().error_code == upgraded


def test_a_group_that_may_only_be_upgraded_stays_of_the_new_protocol(broker: FakeBroker) -> None:
    broker = with_topic(FakeBroker(settings={"group.consumer.migration.policy": "upgrade"}))
    old = Classic(broker).alone()
    new = Modern(broker, "new")
    new.beat()
    old.join()
    old.sync()

    new.beat(epoch=-1)

    assert listed(broker)[0] == "consumer"
    assert (old.beat(), old.join().error_code, old.sync().error_code) == (27, 0, 0)
    assert old.owned == [0, 1, 2, 3]


def test_a_group_of_another_protocol_type_is_not_upgraded(broker: FakeBroker) -> None:
    connector = Classic(broker)
    connector.join(protocol_type="connect")

    assert Modern(broker, "new").beat().error_code == 69


def test_members_waiting_in_a_rebalance_must_rejoin(broker: FakeBroker) -> None:
    first = Classic(broker).alone()
    waiting = broker.send(
        JOIN,
        3,
        group_id="g",
        session_timeout=10_000,
        rebalance_timeout=60_000,
        member_id="",
        protocol_type="consumer",
        protocols=[{"name": "range", "metadata": subscription([])}],
    )
    assert (waiting, first.beat()) == ([], 27)

    Modern(broker, "new").beat()

    assert [answer.error_code for answer in waiting] == [27]


def test_a_classic_member_joins_a_group_of_the_new_protocol(broker: FakeBroker) -> None:
    new = Modern(broker, "new")
    new.beat()

    old = Classic(broker)
    assert old.join().error_code == 0
    old.sync()
    assert old.owned == []
    new.beat()
    new.beat()
    assert old.beat() == 27
    old.join()
    old.sync()

    assert (new.owned, old.owned) == ([0, 1], [2, 3])


def test_a_classic_member_is_refused_for_what_it_says(broker: FakeBroker) -> None:
    Modern(broker, "new").beat()
    old = Classic(broker)
    old.join()

    def codes(**changes: Any) -> int:
        return int(Classic(broker).join(**changes).error_code)

    assert codes(protocol_type="connect") == 23
    assert codes(protocols=[{"name": "other", "metadata": subscription([])}]) == 23
    assert codes(protocols=[{"name": "range", "metadata": b"?"}]) == 23
    generation, old.generation = old.generation, 9
    assert (old.beat(), old.sync().error_code) == (22, 22)
    old.generation = generation
    stranger = Classic(broker)
    stranger.member_id = "new"
    stranger.generation = 1
    assert (stranger.beat(), stranger.sync().error_code, stranger.leave()) == (25, 25, 25)
    assert old.leave() == 0


def test_a_classic_member_that_does_not_join_again_in_time_is_removed(
    broker: FakeBroker,
) -> None:
    old = Classic(broker).alone()
    new = Modern(broker, "new")
    new.beat()
    for _ in range(12):
        old.beat()
        new.beat()
        broker.pass_time(5)
    broker.pass_time(1)

    new.beat()

    assert new.owned == [0, 1, 2, 3]
    assert old.beat() == 25


def test_a_static_member_changes_its_protocol_under_its_instance_id(broker: FakeBroker) -> None:
    old = Classic(broker, "i").alone()

    new = Modern(broker, "new", "i")
    new.beat()

    assert (new.owned, listed(broker)) == ([0, 1, 2, 3], ("consumer", "Stable"))
    assert old.beat() == 82
    back = Classic(broker, "i")
    assert (back.join().error_code, new.beat().error_code) == (0, 69)
    assert listed(broker) == ("classic", "PreparingRebalance")


def test_an_administrator_removes_a_static_classic_member(broker: FakeBroker) -> None:
    Modern(broker, "new").beat()
    old = Classic(broker, "i")
    old.join()
    named = Classic(broker, "i")

    assert named.leave() == 0
    assert named.leave() == 25
