import threading
from unittest.mock import MagicMock

import pytest
from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException

from duolog.core.errors import KafkaError
from duolog.runtime.sql.errors import ServiceInUse
from duolog.runtime.sql.persistent import members, membership
from duolog.runtime.sql.persistent.members import Member
from waiting import DEADLINE_S


def test_a_broker_that_does_not_answer_is_a_broker_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A running SQL file used to end with "error: " and no text if its broker was unavailable for half a minute."""
    admin = MagicMock()
    timed_out = ClientError(ClientError._TIMED_OUT)  # noqa: SLF001 - librdkafka's own codes have this form
    admin.list_groups.side_effect = KafkaException(timed_out)
    monkeypatch.setattr(members, "admin_of", lambda _brokers: admin)

    with pytest.raises(KafkaError, match="cannot ask for group"):
        members.members_of_service("127.0.0.1:1", "default_")


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Is set when the member, which has no consumer here, has left; it gets no places."""
    left = threading.Event()

    def stay(member: membership.Membership) -> None:
        member._closing.wait(DEADLINE_S)  # noqa: SLF001 - in place of its consumer
        left.set()

    monkeypatch.setattr(membership.Membership, "_run", stay)
    monkeypatch.setattr(membership, "_ASK_S", 0.0)
    return left


def test_a_process_that_cannot_ask_for_the_others_leaves_the_group(
    monkeypatch: pytest.MonkeyPatch, left: threading.Event
) -> None:
    """Its member would get the places, and each later attempt of the process would be refused."""
    asked: list[None] = []

    def fail(_brokers: object, _service_id: str) -> list[Member]:
        asked.append(None)
        if len(asked) > 1:
            raise KafkaError("cannot ask for group", code=7)
        return []

    monkeypatch.setattr(membership, "members_of_service", fail)
    one = membership.Membership("127.0.0.1:1", "default_", MagicMock())
    one._gained.set()  # noqa: SLF001 - in place of its consumer

    with pytest.raises(KafkaError, match="cannot ask for group"):
        one.acquire()

    assert left.wait(DEADLINE_S / 2)


@pytest.mark.parametrize(
    ("other", "stays"),
    [
        (Member.named("host", 1, 1, shares=True, address="host:1"), False),
        (Member.named("", 1, 1, shares=False), False),
        (Member.named("~", 1, 1, shares=False), True),
    ],
    ids=["a server", "the first by name", "the second by name"],
)
def test_of_two_processes_that_join_at_once_one_stays(
    monkeypatch: pytest.MonkeyPatch, left: threading.Event, other: Member, *, stays: bool
) -> None:
    listed = [[], [other]]
    monkeypatch.setattr(membership, "members_of_service", lambda *_: listed.pop(0))
    one = membership.Membership("127.0.0.1:1", "default_", MagicMock())
    one._gained.set()  # noqa: SLF001 - in place of its consumer

    if stays:
        one.acquire()
        assert not left.is_set()
        one.close()
    else:
        with pytest.raises(ServiceInUse):
            one.acquire()

    assert left.wait(DEADLINE_S / 2)


def test_a_process_that_must_not_wait_is_refused_at_once(
    monkeypatch: pytest.MonkeyPatch, left: threading.Event
) -> None:
    """A statement used to wait twelve seconds if a server on another host ran the queries."""
    other = Member.named("elsewhere", 1, 1, shares=True, address="elsewhere:8088")
    asked: list[None] = []

    def listed(*_: object) -> list[Member]:
        asked.append(None)
        return [other]

    monkeypatch.setattr(membership, "members_of_service", listed)
    one = membership.Membership("127.0.0.1:1", "default_", MagicMock())

    with pytest.raises(ServiceInUse) as refused:
        one.acquire(waits=False)

    assert refused.value.owner == "Process 1 on host elsewhere"
    assert len(asked) == 1
    assert not left.is_set(), "it has never joined"


def test_a_server_that_was_killed_has_been_replaced_at_its_address() -> None:
    killed = Member.named("h", 7, 8, shares=True, address="h:8088")
    shell = Member.named("h", 9, 8, shares=False)

    def at(host: str, address: str) -> Member:
        return Member.named(host, 8, 8, shares=True, address=address)

    assert killed.was_replaced_by(at("h", "h:8088"))
    assert not killed.was_replaced_by(killed)
    assert not killed.was_replaced_by(at("h", "h:8089"))
    assert not killed.was_replaced_by(at("i", "h:8088")), "both listen on 0.0.0.0, say"
    assert not shell.was_replaced_by(Member.named("h", 10, 8, shares=False))


def test_the_name_of_a_member_says_who_it_is() -> None:
    server = Member(Member.named("h", 7, 8, shares=True, address="h:8088").name)
    shell = Member(Member.named("h", 7, 8, shares=False).name)
    foreign = Member("rdkafka")

    assert (server.shares, server.address, str(server)) == (True, "h:8088", "Process 7 on host h")
    assert (shell.shares, shell.address) == (False, "")
    assert (foreign.shares, foreign.address, foreign.lives_here) == (False, "", False)
