"""100,000 connections of hostile clients to each server: honest clients are answered meanwhile.

    flood (a process) ──▶ server ◀── two honest clients, ten requests per second each:
                                     one keeps its connection, one connects for each request

Before, during and after the flood, the memory and the file descriptors of the server are read from
/proc. The short form has some thousand connections.
"""

import contextlib
import http.client
import json
import re
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import urlsplit

import pytest

from conformance.kafka.wire_client import ConnectionClosed, WireClient
from conformance.server.processes import SqlServerProcess
from duolog.client import connect
from duolog.core.units import KIB, MIB
from duolog.registry.http.server import BACKLOG
from duolog.runtime.broker_process import BrokerProcess
from duolog.runtime.registry_process import RegistryProcess
from duolog.runtime.server_process import ServerProcess
from waiting import DEADLINE_S, wait_until

pytestmark = [
    pytest.mark.skipif(
        sys.platform != "linux", reason="uses many addresses of loopback, and /proc"
    ),
    pytest.mark.timeout(900),
]

PROGRAM: Final = Path(__file__).with_name("connection_flood.py")
EVERY_S: Final = 0.1
SOURCES: Final = 500
HTTP_WAVES: Final = (
    "silent",
    "half a request",
    "half a body",
    "slow reader",
    "answered",
    "preface",
    "half a preface",
    "preface and settings",
    "half a handshake",
    "garbage",
)
FRAME_WAVES: Final = (
    "silent",
    "size of a frame",
    "half a frame",
    "frame of a gigabyte",
    "slow reader of frames",
    "answered frame",
    "half a handshake",
    "half a request",
)
OF_HTTP: Final = 64 * KIB
"""Memory of a server for each open connection, with what it has received and not sent."""
OF_FRAMES: Final = 128 * KIB
"""A broker also keeps answers that a client does not read, up to 1 MiB if they are larger."""
SPARE_BYTES: Final = 64 * MIB


class Honest(ABC):
    """A client that asks each 100 ms in a thread, until it is stopped; a context manager."""

    def __init__(self, *, keeps: bool) -> None:
        self._keeps = keeps
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.answers = 0
        self.lost = 0
        """Requests on a connection that the server had closed; they were sent again."""
        self.slowest_s = 0.0
        self.error: BaseException | None = None

    @abstractmethod
    def ask(self) -> None:
        """Send a request, and check the answer.

        Raises:
            ConnectionError: the server has closed the connection.
        """

    @abstractmethod
    def leave(self) -> None:
        """Close the connection, if there is one."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self.leave()

    def _run(self) -> None:
        try:
            while not self._stop.wait(EVERY_S):
                asked_at = time.monotonic()
                try:
                    self.ask()
                except ConnectionError:
                    if not self._keeps:
                        raise
                    # As clients of HTTP and Kafka do: the connection may have been idle too long.
                    self.lost += 1
                    self.leave()
                    self.ask()
                if not self._keeps:
                    self.leave()
                self.answers += 1
                self.slowest_s = max(self.slowest_s, time.monotonic() - asked_at)
        except BaseException as error:  # noqa: BLE001 - the test raises it
            self.error = error


class HonestHttp(Honest):
    """Asks an HTTP server by turns; `asks` are pairs of a path and a statement to post, or None."""

    def __init__(
        self, address: tuple[str, int], asks: Sequence[tuple[str, str | None]], *, keeps: bool
    ) -> None:
        super().__init__(keeps=keeps)
        self._http = http.client.HTTPConnection(*address, timeout=DEADLINE_S)
        self._asks = asks

    def ask(self) -> None:
        path, statement = self._asks[self.answers % len(self._asks)]
        body = None if statement is None else json.dumps({"ksql": statement})
        try:
            self._http.request("GET" if body is None else "POST", path, body)
            answer = self._http.getresponse()
            text = answer.read()
        except http.client.HTTPException as error:
            raise ConnectionResetError from error
        assert answer.status == 200, (answer.status, text)
        assert statement is None or b"[7]" in text, text

    def leave(self) -> None:
        self._http.close()


class HonestKafka(Honest):
    """Asks a broker for its versions."""

    def __init__(self, address: str, *, keeps: bool) -> None:
        super().__init__(keeps=keeps)
        self._address = address
        self._wire: WireClient | None = None

    def ask(self) -> None:
        if self._wire is None:
            self._wire = WireClient(self._address)
        try:
            assert self._wire.ask(18, 0).error_code == 0
        except ConnectionClosed:
            raise ConnectionResetError from None

    def leave(self) -> None:
        if self._wire is not None:
            self._wire.close()
            self._wire = None


class Flooded:
    """A server, and its memory and file descriptors."""

    def __init__(
        self,
        process: ServerProcess,
        address: tuple[str, int],
        *,
        waves: Sequence[str],
        connections_max: int,
        per_connection_bytes: int,
        clients: Callable[[bool], Honest],
    ) -> None:
        self.process = process
        self.address = address
        self.waves = waves
        self.connections_max = connections_max
        self.growth_bytes_max = SPARE_BYTES + connections_max * per_connection_bytes
        self.clients = clients

    def resident_bytes(self) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"^VmRSS:\s+(\d+) kB$", status, re.MULTILINE)
        assert found is not None
        return int(found[1]) * KIB

    def descriptors(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))


@contextlib.contextmanager
def flooding(
    server: Flooded, count: int, held: int
) -> Iterator[Iterator[tuple[dict[str, Any], Callable[[], None]]]]:
    """Yield the waves: what each has done, and what to call before the next one."""
    waves = [[kind, count // len(server.waves)] for kind in server.waves]
    options = {"waves": waves, "held": held, "sources": SOURCES}
    host, port = server.address
    with subprocess.Popen(
        [sys.executable, str(PROGRAM), host, str(port), json.dumps(options)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        given, lines = program.stdin, program.stdout

        def proceed() -> None:
            given.write(b"\n")
            given.flush()

        try:
            yield ((json.loads(line), proceed) for line in lines)
        finally:
            program.kill()


def withstand(server: Flooded, count: int, held: int) -> None:
    """Flood a server, and check what the module describes."""
    open_max = server.connections_max
    with server.clients(True) as keeping, server.clients(False) as connecting:  # noqa: FBT003
        wait_until(lambda: min(keeping.answers, connecting.answers) > 20, "the server is warm")
        before, descriptors = server.resident_bytes(), server.descriptors()
        attempted = 0
        with flooding(server, count, held) as waves:
            for wave, proceed in waves:
                attempted += wave["attempted"]
                grown, used = server.resident_bytes() - before, server.descriptors() - descriptors
                print(f"{wave}: {grown / MIB:.0f} MiB more, {used} descriptors more")  # noqa: T201
                assert wave["made"] > 0.9 * wave["attempted"], wave
                assert grown < server.growth_bytes_max, wave
                # As many are accepted at once, and as many are being closed.
                assert used < open_max + 2 * BACKLOG + 100, wave
                already = keeping.answers, connecting.answers
                wait_until(
                    lambda now=already: (
                        keeping.error
                        or connecting.error
                        or (keeping.answers > now[0] and connecting.answers > now[1])
                    ),  # type: ignore[misc]
                    "honest clients are answered while the connections are open",
                )
                for client in (keeping, connecting):
                    if client.error is not None:
                        raise AssertionError(f"not answered during {wave}") from client.error
                proceed()
        assert attempted >= 0.99 * count
        wait_until(
            lambda: server.descriptors() <= descriptors + 4,
            lambda: f"{server.descriptors()} descriptors are open, before {descriptors}",
            2 * DEADLINE_S,
        )
    print(  # noqa: T201 - figures for the report
        f"answers {keeping.answers} and {connecting.answers}, slowest {keeping.slowest_s:.2f} s and "
        f"{connecting.slowest_s:.2f} s, {keeping.lost} lost"
    )
    assert server.resident_bytes() - before < server.growth_bytes_max
    assert keeping.lost == 0, "a client that asks ten times per second is idle for longest"
    # Log of what clients cause: a line for each of them would fill the disk.


@pytest.fixture(params=["sql", "registry", "broker"])
def flooded(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Flooded]:
    settings = {"durability": "os"}
    with contextlib.ExitStack() as running:
        broker = running.enter_context(
            BrokerProcess(tmp_path / "data", settings=settings, log_path=tmp_path / "broker.log")
        )
        servers = broker.bootstrap_servers
        host, _, port = servers.rpartition(":")
        match request.param:
            case "broker":
                yield Flooded(
                    broker,
                    (host, int(port)),
                    waves=FRAME_WAVES,
                    connections_max=10_000,
                    per_connection_bytes=OF_FRAMES,
                    clients=lambda keeps: HonestKafka(servers, keeps=keeps),
                )
            case "registry":
                registry = running.enter_context(
                    RegistryProcess(servers, log_path=tmp_path / "registry.log")
                )
                parts = urlsplit(registry.url)
                at = parts.hostname or "", parts.port or 0
                yield Flooded(
                    registry,
                    at,
                    # Whole requests are work for a registry, not waits: while all of its
                    # connections are being answered, it refuses new ones.
                    waves=[one for one in HTTP_WAVES if one not in {"slow reader", "answered"}],
                    connections_max=2000,
                    per_connection_bytes=OF_HTTP,
                    clients=lambda keeps: HonestHttp(at, [("/subjects", None)], keeps=keeps),
                )
            case _:
                sql = running.enter_context(SqlServerProcess(servers, tmp_path))
                asks = [("/info", None), ("/query", "SELECT v FROM t WHERE id = 'a';")]
                with connect(f"http://{sql.address[0]}:{sql.address[1]}") as connection:
                    connection.execute(
                        "CREATE TABLE t (id STRING PRIMARY KEY, v INT) WITH (KAFKA_TOPIC='t', "
                        "VALUE_FORMAT='JSON', PARTITIONS=1); INSERT INTO t VALUES ('a', 7);"
                    )
                yield Flooded(
                    sql,
                    sql.address,
                    waves=HTTP_WAVES,
                    connections_max=2000,
                    per_connection_bytes=OF_HTTP,
                    clients=lambda keeps: HonestHttp(sql.address, asks, keeps=keeps),
                )


def test_honest_clients_are_answered_among_thousands_of_hostile_ones(flooded: Flooded) -> None:
    withstand(flooded, 6_000, 500)


@pytest.mark.deep
def test_honest_clients_are_answered_among_a_hundred_thousand_hostile_ones(
    flooded: Flooded,
) -> None:
    """As many are held as the server allows, and more."""
    withstand(flooded, 100_000, flooded.connections_max + 2_000)
