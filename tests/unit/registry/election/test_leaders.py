"""The leader is the member that owns the topic's partition."""

from types import SimpleNamespace
from typing import Final

import pytest
from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException

from duolog.coordinator.consumer_groups.consumer_bytes import write_assignment
from duolog.registry.election import leaders
from duolog.registry.election.leaders import Leaders
from duolog.registry.store.clients import KafkaOptions

OWNER: Final = write_assignment(1, {"_schemas": [0]})
OTHER_TOPIC: Final = write_assignment(1, {"orders": [0]})
NOTHING: Final = write_assignment(1, {})
FOREIGN: Final = b'{"error":0,"master":"sr-1"}'


class Admin:
    """A client that lists one group, or fails."""

    def __init__(self) -> None:
        self.members: dict[str, bytes] = {}
        self.asked = 0
        self.fails = False

    def list_groups(self, group: str, _timeout: float) -> list[SimpleNamespace]:
        self.asked += 1
        if self.fails:
            raise KafkaException(ClientError(ClientError._TIMED_OUT))  # noqa: SLF001 - its form
        members = [
            SimpleNamespace(client_id=url, assignment=data) for url, data in self.members.items()
        ]
        return [SimpleNamespace(id=group, members=members)] if members else []


@pytest.fixture
def admin(monkeypatch: pytest.MonkeyPatch) -> Admin:
    made = Admin()
    monkeypatch.setattr(leaders, "AdminClient", lambda _settings: made)
    return made


def test_the_owner_of_the_partition_leads(admin: Admin) -> None:
    admin.members = {"a": b"", "b": FOREIGN, "c": OTHER_TOPIC, "d": NOTHING, "e": OWNER}

    assert Leaders(KafkaOptions("broker")).url() == "e"


@pytest.mark.parametrize("members", [{}, {"a": b""}, {"a": FOREIGN}, {"a": OTHER_TOPIC}])
def test_a_group_may_have_no_leader(admin: Admin, members: dict[str, bytes]) -> None:
    admin.members = members

    assert Leaders(KafkaOptions("broker")).url() is None


def test_a_leader_is_remembered_until_it_is_forgotten_and_a_failure_is_not(admin: Admin) -> None:
    known = Leaders(KafkaOptions("broker"))
    admin.fails = True
    assert known.url() is None

    admin.fails, admin.members = False, {"a": OWNER}
    assert [known.url(), known.url()] == ["a", "a"]
    assert admin.asked == 2
    known.forget("b")
    known.forget("a")
    admin.members = {"b": OWNER}
    assert known.url() == "b"
