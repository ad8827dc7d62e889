"""Query states, from the members that run the queries to other processes."""

from unittest.mock import MagicMock

import pytest
from confluent_kafka import Producer

from duolog.runtime.sql.command_log.desired_query import DesiredQuery
from duolog.runtime.sql.persistent import query_states
from duolog.runtime.sql.persistent.members import Member
from duolog.runtime.sql.persistent.query_states import QueryStates, read_states, states_topic_of
from duolog.runtime.sql.persistent.query_supervisor import LiveQuery
from duolog.testing import EmbeddedCluster


def test_changed_states_are_published_and_ended_queries_deleted(
    cluster: EmbeddedCluster, service: str
) -> None:
    servers = cluster.bootstrap_servers
    states = QueryStates(servers, service, "host/1/1")

    def published(*queries: LiveQuery) -> dict[str, tuple[str, str]]:
        states.publish(queries)
        states.close()
        found = read_states(servers, service)
        return {name: (one.state, one.error) for name, (_, one) in found.items()}

    assert published(LiveQuery("A", "STARTING"), LiveQuery("B", "RUNNING")) == {
        "A": ("STARTING", ""),
        "B": ("RUNNING", ""),
    }
    assert published(LiveQuery("A", "ERROR", "no such topic"), LiveQuery("B", "RUNNING")) == {
        "A": ("ERROR", "no such topic"),
        "B": ("RUNNING", ""),
    }
    assert published(LiveQuery("B", "RUNNING")) == {"B": ("RUNNING", "")}


def test_an_error_is_published_with_its_kind_and_time(
    cluster: EmbeddedCluster, service: str
) -> None:
    servers = cluster.bootstrap_servers
    states = QueryStates(servers, service, "host/1/1")
    failed = LiveQuery("A", "ERROR", "no such topic", error_kind="USER", error_at_ms=17)
    states.publish([failed])
    states.close()
    producer = Producer({"bootstrap.servers": servers})
    earlier = b'{"owner": "host/1/1", "state": "ERROR", "error": "why"}'
    producer.produce(states_topic_of(service), earlier, b"B")
    producer.flush()

    found = read_states(servers, service)

    assert found["A"][1] == failed
    assert found["B"][1] == LiveQuery("B", "ERROR", "why")


@pytest.mark.parametrize(
    "value",
    [
        "[" * 100_000,
        "{",
        "[]",
        '{"owner": "host/1/1"}',
        "7",
        '{"state": "ERROR", "error": "", "errorAtMs": Infinity}',
    ],
)
def test_an_invalid_state_is_ignored(cluster: EmbeddedCluster, service: str, value: str) -> None:
    servers = cluster.bootstrap_servers
    states = QueryStates(servers, service, "host/1/1")
    states.publish([LiveQuery("A", "RUNNING")])
    states.close()
    producer = Producer({"bootstrap.servers": servers})
    producer.produce(states_topic_of(service), value.encode(), b"B")
    producer.flush()

    assert list(read_states(servers, service)) == ["A"]


def test_the_state_of_an_ended_query_stays_until_it_has_stopped(
    cluster: EmbeddedCluster, service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers, mine = cluster.bootstrap_servers, Member("host/1/1/shares/h:1", frozenset({0}))
    states = QueryStates(servers, service, mine.name)
    states.publish([LiveQuery("A", "RUNNING")], {"A"})
    states.close()
    ended = {"A": DesiredQuery(MagicMock(), number=0)}

    def left(*members: Member) -> list[str]:
        monkeypatch.setattr(query_states, "members_of_service", lambda *_: members)
        return list(query_states.still_stopping(servers, service, ended))

    states.publish([], stopping={"A"})
    states.close()
    assert left(mine) == ["A"]
    assert left(Member("host/2/2/shares/h:2", frozenset({0}))) == left() == []
    states.publish([])
    states.close()
    assert left(mine) == []


def test_the_state_of_a_query_that_has_moved_is_left_to_its_new_member(
    cluster: EmbeddedCluster, service: str
) -> None:
    """The old member would delete what the new one has published, and the query would seem to start for ever."""
    servers = cluster.bootstrap_servers
    old, new = QueryStates(servers, service, "host/1/1"), QueryStates(servers, service, "host/2/2")
    old.publish([LiveQuery("A", "RUNNING"), LiveQuery("B", "RUNNING")], {"A", "B"})
    old.flush()
    new.publish([LiveQuery("A", "ERROR", "no such topic")], {"A", "B"})
    new.close()

    old.publish([], {"A"})
    old.close()

    found = read_states(servers, service)
    assert {name: (by, one.state) for name, (by, one) in found.items()} == {
        "A": ("host/2/2", "ERROR")
    }


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ([Member("host/1/1/shares/h:1", frozenset({0}))], ("ERROR", "why", "h:1")),
        ([Member("host/1/1/shares/h:1", frozenset({1}))], ("STARTING", "", "")),
        ([Member("host/2/2/shares/h:2", frozenset({0}))], ("STARTING", "", "h:2")),
        (
            [Member("host/1/1/shares/h:1", frozenset({0})), Member("host/3/3/shares/h:1")],
            ("STARTING", "", ""),
        ),
        ([], ("UNRESPONSIVE", query_states.NO_ENGINE, "")),
    ],
    ids=[
        "its member",
        "no member has the place",
        "another member has it now",
        "its member was killed",
        "no members",
    ],
)
def test_a_state_counts_while_the_place_is_assigned_to_its_writer(
    cluster: EmbeddedCluster,
    service: str,
    monkeypatch: pytest.MonkeyPatch,
    members: list[Member],
    expected: tuple[str, str, str],
) -> None:
    states = QueryStates(cluster.bootstrap_servers, service, "host/1/1/shares/h:1")
    states.publish([LiveQuery("A", "ERROR", "why")])
    states.close()
    monkeypatch.setattr(query_states, "members_of_service", lambda *_: members)
    wanted = {"A": DesiredQuery(MagicMock(state="RUNNING"), number=0)}

    # A restarted server used to show the states of its predecessor until the session timeout.
    me = members[-1] if members else None
    (live,) = query_states.followed(cluster.bootstrap_servers, service, wanted, me)

    assert (live.state, live.error, live.host) == expected
