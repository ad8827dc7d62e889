"""Conversations about offsets committed with and without transactions."""

import time
from typing import Any

from conformance.kafka.members import (
    DELETE_GROUPS,
    HEARTBEAT,
    JOIN,
    OFFSET_FETCH,
    TXN_OFFSET_COMMIT,
    Members,
)
from conformance.kafka.transaction_conversations import ready
from conformance.kafka.wire_client import WireClient
from conformance.kafka.wire_helpers import create_and_wait, new_topic


def offsets(client: WireClient) -> Any:
    create_and_wait(client, new_topic("groups", 2), new_topic("groups_b"))
    members = Members(client, "offsets")
    members.fetch()
    members.fetch(topics=None)
    for version in range(2, 10):
        members.commit(version=version, offset=version)
        members.fetch(version)
    for version in range(2, 10):
        members.fetch(version, topics=None)
        members.fetch(version, topics=())
        members.fetch(version, topics=(("groups", 7), ("nope", 0)))
    members.fetch(1)
    members.commit(topics=(("groups", 9), ("nope", 0), ("groups", 1)))
    members.commit(metadata="m" * 4096)
    members.commit(metadata="m" * 4097)
    members.commit(metadata="ü" * 4096)
    members.commit(metadata=None)
    members.fetch()
    members.commit("m")
    members.commit("m", 3)
    members.commit(generation=3)
    members.commit(group_instance_id="i")
    for version in (2, 8, 9):
        members.group_id = "offsets_nobody"
        members.commit("m", 3, version=version)
        members.group_id = ""
        members.commit(version=version)
        members.fetch(version)
        members.commit("m", 3, version=version)
    return members.said


def offsets_that_are_deleted(client: WireClient) -> Any:
    create_and_wait(client, new_topic("groups", 2), new_topic("groups_b"))
    members = Members(client, "unoffset")
    members.delete_offsets(("groups", 0))
    a, generation = members.stable_member()
    members.commit(a, generation, topics=(("groups", 0), ("groups", 1), ("groups_b", 0)))
    members.delete_offsets(("groups", 0), ("groups_b", 0), ("groups", 9), ("nope", 0))
    members.fetch(topics=None)
    members.leave((a, None))
    members.delete_offsets(("groups", 0), ("groups_b", 0))
    members.fetch(topics=None)
    members.group_id = ""
    members.delete_offsets(("groups", 0))

    connect = Members(client, "unoffset_connect")
    connect.stable_member(protocol_type="connect")
    connect.delete_offsets(("groups", 0))

    simple = Members(client, "unoffset_simple")
    simple.commit()
    simple.delete_offsets(("groups", 0), ("groups", 1))
    simple.fetch()
    return members.said, connect.said, simple.said


class TransactionalMembers(Members):
    """Members whose offsets a producer commits in its transactions."""

    def __init__(self, client: WireClient, group_id: str) -> None:
        super().__init__(client, group_id)
        self.producer = ready(client, group_id)
        self.producer.init()

    def commit_in_transaction(
        self, offset: int = 7, *, version: int = 3, add: bool = True, **changes: Any
    ) -> None:
        if add:
            self.producer.add_offsets(self.group_id)
        row = {
            "partition_index": changes.pop("index", 0),
            "committed_offset": offset,
            "committed_leader_epoch": 0,
            "committed_metadata": changes.pop("metadata", "note"),
        }
        fields = {
            "group_id": self.group_id,
            "generation_id": -1,
            "member_id": "",
            "group_instance_id": None,
            "topics": [{"name": "groups", "partitions": [row]}],
            **changes,
        }
        self.ask(TXN_OFFSET_COMMIT, version, **fields, **self.producer.named())

    def end(self, *, commit: bool) -> None:
        """End the transaction and wait for its markers."""
        self.producer.end(4, commit=commit)
        deadline = time.monotonic() + 60
        rows = [{"name": "groups", "partition_indexes": [0, 1]}]
        while any(
            partition.error_code
            for topic in self.client.ask(
                OFFSET_FETCH, 7, group_id=self.group_id, topics=rows, require_stable=True
            ).topics
            for partition in topic.partitions
        ):
            assert time.monotonic() < deadline, "the transaction does not end"
            time.sleep(0.05)


def offsets_in_open_transactions(client: WireClient) -> Any:
    create_and_wait(client, new_topic("groups", 2))
    members = TransactionalMembers(client, "txn_offsets")
    members.commit(offset=3)
    members.commit_in_transaction()
    for version in (6, 7, 8, 9):
        members.fetch(version)
        members.fetch(version, topics=None)
    members.commit(offset=4)
    members.fetch(6)
    members.end(commit=True)
    members.fetch()
    members.commit_in_transaction(8)
    members.end(commit=False)
    members.fetch()
    members.commit_in_transaction(9, index=1)
    members.delete_offsets(("groups", 0), ("groups", 1))
    members.fetch(topics=None)
    members.end(commit=True)
    members.fetch(topics=None)
    members.commit_in_transaction(10)
    members.ask(DELETE_GROUPS, 2, groups_names=[members.group_id])
    members.end(commit=True)
    members.fetch(topics=None)
    members.commit_in_transaction(11, metadata="m" * 4097)
    members.commit_in_transaction(11, index=9)
    members.commit_in_transaction(11, group_id="", add=False)
    members.end(commit=True)
    return members.said


def members_that_commit_in_transactions(client: WireClient) -> Any:
    create_and_wait(client, new_topic("groups", 2))
    members = TransactionalMembers(client, "txn_members")
    members.commit_in_transaction(generation_id=3, member_id="nobody")
    a, generation = members.stable_member("i")
    mine: dict[str, Any] = {"member_id": a, "group_instance_id": "i"}
    for version in (3, 4):
        members.commit_in_transaction(version=version)
        members.commit_in_transaction(version=version, generation_id=generation, **mine)
        members.commit_in_transaction(version=version, generation_id=generation + 1, **mine)
        members.commit_in_transaction(version=version, generation_id=generation, member_id="no")
        members.commit_in_transaction(version=version, generation_id=-1, **mine)
        fenced: dict[str, Any] = {"member_id": "no", "group_instance_id": "i"}
        members.commit_in_transaction(version=version, generation_id=generation, **fenced)
        other: dict[str, Any] = {"member_id": a, "group_instance_id": "j"}
        members.commit_in_transaction(version=version, generation_id=generation, **other)
    parked = members.park(JOIN, 3, **members.join_fields())
    beat = {"group_id": members.group_id, "generation_id": generation, **mine}
    while not client.ask(HEARTBEAT, 4, **beat).error_code:
        pass
    members.commit_in_transaction(generation_id=generation, **mine)
    joined = members.join(a, group_instance_id="i")
    parked.answer()
    members.commit_in_transaction(generation_id=joined.generation_id, **mine)
    members.commit_in_transaction(generation_id=generation, **mine)
    members.end(commit=True)
    members.fetch()
    return members.said
