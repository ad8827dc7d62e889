"""Conversations about groups of the classic protocol; groups are named after each."""

import time
from typing import Any

from conformance.kafka.members import (
    DELETE_GROUPS,
    FIND_COORDINATOR,
    HEARTBEAT,
    JOIN,
    LIST,
    SYNC,
    Members,
    await_offsets_topic,
    subscription,
)
from conformance.kafka.wire_client import WireClient
from conformance.kafka.wire_helpers import create_and_wait, new_topic, plain


def members_come_and_go(client: WireClient) -> Any:
    create_and_wait(client, new_topic("groups", 2))
    members = Members(client, "come_and_go")
    first = members.join()
    unknown = [members.join("nobody"), members.beat("nobody", 1), members.sync("nobody", 1)]
    joined = members.join(first.member_id)
    a, generation = joined.member_id, joined.generation_id
    members.describe()
    members.commit(a, generation)
    members.beat(a, generation)
    members.sync(a, generation + 1)
    members.sync(a, generation, protocol_name="other")
    members.sync(a, generation, protocol_type="connect")
    members.sync(a, generation, shares={a: b"all"})
    members.describe()
    members.beat(a, generation)
    members.beat(a, generation + 1)
    members.join(protocol_type="connect")
    members.join(protocols=[{"name": "other", "metadata": b""}])
    members.join(a, protocols=[{"name": "other", "metadata": b""}])
    members.join(session_timeout=1)

    second = members.join()
    parked = members.park(JOIN, 9, **members.join_fields(second.member_id))
    while not members.client.ask(
        HEARTBEAT,
        4,
        group_id="come_and_go",
        generation_id=generation,
        member_id=a,
        group_instance_id=None,
    ).error_code:
        pass
    members.beat(a, generation)
    members.commit(a, generation)
    members.sync(a, generation)
    members.describe()
    leader = members.join(a)
    b = parked.answer().member_id
    generation = leader.generation_id
    members.commit(b, generation)
    follower = members.park(SYNC, 5, **members.sync_fields(b, generation))
    members.sync(a, generation, shares={a: b"a", b: b"b"})
    follower.answer()
    members.describe()
    members.join(b)
    members.sync(b, generation)
    members.commit(b, generation - 1)
    members.commit()
    members.commit("nobody", generation)
    members.leave((b, None), ("nobody", None), ("", None), ("", "i"))
    members.beat(a, generation)
    members.join(a)
    members.leave((a, None))
    members.describe()
    members.beat(a, generation)
    members.join(a)
    assert unknown
    return members.said


def requests_in_every_version(client: WireClient) -> Any:
    create_and_wait(client, new_topic("groups", 2))
    said = []
    for version in range(6):
        members = Members(client, f"versions_{version}")
        join_version = (0, 1, 3, 5, 7, 9)[version]
        joined = members.join(version=join_version)
        if joined.error_code:
            joined = members.join(joined.member_id, version=join_version)
        of = (joined.member_id, joined.generation_id)
        members.sync(*of, version=version, shares={of[0]: b"all"})
        members.beat(*of, version=min(version, 4))
        members.commit(*of, version=version + 2)
        members.describe(version=version)
        members.leave((of[0], None), version=version)
        members.leave((of[0], None), version=version)
        members.client.ask(LIST, version)
        members.group_id = f"no_such_{version}"
        members.leave((of[0], None), version=version)
        members.beat(*of, version=min(version, 4))
        members.sync(*of, version=version)
        members.join("nobody", version=join_version)
        members.describe(version=version)
        members.group_id = ""
        members.leave((of[0], None), version=version)
        members.beat(*of, version=min(version, 4))
        members.sync(*of, version=version)
        members.join(version=join_version)
        members.describe(version=version)
        said.append(members.said)
    return said


def static_members(client: WireClient) -> Any:
    create_and_wait(client, new_topic("groups", 2))
    members = Members(client, "static")
    a, generation = members.stable_member("i")
    members.describe()
    again = members.join(group_instance_id="i")
    members.describe()
    members.beat(a, generation, group_instance_id="i")
    members.beat(a, generation)
    members.sync(again.member_id, generation, group_instance_id="i")
    members.commit(a, generation, group_instance_id="i")
    members.commit(again.member_id, generation, group_instance_id="i")
    members.commit(again.member_id, generation, group_instance_id="other")
    members.join(a, group_instance_id="i")
    old = members.join(group_instance_id="i", version=8)
    changed = [{"name": "range", "metadata": subscription("groups", "more")}]
    newer = members.join(group_instance_id="i", version=8, protocols=changed)
    rejoined = members.join(newer.member_id, group_instance_id="i", protocols=changed)
    members.sync(
        rejoined.member_id,
        rejoined.generation_id,
        group_instance_id="i",
        shares={rejoined.member_id: b"all"},
    )
    other = [{"name": "roundrobin", "metadata": subscription("groups")}]
    members.join(group_instance_id="i", protocols=other)
    members.leave((old.member_id, "i"), ("", "j"))
    members.leave(("", "i"))
    members.describe()
    return members.said


def members_that_are_silent(client: WireClient) -> Any:
    """Wait for a rebalance timeout of one second and a session timeout of six."""
    create_and_wait(client, new_topic("groups", 2))
    silent, late, fixed, hasty = (
        Members(client, f"silent_{name}") for name in ("join", "sync", "static", "session")
    )
    hasty.stable_member(session_timeout=6_000)
    fixed.stable_member("i", rebalance_timeout=1_000)
    a, _ = silent.stable_member(rebalance_timeout=1_000)

    parked = silent.park(JOIN, 3, **silent.join_fields(rebalance_timeout=1_000))
    silent.describe()
    b = parked.answer()
    silent.beat(a, b.generation_id)
    silent.describe()

    first = late.join(version=3, rebalance_timeout=1_000)
    leader, generation = first.member_id, first.generation_id
    late.describe()
    deadline = time.monotonic() + 60
    while not client.ask(
        HEARTBEAT, 3, group_id=late.group_id, generation_id=generation, member_id=leader,
        group_instance_id=None,
    ).error_code and time.monotonic() < deadline:  # fmt: skip
        time.sleep(0.1)
    late.describe()
    late.sync(leader, generation)

    # A static member that does not come back in time is not removed: its session decides.
    parked = fixed.park(JOIN, 3, **fixed.join_fields(rebalance_timeout=1_000))
    answer = parked.answer()
    fixed.describe()
    fixed.beat(answer.member_id, answer.generation_id)

    expired = time.monotonic() + 60
    while hasty.state() != "Empty" and time.monotonic() < expired:
        time.sleep(0.2)
    hasty.describe()
    return [members.said for members in (silent, late, fixed, hasty)]


def groups_that_are_deleted(client: WireClient) -> Any:
    create_and_wait(client, new_topic("groups", 2))
    said = []
    for version in range(3):
        members = Members(client, f"deleted_{version}")
        a, generation = members.stable_member()
        members.commit(a, generation)
        simple = Members(client, f"deleted_simple_{version}")
        simple.commit()
        names = [simple.group_id, members.group_id, f"deleted_nobody_{version}", simple.group_id]
        answers = [client.ask(DELETE_GROUPS, version, groups_names=names)]
        members.leave((a, None))
        answers += [
            client.ask(DELETE_GROUPS, version, groups_names=[members.group_id]),
            client.ask(DELETE_GROUPS, version, groups_names=[members.group_id]),
            client.ask(DELETE_GROUPS, version, groups_names=[]),
            client.ask(DELETE_GROUPS, version, groups_names=[""]),
        ]
        simple.fetch()
        members.fetch()
        members.describe()
        said.append((members.said, simple.said))
        for answer in answers:
            found = plain(answer)
            found["results"].sort(key=str)
            said.append(found)
    return said


def groups_that_are_listed(client: WireClient) -> Any:
    create_and_wait(client, new_topic("groups", 2))
    stable = Members(client, "listed_stable")
    stable.stable_member()
    empty = Members(client, "listed_empty")
    a, _ = empty.stable_member()
    empty.leave((a, None))
    simple = Members(client, "listed_simple")
    simple.commit()
    connect = Members(client, "listed_connect")
    connect.stable_member(protocol_type="connect")
    rebalancing = Members(client, "listed_rebalancing")
    joined = rebalancing.join()
    rebalancing.join(joined.member_id)
    await_offsets_topic(client)

    def listed(version: int, states: Any = (), types: Any = ()) -> Any:
        answer = plain(client.ask(LIST, version, states_filter=states, types_filter=types))
        rows = [row for row in answer["groups"] if row["group_id"].startswith("listed_")]
        return answer["error_code"], sorted(rows, key=str)

    return (
        [listed(version) for version in range(6)],
        [listed(5, [name]) for name in
         ("Stable", "stable", " EMPTY ", "CompletingRebalance", "Dead", "nonsense", "")],
        [listed(4, ["Empty", "Stable"]), listed(5, ["Stable"], ["classic"])],
        [listed(5, (), [name]) for name in ("classic", "Classic", "consumer", "share")],
    )  # fmt: skip


def coordinators(client: WireClient) -> Any:
    create_and_wait(client, new_topic("groups", 2))
    Members(client, "coordinated").commit()

    def find(version: int, key_type: int = 0, keys: tuple[str, ...] = ("coordinated",)) -> Any:
        answer = client.ask(
            FIND_COORDINATOR,
            version,
            key=keys[0] if keys else "",
            key_type=key_type,
            coordinator_keys=keys,
        )
        return plain(answer)

    return (
        [find(version) for version in range(6)],
        [find(version, keys=("a", "", "a")) for version in range(6)],
        [find(version, keys=()) for version in (4, 5)],
        [find(version, 2, ("g:AAAAAAAAAAAAAAAAAAAAAA:0",)) for version in (4, 5)],
        [find(version, 9, ("a", "b")) for version in (1, 4, 5)],
    )
