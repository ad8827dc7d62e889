import threading
from unittest.mock import MagicMock

import pytest
from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException

from duolog.core.errors import KafkaError
from duolog.runtime.sql.command_log.topics import Topics
from duolog.runtime.sql.errors import ServiceInUse
from duolog.runtime.sql.persistent import members, membership, places
from duolog.runtime.sql.persistent.members import Member
from duolog.testing import EmbeddedCluster
from waiting import DEADLINE_S, wait_until


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


def test_a_member_that_fails_stops_its_queries_before_it_leaves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It used to leave the group while its queries continued: another server ran them, too."""
    consumer, duties, order = MagicMock(), MagicMock(), list[str]()
    consumer.poll.side_effect = KafkaException(ClientError(ClientError._STATE))  # noqa: SLF001
    consumer.close.side_effect = lambda: order.append("closed")
    duties.lose.side_effect = lambda _: order.append("lost")
    monkeypatch.setattr(membership, "Consumer", lambda _: consumer)
    one = membership.Membership("127.0.0.1:1", "default_", duties)

    one.join()
    wait_until(lambda: len(order) == 2, "it does not leave")

    assert order == ["lost", "closed"]


class _Places:
    """The places of a member."""

    def __init__(self) -> None:
        self.held: frozenset[int] = frozenset()

    def gain(self, _member: membership.Membership, gained: frozenset[int]) -> None:
        self.held |= gained

    def release(self, _member: membership.Membership, released: frozenset[int]) -> None:
        self.held -= released

    def lose(self, _member: membership.Membership) -> None:
        self.held = frozenset()


def test_a_deleted_topic_of_places_is_created_again(
    cluster: EmbeddedCluster, service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The queries used to stop until the servers were restarted."""
    monkeypatch.setattr(membership, "_REFRESH_S", 0.5)
    monkeypatch.setattr(membership, "_MAKE_AGAIN_S", 0.5)
    servers, first, second = cluster.bootstrap_servers, _Places(), _Places()
    places.make_places(servers, service)
    one, other = (
        membership.Membership(servers, service, of, shares=True, address=f"h:{number}")
        for number, of in enumerate((first, second))
    )
    one.join()
    wait_until(lambda: first.held == places.ALL_PLACES, "it gets no places")

    topics, name = Topics(servers), places.places_topic_of(service)
    topics.delete(name)
    wait_until(lambda: topics.partitions().get(name) == places.PLACES, "it is not created again")
    other.join()

    wait_until(lambda: second.held, "another server gets no places")
    wait_until(lambda: first.held | second.held == places.ALL_PLACES, "a place has no server")
    other.close()
    one.close()


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
