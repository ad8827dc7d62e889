"""The power is cut at every operation of the disk while offsets are committed and groups deleted.

What was answered is there at the next start; what was not is there whole, or not at all.
"""

from collections.abc import Callable
from typing import Any

import pytest

from fault.crash_broker import TOPIC, CrashBroker, opened
from unit.broker.conftest import Client

OFFSET_COMMIT, OFFSET_DELETE, DELETE_GROUPS = 8, 47, 42
PARTITIONS = (0, 1, 2)
Request = tuple[int, int, dict[str, Any]]


def commit(offset: int, group_id: str = "g") -> Request:
    rows = [
        {"partition_index": index, "committed_offset": offset, "committed_metadata": ""}
        for index in PARTITIONS
    ]
    fields = {
        "group_id": group_id,
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "topics": [{"name": TOPIC, "partitions": rows}],
    }
    return OFFSET_COMMIT, 8, fields


def delete_group() -> Request:
    return DELETE_GROUPS, 2, {"groups_names": ["g"]}


def delete_offsets() -> Request:
    rows = [{"partition_index": index} for index in PARTITIONS]
    topics = [{"name": TOPIC, "partitions": rows}]
    return OFFSET_DELETE, 0, {"group_id": "g", "topics": topics}


def error_codes(answer: Any) -> set[int]:
    if hasattr(answer, "results"):
        return {int(row.error_code) for row in answer.results}
    return {int(row.error_code) for topic in answer.topics for row in topic.partitions}


def answered(broker: CrashBroker, client: Client, request: Request) -> bool:
    """Send a request; return True if an answer confirms it."""
    key, version, fields = request
    client.send(key, version, **fields)
    for _ in range(10):
        broker.turn()
    answer = client._take()  # noqa: SLF001
    return answer is not None and error_codes(answer) == {0}


def begun() -> tuple[CrashBroker, Client]:
    broker = opened()
    client = broker.client()
    for request in (commit(1, "other"), commit(2)):
        assert answered(broker, client, request)
    return broker, client


@pytest.mark.parametrize("seeded", [True, False], ids=["power", "kill"])
@pytest.mark.parametrize(
    ("request_of", "after"),
    [(lambda: commit(3), [3, 3, 3]), (delete_group, []), (delete_offsets, [])],
    ids=["commit", "delete-group", "delete-offsets"],
)
def test_a_cut_at_any_operation_leaves_all_of_it_or_nothing(
    request_of: Callable[[], Request], after: list[int], *, seeded: bool
) -> None:
    broker, client = begun()
    first = broker.disk.operations
    assert answered(broker, client, request_of())
    count = broker.disk.operations - first
    broker.leave()
    found = []
    for cut in range(count + 1):
        broker, client = begun()
        broker.disk.power_off_after(operations=cut)
        acknowledged = answered(broker, client, request_of())

        again = broker.crashed(cut if seeded else None)

        offsets = again.offsets("g")
        assert offsets in ([2, 2, 2], after)
        assert offsets == after or not acknowledged
        assert again.offsets("other") == [1, 1, 1]
        assert bool(offsets) == (
            "g" in {group.group_id for group in again.broker.groups.list_groups()}
        )
        found.append(offsets)
        again.leave()
    assert found[0] == [2, 2, 2]
    assert found[-1] == after
