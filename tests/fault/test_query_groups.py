"""Queries that exhaust the memory of their JVM, or never return, and all others."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import waiting
from duolog.core.units import MIB
from duolog.runtime.sql.answers import Message
from duolog.runtime.sql.persistent import service_queries
from duolog.runtime.sql.persistent.query_supervisor import LiveQuery
from duolog.runtime.sql.service import SqlService
from duolog.runtime.sql.statement_runner import StatementRunner
from duolog.testing import Client, EmbeddedCluster
from unit.runtime.sql.fake_queries import FakeStarter

DEADLINE_S = 300
"""For a JVM that ends and starts several times on a busy machine."""
pytestmark = pytest.mark.timeout(900)
PROPERTIES = {
    "auto.offset.reset": "earliest",
    "duolog.query.jvm.group.memory.bytes": str(512 * MIB),
    "duolog.query.jvm.stop.timeout.ms": "5000",
    "ksql.query.retry.backoff.initial.ms": "1000",
    "ksql.query.retry.backoff.max.ms": "2000",
}
HOG = (
    "CREATE TABLE hog AS SELECT k, ARRAY_LENGTH(COLLECT_LIST(LPAD(k, 16000000, 'x'))) AS n "
    "FROM s WHERE a > 1000 GROUP BY k EMIT CHANGES;"
)
"""Keeps 16 MB of each record with a > 1000."""
ENDLESS = (
    "CREATE STREAM endless AS SELECT k, EXPLODE(GENERATE_SERIES(1, 1000000)) AS n, "
    "REDUCE(GENERATE_SERIES(1, 1000000), CAST(0 AS BIGINT), (x, y) => x + y) AS m "
    "FROM s WHERE a > 1000 EMIT CHANGES;"
)
"""Makes a trillion of steps of each record with a > 1000."""


class Server:
    """A service that runs its queries, and a client."""

    def __init__(
        self, cluster: EmbeddedCluster, directory: Path, settings: Mapping[str, str]
    ) -> None:
        self.service = SqlService(
            cluster.bootstrap_servers,
            data=directory,
            service_id="groups_",
            properties=PROPERTIES,
            engine_settings=settings,
        )
        self.runner = StatementRunner(self.service, self.service.session())
        self.topics = Client(cluster.bootstrap_servers)
        self.service.stand_by()
        self.run(
            "CREATE STREAM s (k STRING KEY, a BIGINT) WITH (kafka_topic='s', partitions=1, value_format='json');"
        )

    def run(self, text: str) -> list[object]:
        return [
            answer.text if isinstance(answer, Message) else list(answer)
            for answer in self.runner.execute(text)
        ]

    def live(self, name: str) -> LiveQuery:
        return next(one for one in self.service.queries() if f"_{name}_" in one.id)

    def records_in(self, name: str) -> int:
        """Return what a query has read, as its process reports."""
        (progress,) = (
            one.progress
            for one in self.service.queries(with_progress=True)
            if f"_{name}_" in one.id
        )
        return 0 if progress is None else progress.records_in

    def wait(self, done: Callable[[], object], what: str) -> None:
        waiting.wait_until(done, lambda: f"{what}: {self.service.queries()}", DEADLINE_S)

    def wait_running(self, *names: str) -> None:
        self.wait(
            lambda: all(self.live(name).state == "RUNNING" for name in names),
            "not all queries run",
        )

    def written(self, topic: str) -> int:
        return len(self.topics.read(topic))


@contextmanager
def opened(directory: Path, settings: Mapping[str, str]) -> Iterator[Server]:
    with EmbeddedCluster(directory / "broker") as cluster:
        server = Server(cluster, directory / "sql", settings)
        try:
            yield server
        finally:
            server.service.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server whose own JVM is small; it needs a process without another JVM."""
    with opened(tmp_path, {"driver.memory.bytes": str(512 * MIB)}) as server:
        yield server


@pytest.fixture
def on_shared_jvm(spark: SparkSession, tmp_path: Path) -> Iterator[Server]:
    """A server whose own JVM is that of the test run."""
    with opened(tmp_path, {"class.archive": "false"}) as server:
        yield server


def test_a_group_that_runs_out_of_memory_ends_no_query_of_others(
    on_shared_jvm: Server,
) -> None:
    server = on_shared_jvm
    server.run("CREATE STREAM plain AS SELECT * FROM s WHERE a < 1000;")
    server.run(f"SET 'duolog.query.jvm.group'='heavy'; {HOG}")
    server.wait_running("PLAIN", "HOG")
    assert server.live("HOG").group == "heavy"

    for _ in range(60):
        server.run("INSERT INTO s VALUES ('a', 2000);")
    server.wait(
        lambda: "ran out of its 512 MiB" in server.live("HOG").error, "no error names the cause"
    )
    server.run("INSERT INTO s VALUES ('b', 1);")

    server.wait(lambda: server.written("PLAIN"), "the other query has stopped")
    assert server.live("PLAIN").failures == 0
    assert not list(Path(server.service.data).glob("*.hprof"))


@pytest.mark.deep
def test_a_query_that_never_returns_is_terminated_with_its_group_only(server: Server) -> None:
    server.run("CREATE STREAM plain AS SELECT * FROM s WHERE a < 1000;")
    server.run(f"SET 'duolog.query.jvm.group'='heavy'; {ENDLESS}")
    server.run("CREATE STREAM fine AS SELECT * FROM s WHERE a < 1000;")
    server.wait_running("PLAIN", "ENDLESS", "FINE")
    first = server.service.pid_of_group("heavy")
    server.run("INSERT INTO s VALUES ('a', 2000);")
    server.wait(lambda: server.records_in("FINE"), "the record is not read")

    server.run(f"TERMINATE {server.live('ENDLESS').id};")
    assert "ENDLESS" not in str(server.service.queries())
    server.run("INSERT INTO s VALUES ('b', 1);")

    server.wait(lambda: server.written("PLAIN"), "a query of another group has stopped")
    server.wait(lambda: server.written("FINE"), "the other query of the group does not return")
    assert server.live("PLAIN").failures == 0
    second = server.service.pid_of_group("heavy")
    assert None not in {first, second}


@pytest.mark.deep
def test_a_query_that_never_returns_moves_to_another_server(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No server got any place until the query had stopped, which it never did."""
    monkeypatch.setattr(service_queries, "_STOP_S", 10.0)
    server.run(ENDLESS)
    server.run(ENDLESS.replace("endless", "other"))
    server.run("CREATE STREAM fine AS SELECT * FROM s WHERE a < 1000;")
    server.wait_running("ENDLESS", "OTHER", "FINE")
    server.run("INSERT INTO s VALUES ('a', 2000);")
    server.wait(lambda: server.records_in("FINE"), "the record is not read")
    starter = FakeStarter()
    second = SqlService(
        server.service.brokers, data=tmp_path / "second", service_id="groups_", starter=starter
    )
    try:
        second.stand_by("second:8088")

        # Each of two servers gets one of them: they are in places 0 and 41.
        endless = {server.live(name).id for name in ("ENDLESS", "OTHER")}
        server.wait(lambda: endless & set(starter.starts), "no query moves")
    finally:
        second.close()


@pytest.mark.deep
def test_the_query_that_exhausts_the_shared_jvm_is_found_and_the_others_run(
    server: Server,
) -> None:
    server.run("CREATE STREAM plain AS SELECT * FROM s WHERE a < 1000;")
    server.run(HOG)
    server.run("CREATE STREAM more AS SELECT * FROM s WHERE a < 1000;")
    server.wait_running("PLAIN", "HOG", "MORE")

    for _ in range(60):
        server.run("INSERT INTO s VALUES ('a', 2000);")
    server.wait(lambda: server.live("HOG").group.startswith("quarantine-"), "it is not found")
    server.run("INSERT INTO s VALUES ('b', 1);")

    # Metadata and pull queries are answered meanwhile.
    assert server.run("SELECT a FROM s WHERE k = 'b';") == [[(1,)]]
    server.wait_running("PLAIN", "MORE")
    server.wait(
        lambda: server.written("PLAIN") and server.written("MORE"), "the other queries do not run"
    )
    assert server.live("PLAIN").group == server.live("MORE").group == "default"
