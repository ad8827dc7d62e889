"""States of queries on their way from the engine that runs them to the others."""

from duolog.runtime.sql.keeper import LiveQuery
from duolog.runtime.sql.query_states import QueryStates, read_states
from duolog.testing import EmbeddedCluster


def test_what_has_changed_is_told_and_what_is_gone_is_forgotten(
    cluster: EmbeddedCluster, service: str
) -> None:
    servers = cluster.bootstrap_servers
    states = QueryStates(servers, service, "host/1/1")

    def told(*queries: LiveQuery) -> dict[str, tuple[str, str]]:
        states.tell(queries)
        states.close()
        found = read_states(servers, service, "host/1/1")
        return {name: (one.state, one.error) for name, one in found.items()}

    assert told(LiveQuery("A", "STARTING"), LiveQuery("B", "RUNNING")) == {
        "A": ("STARTING", ""),
        "B": ("RUNNING", ""),
    }
    assert told(LiveQuery("A", "ERROR", "no such topic"), LiveQuery("B", "RUNNING")) == {
        "A": ("ERROR", "no such topic"),
        "B": ("RUNNING", ""),
    }
    assert told(LiveQuery("B", "RUNNING")) == {"B": ("RUNNING", "")}


def test_what_another_owner_has_told_says_nothing(cluster: EmbeddedCluster, service: str) -> None:
    states = QueryStates(cluster.bootstrap_servers, service, "host/1/1")
    states.tell([LiveQuery("A", "RUNNING")])
    states.close()

    assert read_states(cluster.bootstrap_servers, service, "host/2/2") == {}
