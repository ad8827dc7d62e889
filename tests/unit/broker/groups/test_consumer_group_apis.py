"""The APIs of the new protocol in every version, and what the others say of its groups."""

from typing import Any

import pytest

from duolog.core.errors import ConfigError
from duolog.log.errors import LogDirOffline
from unit.broker.fake_broker import (
    APIS,
    COMMIT,
    CONSUMER_DESCRIBE,
    CONSUMER_HEARTBEAT,
    DELETE,
    DELETE_OFFSETS,
    DESCRIBE,
    FETCH,
    HEARTBEAT,
    JOIN,
    LEAVE,
    LIST,
    SYNC,
    FakeBroker,
)

SESSION_S = 45


@pytest.fixture
def broker() -> FakeBroker:
    broker = FakeBroker()
    broker.partitions["t"] = 4
    return broker


def join_fields(member_id: str = "m", **changes: Any) -> dict[str, Any]:
    return {
        "group_id": "g",
        "member_id": member_id,
        "member_epoch": 0,
        "rebalance_timeout": 60_000,
        "subscribed_topic_names": ["t"],
        "topic_partitions": [],
        **changes,
    }


def join(broker: FakeBroker, member_id: str = "m", version: int = 1, **changes: Any) -> Any:
    return broker.ask(CONSUMER_HEARTBEAT, version, **join_fields(member_id, **changes))


def beat(broker: FakeBroker, member_id: str, epoch: int, **changes: Any) -> Any:
    return broker.ask(
        CONSUMER_HEARTBEAT,
        1,
        **{"group_id": "g", "member_id": member_id, "member_epoch": epoch, **changes},
    )


def partitions(reply: Any) -> list[int]:
    return [index for topic in reply.assignment.topic_partitions for index in topic.partitions]


def commit(broker: FakeBroker, version: int = 9, **fields: Any) -> int:
    partition = {"partition_index": 0, "committed_offset": 7, "committed_metadata": ""}
    answer = broker.ask(
        COMMIT,
        version,
        group_id="g",
        topics=[{"name": "t", "partitions": [partition]}],
        **fields,
    )
    return int(answer.topics[0].partitions[0].error_code)


def describe(broker: FakeBroker, version: int = 1, group_id: str = "g") -> Any:
    (group,) = broker.ask(CONSUMER_DESCRIBE, version, group_ids=[group_id]).groups
    return group


def classic_join(broker: FakeBroker, member_id: str = "", version: int = 3) -> Any:
    return broker.ask(
        JOIN,
        version,
        group_id="g",
        session_timeout=10_000,
        rebalance_timeout=60_000,
        member_id=member_id,
        protocol_type="consumer",
        protocols=[{"name": "range", "metadata": b"\0\1\0\0\0\0\xff\xff\xff\xff\0\0\0\0"}],
    )


@pytest.mark.parametrize("version", APIS[CONSUMER_HEARTBEAT].versions)
def test_consumer_group_heartbeat_in_every_version(broker: FakeBroker, version: int) -> None:
    first = join(broker, version=version)

    assert (first.error_code, first.error_message, first.member_epoch) == (0, None, 1)
    assert first.member_id == "m"
    assert first.heartbeat_interval.total_seconds() == 5
    assert partitions(first) == [0, 1, 2, 3]
    fields = {"group_id": "g", "member_id": "m"}
    again = broker.ask(CONSUMER_HEARTBEAT, version, member_epoch=1, **fields)
    assert (again.error_code, again.assignment) == (0, None)
    left = broker.ask(CONSUMER_HEARTBEAT, version, member_epoch=-1, **fields)
    assert (left.error_code, left.member_epoch) == (0, -1)


@pytest.mark.parametrize("version", APIS[CONSUMER_HEARTBEAT].versions)
def test_consumer_group_heartbeat_answers_errors_in_every_version(
    broker: FakeBroker, version: int
) -> None:
    join(broker, instance_id="i")
    fields = {"group_id": "g", "member_id": "m", "instance_id": "i"}

    codes = [
        join(broker, "n", version, group_id="").error_code,
        join(broker, "n", version, server_assignor="mine").error_code,
        join(broker, "n", version, instance_id="i").error_code,
        broker.ask(CONSUMER_HEARTBEAT, version, member_epoch=5, **fields).error_code,
        broker.ask(
            CONSUMER_HEARTBEAT, version, member_epoch=1, **{**fields, "member_id": "x"}
        ).error_code,
        broker.ask(
            CONSUMER_HEARTBEAT, version, member_epoch=1, **{**fields, "group_id": "x"}
        ).error_code,
    ]

    assert codes == [42, 112, 111, 110, 82, 69]


def test_a_member_of_version_0_is_given_an_id(broker: FakeBroker) -> None:
    reply = join(broker, "", version=0)

    assert len(reply.member_id) == 36
    assert join(broker, "", version=1).error_code == 42


def test_a_subscription_by_expression_comes_with_version_1(broker: FakeBroker) -> None:
    names: dict[str, Any] = {"subscribed_topic_names": None}
    good = join(broker, subscribed_topic_regex="t|u", **names)
    bad = join(broker, "n", subscribed_topic_regex="(", **names)

    assert partitions(good) == [0, 1, 2, 3]
    assert (bad.error_code, "`(`" in bad.error_message) == (128, True)


@pytest.mark.parametrize("version", APIS[CONSUMER_DESCRIBE].versions)
def test_consumer_group_describe_in_every_version(broker: FakeBroker, version: int) -> None:
    join(broker, rack_id="r", instance_id="i", subscribed_topic_regex="")

    group = describe(broker, version)

    assert (group.error_code, group.group_state, group.assignor_name) == (0, "Stable", "uniform")
    assert (group.group_epoch, group.assignment_epoch) == (1, 1)
    assert group.authorized_operations == -(2**31)
    (member,) = group.members
    assert (member.member_id, member.instance_id, member.rack_id) == ("m", "i", "r")
    assert (member.member_epoch, member.client_id, member.client_host) == (
        1,
        "client",
        "/127.0.0.1",
    )
    assert list(member.subscribed_topic_names) == ["t"]
    for assignment in (member.assignment, member.target_assignment):
        (topic,) = assignment.topic_partitions
        assert (topic.topic_name, list(topic.partitions)) == ("t", [0, 1, 2, 3])
    if version >= 1:
        assert member.member_type == 1


def test_a_deleted_topic_is_left_out_of_a_description(broker: FakeBroker) -> None:
    join(broker)

    broker.names.discard("t")

    assert describe(broker).members[0].assignment.topic_partitions == ()


@pytest.mark.parametrize("version", APIS[CONSUMER_DESCRIBE].versions)
def test_a_group_of_the_other_protocol_is_not_found_by_either_description(
    broker: FakeBroker, version: int
) -> None:
    join(broker)
    broker.ask(JOIN, 3, group_id="classic", session_timeout=10_000, rebalance_timeout=60_000,
               member_id="", protocol_type="consumer",
               protocols=[{"name": "range", "metadata": b""}])  # fmt: skip

    codes = [describe(broker, version, group_id).error_code for group_id in ("classic", "x", "")]
    (classic,) = broker.ask(DESCRIBE, 6, groups=["g"]).groups

    assert codes == [69, 69, 24]
    assert (classic.error_code, classic.group_state) == (69, "Dead")


@pytest.mark.parametrize(
    ("version", "types", "found"),
    [
        (5, [], ["g"]),
        (5, ["consumer"], ["g"]),
        (5, ["Consumer"], ["g"]),
        (5, ["classic"], []),
        (4, None, ["g"]),
    ],
)
def test_list_groups_returns_and_filters_the_type(
    broker: FakeBroker, version: int, types: list[str] | None, found: list[str]
) -> None:
    join(broker)

    filters = {} if types is None else {"types_filter": types}
    groups = broker.ask(LIST, version, states_filter=["stable"], **filters).groups

    assert [group.group_id for group in groups] == found
    if found and version == 5:
        assert (groups[0].group_type, groups[0].group_state) == ("consumer", "Stable")
        assert groups[0].protocol_type == "consumer"


def test_members_commit_and_fetch_at_their_epoch_only(broker: FakeBroker) -> None:
    join(broker)

    codes = {
        "right": commit(broker, generation_id_or_member_epoch=1, member_id="m"),
        "stale": commit(broker, generation_id_or_member_epoch=0, member_id="m"),
        "unknown": commit(broker, generation_id_or_member_epoch=1, member_id="x"),
        "nobody": commit(broker, generation_id_or_member_epoch=-1, member_id=""),
        "old": commit(broker, 8, generation_id_or_member_epoch=1, member_id="m"),
    }

    assert codes == {"right": 0, "stale": 113, "unknown": 25, "nobody": 25, "old": 35}

    def fetch(**fields: Any) -> tuple[int, int]:
        groups = [{"group_id": "g", "topics": None, **fields}]
        (group,) = broker.ask(FETCH, 9, groups=groups, require_stable=False).groups
        return group.error_code, sum(len(topic.partitions) for topic in group.topics)

    assert fetch() == (0, 1)
    assert fetch(member_id="m", member_epoch=1) == (0, 1)
    assert fetch(member_id="m", member_epoch=0) == (113, 0)
    assert fetch(member_id="x", member_epoch=1) == (25, 0)


def test_anybody_may_commit_to_an_empty_group(broker: FakeBroker) -> None:
    join(broker)
    beat(broker, "m", -1)

    assert commit(broker, generation_id_or_member_epoch=-1, member_id="") == 0


def test_a_group_with_members_is_not_deleted_and_an_empty_one_is(broker: FakeBroker) -> None:
    join(broker)
    commit(broker, generation_id_or_member_epoch=1, member_id="m")

    (busy,) = broker.ask(DELETE, 2, groups_names=["g"]).results
    beat(broker, "m", -1)
    (gone,) = broker.ask(DELETE, 2, groups_names=["g"]).results

    assert (busy.error_code, gone.error_code) == (68, 0)
    assert describe(broker).error_code == 69
    restarted = FakeBroker(broker.logs)
    assert restarted.ask(LIST, 5).groups == ()


def test_offsets_of_topics_that_are_read_are_not_deleted(broker: FakeBroker) -> None:
    join(broker)
    commit(broker, generation_id_or_member_epoch=1, member_id="m")
    asked = [{"name": "t", "partitions": [{"partition_index": 0}]}]

    read = broker.ask(DELETE_OFFSETS, 0, group_id="g", topics=asked)
    beat(broker, "m", 1, subscribed_topic_names=["u"])
    unread = broker.ask(DELETE_OFFSETS, 0, group_id="g", topics=asked)

    codes = [answer.topics[0].partitions[0].error_code for answer in (read, unread)]
    assert codes == [86, 0]


def test_an_answer_waits_until_its_content_is_durable(broker: FakeBroker) -> None:
    broker.durable = False
    first = broker.send(CONSUMER_HEARTBEAT, 1, **join_fields())
    second = broker.send(
        CONSUMER_HEARTBEAT, 1, **{**join_fields(), "member_epoch": 1, "member_id": "m"}
    )
    assert (first, second) == ([], [])

    broker.sync_disk()

    assert [answer.member_epoch for answer in (*first, *second)] == [1, 1]
    assert partitions(first[0]) == partitions(second[0]) == [0, 1, 2, 3]


def test_a_heartbeat_does_not_wait_for_commits(broker: FakeBroker) -> None:
    join(broker)
    broker.durable = False
    partition = {"partition_index": 0, "committed_offset": 7, "committed_metadata": ""}
    commits = broker.send(
        COMMIT,
        9,
        group_id="g",
        generation_id_or_member_epoch=1,
        member_id="m",
        topics=[{"name": "t", "partitions": [partition]}],
    )

    assert (commits, beat(broker, "m", 1).error_code) == ([], 0)


def test_two_members_of_one_round_do_not_get_the_same_partition(broker: FakeBroker) -> None:
    broker.durable = False
    first = broker.send(CONSUMER_HEARTBEAT, 1, **join_fields("a"))
    second = broker.send(CONSUMER_HEARTBEAT, 1, **join_fields("b"))

    broker.sync_disk()

    assert partitions(first[0]) == [0, 1, 2, 3]
    assert partitions(second[0]) == []


def test_a_failing_log_refuses_all_waiting_requests(broker: FakeBroker) -> None:
    broker.durable = False
    first = broker.send(CONSUMER_HEARTBEAT, 1, **join_fields())
    second = broker.send(
        CONSUMER_HEARTBEAT, 1, **{**join_fields(), "member_epoch": 1, "member_id": "m"}
    )

    broker.sync_disk(LogDirOffline("log directory is offline"))

    assert [answer.error_code for answer in (*first, *second)] == [16, 16]


def test_a_record_that_is_too_large_leaves_the_group_as_it_was(broker: FakeBroker) -> None:
    join(broker)
    broker.batch_bytes_max = 10

    assert join(broker, "b").error_code == -1
    broker.batch_bytes_max = 2**20
    assert [member.member_id for member in describe(broker).members] == ["m"]
    assert join(broker, "b").error_code == 0


def test_a_silent_member_is_removed_and_the_group_survives_a_restart(broker: FakeBroker) -> None:
    join(broker, "a")
    join(broker, "b")
    broker.pass_time(SESSION_S - 5)
    beat(broker, "a", 1)

    broker.pass_time(10)

    assert [member.member_id for member in describe(broker).members] == ["a"]
    restarted = FakeBroker(broker.logs)
    restarted.partitions["t"] = 4
    assert [member.member_id for member in describe(restarted).members] == ["a"]
    assert beat(restarted, "a", 1).error_code == 0
    restarted.pass_time(SESSION_S + 1)
    assert describe(restarted).group_state == "Empty"


def test_a_group_may_have_timeouts_of_its_own(broker: FakeBroker) -> None:
    broker.group_configs = {
        "consumer.session.timeout.ms": 50_000,
        "consumer.heartbeat.interval.ms": 7_000,
    }

    reply = join(broker)

    assert reply.heartbeat_interval.total_seconds() == 7
    broker.pass_time(SESSION_S + 1)
    assert describe(broker).group_state == "Stable"
    broker.pass_time(5)
    assert describe(broker).group_state == "Empty"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"session.timeout.ms": "1000"}, "not between 45000 and 60000"),
        ({"heartbeat.interval.ms": "60000"}, "not between 5000 and 15000"),
        (
            {"heartbeat.interval.ms": "50000", "max.heartbeat.interval.ms": "50000"},
            "not below the session timeout",
        ),
        ({"assignors": "sticky"}, "must be one of uniform, range"),
        ({"migration.policy": "maybe"}, "must be one of"),
    ],
)
def test_settings_outside_of_their_bounds_are_refused(
    settings: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        FakeBroker(settings={f"group.consumer.{name}": text for name, text in settings.items()})


def test_requests_are_refused_while_groups_load(broker: FakeBroker) -> None:
    join(broker)

    loading = FakeBroker(broker.logs, slow_reads_s=1.0)

    assert join(loading).error_code == 14
    assert describe(loading).error_code == 14


def test_an_empty_classic_group_becomes_one_of_the_new_protocol(broker: FakeBroker) -> None:
    member_id = classic_join(broker).member_id
    broker.ask(SYNC, 3, group_id="g", generation_id=1, member_id=member_id, assignments=[])
    commit(broker, generation_id_or_member_epoch=1, member_id=member_id)
    broker.ask(LEAVE, 2, group_id="g", member_id=member_id)

    assert join(broker).error_code == 0

    for each in (broker, FakeBroker(broker.logs)):
        (listed,) = each.ask(LIST, 5).groups
        assert (listed.group_type, listed.group_state) == ("consumer", "Stable")
        (group,) = each.ask(FETCH, 8, groups=[{"group_id": "g", "topics": None}]).groups
        assert group.topics[0].partitions[0].committed_offset == 7


def test_an_empty_group_of_the_new_protocol_becomes_a_classic_one(broker: FakeBroker) -> None:
    join(broker)
    commit(broker, generation_id_or_member_epoch=1, member_id="m")
    beat(broker, "m", -1)

    member_id = classic_join(broker).member_id
    broker.ask(SYNC, 3, group_id="g", generation_id=1, member_id=member_id, assignments=[])

    for each in (broker, FakeBroker(broker.logs)):
        (listed,) = each.ask(LIST, 5).groups
        assert (listed.group_type, listed.group_state) == ("classic", "Stable")
        (group,) = each.ask(FETCH, 8, groups=[{"group_id": "g", "topics": None}]).groups
        assert group.topics[0].partitions[0].committed_offset == 7
    assert (
        broker.ask(HEARTBEAT, 3, group_id="g", generation_id=1, member_id=member_id).error_code == 0
    )
    assert beat(broker, "m", 1).error_code == 69


def test_a_group_that_only_kept_offsets_becomes_one_of_the_new_protocol(
    broker: FakeBroker,
) -> None:
    commit(broker, generation_id_or_member_epoch=-1, member_id="")

    assert join(broker).error_code == 0

    for each in (broker, FakeBroker(broker.logs)):
        assert [group.group_type for group in each.ask(LIST, 5).groups] == ["consumer"]


def test_offsets_of_an_empty_group_expire_and_the_group_with_them(broker: FakeBroker) -> None:
    join(broker)
    commit(broker, generation_id_or_member_epoch=1, member_id="m")
    week_s = 7 * 24 * 3600
    for _ in range(3):
        broker.pass_time(40)
        beat(broker, "m", 1)
    beat(broker, "m", -1)

    broker.pass_time(week_s - 700)
    assert [group.group_state for group in broker.ask(LIST, 5).groups] == ["Empty"]
    broker.pass_time(1300)

    assert broker.ask(LIST, 5).groups == ()
    assert list(FakeBroker(broker.logs).groups.list_groups()) == []
