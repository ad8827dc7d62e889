"""The power is cut at every operation of the disk while users and rules are changed.

What was answered is there at the next start, and decides. What was not is there whole, or not at
all: of two users that are altered together, never only one is.
"""

from collections.abc import Callable
from typing import Any

import pytest

from duolog.security.credentials.scram import ScramMechanism, salted_password
from duolog.testing.clock import FakeClock
from duolog.testing.disk import CrashDisk
from fault.crash_broker import CrashBroker
from unit.broker.conftest import Client

CREATE_ACLS, DELETE_ACLS, ALTER_SCRAM = 30, 31, 51
SETTINGS = {"authorizer.class.name": "acl", "allow.everyone.if.no.acl.found": "true"}
SALTED = salted_password(ScramMechanism.SCRAM_SHA_256, "pencil", b"salt", 4096)
USERS = {"alice": 1, "eve": 1}
Request = tuple[int, int, dict[str, Any]]
Found = tuple[dict[str, int], set[str]]


def alter(*users: str, deleted: tuple[str, ...] = ()) -> Request:
    """Return a request for several users; Kafka refuses to alter one twice in a request."""
    upsertions = [
        {
            "name": user,
            "mechanism": ScramMechanism.SCRAM_SHA_256,
            "iterations": 4096,
            "salt": b"salt",
            "salted_password": SALTED,
        }
        for user in users
    ]
    deletions = [{"name": user, "mechanism": ScramMechanism.SCRAM_SHA_256} for user in deleted]
    return ALTER_SCRAM, 0, {"deletions": deletions, "upsertions": upsertions}


def create(*names: str) -> Request:
    rules = [
        {
            "resource_type": 2,
            "resource_pattern_type": 3,
            "resource_name": name,
            "principal": "User:alice",
            "host": "*",
            "operation": 3,
            "permission_type": 3,
        }
        for name in names
    ]
    return CREATE_ACLS, 3, {"creations": rules}


def delete() -> Request:
    everything = {
        "resource_type_filter": 2,
        "pattern_type_filter": 1,
        "resource_name_filter": None,
        "principal_filter": None,
        "host_filter": None,
        "operation": 1,
        "permission_type": 1,
    }
    return DELETE_ACLS, 3, {"filters": [everything]}


def answered(broker: CrashBroker, client: Client, request: Request) -> bool:
    """Send a request; return True if an answer confirms it."""
    key, version, fields = request
    client.send(key, version, **fields)
    for _ in range(10):
        broker.turn()
    answer = client._take()  # noqa: SLF001
    if answer is None:
        return False
    rows = answer.filter_results if key == DELETE_ACLS else answer.results
    return {int(row.error_code) for row in rows} == {0}


def opened() -> tuple[CrashBroker, Client]:
    broker = CrashBroker(CrashDisk(), FakeClock(), **SETTINGS)
    return broker, broker.client()


def begun() -> tuple[CrashBroker, Client]:
    broker, client = opened()
    for request in (alter(*USERS), create("a", "b")):
        assert answered(broker, client, request)
    return broker, client


def state_of(broker: CrashBroker) -> Found:
    state = broker.broker.security.state
    users = {user: len(credentials) for user, credentials in state.users.items()}
    return users, {acl.resource_name for acl in state.acls}


@pytest.mark.parametrize("seeded", [True, False], ids=["power", "kill"])
@pytest.mark.parametrize(
    ("start", "request_of", "before", "after"),
    [
        (opened, lambda: alter(*USERS), ({}, set()), (USERS, set())),
        (
            begun,
            lambda: alter("bob", "carol"),
            (USERS, {"a", "b"}),
            ({**USERS, "bob": 1, "carol": 1}, {"a", "b"}),
        ),
        (begun, lambda: alter(deleted=("alice", "eve")), (USERS, {"a", "b"}), ({}, {"a", "b"})),
        (begun, lambda: create("c", "d"), (USERS, {"a", "b"}), (USERS, {*"abcd"})),
        (begun, delete, (USERS, {"a", "b"}), (USERS, set())),
    ],
    ids=["first", "add", "remove", "create-rules", "delete-rules"],
)
def test_a_cut_at_any_operation_leaves_all_of_a_change_or_nothing(
    start: Callable[[], tuple[CrashBroker, Client]],
    request_of: Callable[[], Request],
    before: Found,
    after: Found,
    *,
    seeded: bool,
) -> None:
    broker, client = start()
    first = broker.disk.operations
    assert answered(broker, client, request_of())
    count = broker.disk.operations - first
    broker.leave()
    found = []
    for cut in range(count + 1):
        broker, client = start()
        broker.disk.power_off_after(operations=cut)
        acknowledged = answered(broker, client, request_of())

        again = broker.crashed(cut if seeded else None)

        state = state_of(again)
        assert state in (before, after)
        assert state == after or not acknowledged
        found.append(state)
        again.leave()
    assert found[0] == before
    assert found[-1] == after
