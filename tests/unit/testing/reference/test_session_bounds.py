"""Sessions of the reference implementation, whose bounds are the end of a key."""

from duolog import Topology, session
from duolog.testing import TopologyDriver


def test_a_record_between_two_sessions_merges_them() -> None:
    topology = Topology("visits")
    visits = topology.stream("visits", key="user STRING", value="page STRING")
    sessions = visits.group_by_key().windowed_by(session("10 ms", grace="1 s")).count()
    sessions.to_stream().to("out")

    with TopologyDriver(topology, engine="reference") as driver:
        for at in (100, 105, 125, 130, 115):
            driver.input_topic("visits").pipe_input("ann", {"page": "home"}, at)

        found = driver.output_topic("out").read_table()

    assert found == {("ann", 100, 130): {"count": 5}}
