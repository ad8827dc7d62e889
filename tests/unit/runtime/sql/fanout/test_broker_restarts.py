"""Push queries while their broker restarts."""

from pathlib import Path

from duolog.runtime.sql.fanout.shared_readers import SharedReaders
from duolog.security.clients.brokers import Brokers
from duolog.testing import EmbeddedCluster
from unit.runtime.sql.fanout.pushed_topic import PushedTopic, take


def test_a_query_continues_after_a_kill_of_the_broker(tmp_path: Path) -> None:
    with EmbeddedCluster(tmp_path / "broker") as cluster:
        readers = SharedReaders(Brokers(cluster.bootstrap_servers))
        try:
            topic = PushedTopic(cluster, "orders", partitions=2)
            rows = topic.subscribe(readers, "SELECT v FROM s")
            topic.numbers(range(10))
            assert take(rows, 10) == [(v,) for v in range(10)]

            cluster.kill()
            cluster.restart()
            topic.numbers(range(10, 20))
            topic.numbers(range(20, 30), 1)
            late = topic.subscribe(readers, "SELECT v FROM s", "earliest")

            assert sorted(take(rows, 20)) == [(v,) for v in range(10, 30)]
            assert sorted(take(late, 30)) == [(v,) for v in range(30)]
        finally:
            readers.close()
