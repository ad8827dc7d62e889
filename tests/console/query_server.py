"""A server whose queries only count, with streams, tables and dead letters, for browser tests."""

import re
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from conformance.dead_letters import letters
from console.servers import Console
from duolog.runtime.server_process import ServerProcess
from duolog.testing import Client, EmbeddedCluster

TESTS = Path(__file__).parents[1]
STATEMENTS = """
CREATE STREAM orders (id STRING KEY, amount DOUBLE, place STRING)
  WITH (KAFKA_TOPIC='orders', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM large WITH (DEAD_LETTER_TOPIC='wrong-orders') AS
  SELECT id, amount, place FROM orders WHERE amount > 100;
CREATE TABLE totals AS SELECT place, SUM(amount) AS total, COUNT(*) AS n FROM large GROUP BY place;
CREATE STREAM broken AS SELECT id, place FROM orders;
"""


class CountingServer(ServerProcess):
    """`console.fake_queries` as a process; its address is that of the console."""

    kind = "server with counting queries"
    ready_line = re.compile(rb"^duolog console: (\S+)$")

    def __init__(self, bootstrap: str, path: Path) -> None:
        super().__init__("127.0.0.1:0", path / "server.log")
        self._given = (bootstrap, str(path / "sql"))
        self.console = ""

    def command(self) -> list[str]:
        program = "import sys; sys.path.insert(0, sys.argv.pop(1)); import runpy; "
        run = "runpy.run_module('console.fake_queries', run_name='__main__', alter_sys=True)"
        return [sys.executable, "-c", program + run, str(TESTS), *self._given]

    def address_in(self, line: bytes) -> str | None:
        match = self.ready_line.match(line)
        if match is None:
            return "" if line.startswith(b"duolog server ready") else None
        self.console = match[1].decode()
        return self.console


class QueryConsole(Console):
    """The console of such a server, over a broker of its own."""

    def __init__(self, path: Path) -> None:
        self._cluster = EmbeddedCluster()
        self._path = path

    def __enter__(self) -> Self:
        self._cluster.__enter__()
        self.server = CountingServer(self._cluster.bootstrap_servers, self._path)
        self.server.start()
        client = Client(self._cluster.bootstrap_servers)
        client.create_topic("orders")
        for number in range(10):
            client.produce("orders", f"k{number}", f'{{"amount": {number * 30}, "place": "Bern"}}')
        client.create_topic("wrong-orders")
        self.run(STATEMENTS)
        self.add_letters(
            (b"k1", b'{"amount": EUR 200}', "its value is not JSON of (AMOUNT DOUBLE)"),
            (b"k2", b"\xff\x00<script>alert(1)</script>", "its value is not UTF-8"),
            (b"k3", b'{"amount": "many"}', "$.amount is a text of another form"),
        )
        return self

    def add_letters(self, *given: tuple[bytes, bytes, str]) -> None:
        """Write dead letters of topic orders: key, value, and message of the error."""
        written = [
            (key, value, letters.streams("orders", 0, number, message))
            for number, (key, value, message) in enumerate(given)
        ]
        letters.write(self.bootstrap_servers, "wrong-orders", written)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.server.stop()
        self._cluster.__exit__(kind, error, trace)

    @property
    def url_with_token(self) -> str:
        return self.server.console

    @property
    def bootstrap_servers(self) -> str:
        return self._cluster.bootstrap_servers
