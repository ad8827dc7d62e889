"""Query states, from the engine that runs the queries to the others."""

import pytest
from confluent_kafka import Producer

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
        found = read_states(servers, service, "host/1/1")
        return {name: (one.state, one.error) for name, one in found.items()}

    assert published(LiveQuery("A", "STARTING"), LiveQuery("B", "RUNNING")) == {
        "A": ("STARTING", ""),
        "B": ("RUNNING", ""),
    }
    assert published(LiveQuery("A", "ERROR", "no such topic"), LiveQuery("B", "RUNNING")) == {
        "A": ("ERROR", "no such topic"),
        "B": ("RUNNING", ""),
    }
    assert published(LiveQuery("B", "RUNNING")) == {"B": ("RUNNING", "")}


@pytest.mark.parametrize("value", ["[" * 100_000, "{", "[]", '{"owner": "host/1/1"}', "7"])
def test_an_invalid_state_is_ignored(cluster: EmbeddedCluster, service: str, value: str) -> None:
    servers = cluster.bootstrap_servers
    states = QueryStates(servers, service, "host/1/1")
    states.publish([LiveQuery("A", "RUNNING")])
    states.close()
    producer = Producer({"bootstrap.servers": servers})
    producer.produce(states_topic_of(service), value.encode(), b"B")
    producer.flush()

    assert list(read_states(servers, service, "host/1/1")) == ["A"]


def test_states_of_another_owner_are_ignored(cluster: EmbeddedCluster, service: str) -> None:
    states = QueryStates(cluster.bootstrap_servers, service, "host/1/1")
    states.publish([LiveQuery("A", "RUNNING")])
    states.close()

    assert read_states(cluster.bootstrap_servers, service, "host/2/2") == {}
