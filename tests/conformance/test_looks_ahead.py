"""What is seen of records that were not read yet, by one client look after look."""

from duolog.engine.peek import Peek
from duolog.testing import Client, EmbeddedCluster


def test_a_partition_is_seen_by_each_look_and_not_only_by_the_first() -> None:
    """The second look waited for all its time, ten seconds at each start of a query, and saw nothing."""
    with EmbeddedCluster(settings={"durability": "os"}) as cluster:
        client = Client(cluster.bootstrap_servers)
        client.create_topic("a", partitions=2)
        client.produce("a", "x", b"1")
        peek = Peek(cluster.bootstrap_servers, {})
        offsets = {("a", 0): 0, ("a", 1): 0}

        looks = [peek.ahead(offsets, 200, 10.0) for _ in range(3)]

        peek.close()
    assert all(ahead.reached_end for look in looks for ahead in look.values())
    assert [sum(ahead.records for ahead in look.values()) for look in looks] == [1, 1, 1]
