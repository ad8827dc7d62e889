"""Servers that share persistent queries: each query runs on one of them at a time, whatever happens.

The queries of these servers write a line many times a second while they run (`shared_server.py`). The
tests compare the times of all lines: two runs of a query must not overlap.
"""

import signal
import socket
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from itertools import count, pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from conformance.kafka.peer import KafkaPeer
from duolog.runtime.broker_process import BROKER_PROGRAM
from duolog.runtime.sql.service import SqlService
from duolog.runtime.sql.statement_runner import StatementRunner
from duolog.testing import EmbeddedCluster
from waiting import DEADLINE_S, wait_until

PROGRAM = Path(__file__).with_name("shared_server.py")
QUERIES = 20
QUERY = "CREATE STREAM q{n} WITH (kafka_topic='{topic}{n}') AS SELECT * FROM s;"
_services = count()


class Run(NamedTuple):
    """One run of a query on a server; times in nanoseconds of the monotonic clock."""

    server: str
    first: int
    last: int


class Server:
    """A server in a process of its own."""

    def __init__(self, fleet: "Fleet", name: str, bootstrap: str) -> None:
        self.name = name
        command = [sys.executable, str(PROGRAM), bootstrap, fleet.service_id, str(fleet.directory)]
        self.process = subprocess.Popen(
            [*command, name, str(fleet.file), str(fleet.start_s), str(fleet.stop_s)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "started\n"

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def stop(self) -> None:
        """Stop it in order, if it runs."""
        with suppress(OSError, ValueError):
            self.process.communicate("stop\n", timeout=DEADLINE_S)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


class Fleet:
    """The servers of one service, and a client that writes statements."""

    def __init__(self, bootstrap: str, directory: Path) -> None:
        self.service_id = f"fleet{next(_services)}_"
        self.directory = directory
        self.file = directory / "ticks"
        self.file.touch()
        self.start_s = self.stop_s = 0.0
        self._bootstrap = bootstrap
        self._client = SqlService(
            self._bootstrap, data=directory / "client", service_id=self.service_id
        )
        # The client only writes statements.
        self._client._queries._standing_by = True  # noqa: SLF001
        self._servers: list[Server] = []

    def start(self, name: str, bootstrap: str | None = None) -> Server:
        server = Server(self, name, bootstrap or self._bootstrap)
        self._servers.append(server)
        return server

    def run(self, text: str) -> None:
        for _ in StatementRunner(self._client, self._client.session()).execute(text):
            pass

    def create_queries(self, number: int = QUERIES) -> None:
        topic = f"{self.service_id}s"
        self.run(
            f"CREATE STREAM s (a INT) WITH (kafka_topic='{topic}', partitions=1, value_format='json');"
        )
        for n in range(number):
            self.run(QUERY.format(n=n, topic=topic))

    def hosts(self) -> dict[str, str]:
        """Return the server of each query that runs, as another process sees it."""
        return {one.id: one.host for one in self._client.queries() if one.state == "RUNNING"}

    def wait_shared(self, *names: str, queries: int = QUERIES) -> dict[str, list[str]]:
        """Wait until all queries run, and each server has about the same number; return those of each."""
        share = queries / len(names)

        def shared() -> dict[str, list[str]]:
            found: dict[str, list[str]] = defaultdict(list)
            for query_id, host in self.hosts().items():
                found[host.removesuffix(":8088")].append(query_id)
            counts = [len(found[name]) for name in names]
            is_shared = sum(counts) == queries and max(counts) - min(counts) <= max(2, share / 3)
            return found if is_shared else {}

        return wait_until(shared, lambda: f"queries by server: {self.hosts()}", 2 * DEADLINE_S)

    def runs(self) -> dict[str, list[Run]]:
        """Return the runs of each query by the time of their first line."""
        found: dict[tuple[str, str, str], list[int]] = defaultdict(list)
        for line in self.file.read_text().splitlines():
            word, query_id, server, run, at = line.split()
            if word == "tick":
                found[query_id, server, run].append(int(at))
        by_query: dict[str, list[Run]] = defaultdict(list)
        for (query_id, server, _), times in found.items():
            by_query[query_id].append(Run(server, min(times), max(times)))
        return {
            query_id: sorted(of, key=lambda run: run.first) for query_id, of in by_query.items()
        }

    def ensure_ended_once(self, server: Server) -> None:
        """Check that only the old runs of a server overlap with others, and that they have ended.

        It runs its queries until it notices that it has lost them, about when the others start them.
        """
        late = [(query_id, one) for query_id, one, _ in overlaps(self.runs())]
        assert {one.server for _, one in late} <= {server.name}
        assert len(late) <= QUERIES / 2, "those that it had, once"
        last = max(run.last for of in self.runs().values() for run in of)
        wait_until(
            lambda: all(of[-1].last > last for of in self.runs().values()), "queries do not run"
        )
        assert [(query_id, one) for query_id, one, _ in overlaps(self.runs())] == late

    def forgotten(self) -> list[str]:
        return [line for line in self.file.read_text().splitlines() if line.startswith("forget")]

    def close(self) -> None:
        for server in self._servers:
            server.kill()
        self._client.close()


def overlaps(runs: dict[str, list[Run]]) -> list[tuple[str, Run, Run]]:
    """Return the pairs of runs of one query that overlap."""
    return [
        (query_id, one, other)
        for query_id, of in runs.items()
        for one, other in pairwise(of)
        if other.first <= one.last
    ]


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"durability": "os"}) as cluster:
        yield cluster


@pytest.fixture
def fleet(cluster: EmbeddedCluster, tmp_path: Path) -> Iterator[Fleet]:
    fleet = Fleet(cluster.bootstrap_servers, tmp_path)
    yield fleet
    fleet.close()


def test_the_queries_of_a_killed_server_move_to_the_other(fleet: Fleet) -> None:
    killed = fleet.start("one")
    fleet.start("two")
    fleet.create_queries()
    shared, before = fleet.wait_shared("one", "two"), fleet.runs()

    killed.kill()

    fleet.wait_shared("two")
    after = fleet.runs()
    assert overlaps(after) == []
    for query_id in shared["two"]:
        assert len(after[query_id]) == len(before[query_id]), "those of the other one stay"
    assert fleet.forgotten() == []


def test_queries_are_shared_and_move_on_apache_kafka(kafka_peer: KafkaPeer, tmp_path: Path) -> None:
    fleet = Fleet(kafka_peer.bootstrap_servers, tmp_path)
    with ExitStack() as stack:
        stack.callback(fleet.close)
        fleet.start("one")
        killed = fleet.start("two")
        fleet.create_queries(8)
        fleet.wait_shared("one", "two", queries=8)

        killed.kill()
        fleet.wait_shared("one", queries=8)
        stopped = fleet.start("three")
        fleet.wait_shared("one", "three", queries=8)
        stopped.stop()
        fleet.wait_shared("one", queries=8)

        assert overlaps(fleet.runs()) == []
        assert fleet.forgotten() == []


def test_the_queries_of_a_stopped_server_move_at_once_and_come_back(fleet: Fleet) -> None:
    fleet.stop_s = 0.3
    stopped = fleet.start("one")
    fleet.start("two")
    fleet.create_queries()
    fleet.wait_shared("one", "two")

    stopped.stop()
    fleet.wait_shared("two")
    fleet.start("three")
    fleet.wait_shared("two", "three")

    assert overlaps(fleet.runs()) == []
    assert fleet.forgotten() == [], "a query that moves keeps its state"


def test_a_server_that_joins_while_queries_start_gets_a_fair_part(fleet: Fleet) -> None:
    fleet.start_s, fleet.stop_s = 0.7, 0.2
    fleet.start("one")
    fleet.create_queries()
    wait_until(fleet.runs, "no query starts")

    fleet.start("two")
    fleet.start("three")

    fleet.wait_shared("one", "two", "three")
    assert overlaps(fleet.runs()) == []


def test_a_paused_server_stops_its_queries_when_it_continues(fleet: Fleet) -> None:
    paused = fleet.start("one")
    fleet.start("two")
    fleet.create_queries()
    fleet.wait_shared("one", "two")

    paused.signal(signal.SIGSTOP)
    fleet.wait_shared("two")
    before = fleet.runs()
    paused.signal(signal.SIGCONT)
    fleet.wait_shared("one", "two")

    assert overlaps(before) == []
    fleet.ensure_ended_once(paused)


class Link:
    """Forwards connections to a broker, until it is cut; then both ends hear nothing more."""

    def __init__(self, to: int) -> None:
        self._to = to
        self._server = socket.create_server(("127.0.0.1", 0))
        self._passes = threading.Event()
        self._passes.set()
        self._open: list[socket.socket] = []
        self.port = self._server.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def cut(self) -> None:
        self._passes.clear()

    def mend(self) -> None:
        self._passes.set()

    def close(self) -> None:
        self._passes.set()
        for one in (self._server, *self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._server.accept()
                broker = socket.create_connection(("127.0.0.1", self._to))
                self._open += [client, broker]
                for ends in ((client, broker), (broker, client)):
                    threading.Thread(target=self._forward, args=ends, daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self._passes.wait()
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


@pytest.fixture
def cut_off(tmp_path: Path) -> Iterator[tuple[EmbeddedCluster, Link]]:
    """A broker with a second listener that is reached over a link."""
    port = free_port()
    with ExitStack() as stack:
        link = Link(port)
        stack.callback(link.close)
        cluster = EmbeddedCluster(
            settings={"durability": "os", "advertised.listeners": f"FAR://127.0.0.1:{link.port}"},
            listen=f"FAR://127.0.0.1:{port}",
            program=(*BROKER_PROGRAM, "--listen", "NEAR://127.0.0.1:0"),
        )
        yield stack.enter_context(cluster), link


def test_a_server_without_network_stops_its_queries(
    cut_off: tuple[EmbeddedCluster, Link], tmp_path: Path
) -> None:
    cluster, link = cut_off
    fleet = Fleet(cluster.bootstrap_servers, tmp_path)
    with ExitStack() as stack:
        stack.callback(fleet.close)
        far = fleet.start("one", f"127.0.0.1:{link.port}")
        fleet.start("two")
        fleet.create_queries()
        fleet.wait_shared("one", "two")

        link.cut()
        fleet.wait_shared("two")
        link.mend()
        fleet.wait_shared("one", "two")

        fleet.ensure_ended_once(far)
