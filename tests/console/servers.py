"""`duolog start` as a user starts it, for the tests of the console."""

import http.client
import json
import re
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from duolog.runtime.server_process import ServerProcess

PROGRAM = (sys.executable, "-P", "-m", "duolog", "start", "--stop-with-stdin")
TIMEOUT_S = 120


class Start(ServerProcess):
    """`duolog start`, ready when it has printed the address of its console."""

    kind = "duolog start"
    ready_line = re.compile(
        rb"^duolog (broker|server|schema registry|registry|console:)(?: ready on)? (\S+)$"
    )

    def __init__(
        self, path: Path, *arguments: str, ports: tuple[int, int, int] = (0, 0, 0)
    ) -> None:
        self.data = path / "data"
        self.addresses: dict[str, str] = {}
        super().__init__(f"127.0.0.1:{ports[0]}", path / "start.log")
        self._ports = ports
        self._arguments = arguments

    def command(self) -> list[str]:
        server, broker, registry = self._ports
        return [
            *PROGRAM,
            *("--data", str(self.data), "--listen", f"127.0.0.1:{server}"),
            *(
                "--broker-listen",
                f"127.0.0.1:{broker}",
                "--registry-listen",
                f"127.0.0.1:{registry}",
            ),
            *self._arguments,
        ]

    def address_in(self, line: bytes) -> str | None:
        """Return the console's address once all have reported."""
        match = self.ready_line.match(line)
        if match is None:
            return None
        self.addresses[match[1].decode().rstrip(":")] = match[2].decode()
        return self.addresses["console"] if self._is_complete() else ""

    def _is_complete(self) -> bool:
        return "console" in self.addresses and len(self.addresses) == 4

    def ports(self) -> tuple[int, int, int]:
        """Return the ports of now, for another start with the same ones."""
        server, broker, registry = (
            int(re.findall(r":(\d+)", self.addresses[name])[-1])
            for name in ("server", "broker", next(n for n in self.addresses if "registry" in n))
        )
        return server, broker, registry


class Console:
    """A running server, and a client of it that has the console's token."""

    def __init__(
        self, path: Path, *arguments: str, ports: tuple[int, int, int] = (0, 0, 0)
    ) -> None:
        self.process = Start(path, *arguments, ports=ports)

    def __enter__(self) -> Self:
        self.process.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.process.stop()

    @property
    def url_with_token(self) -> str:
        """The address that the server has printed."""
        return self.process.addresses["console"]

    @property
    def url(self) -> str:
        """The address of the start screen, without the token."""
        return self.url_with_token.partition("#")[0]

    @property
    def token(self) -> str:
        return self.url_with_token.partition("#token=")[2]

    @property
    def bootstrap_servers(self) -> str:
        """The address of the broker, for clients of Kafka."""
        return self.process.addresses["broker"]

    @property
    def registry(self) -> str:
        """The URL of the schema registry."""
        return next(value for name, value in self.process.addresses.items() if "registry" in name)

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """Send a request with the token; return the JSON of the answer, which must be 2xx."""
        status, found, _ = self.answer(method, path, body, Authorization=f"Bearer {self.token}")
        assert 200 <= status < 300, (status, found)
        return json.loads(found) if found else None

    def run(self, statements: str) -> Any:
        """Run statements of SQL."""
        return self.ask("POST", "/ksql", {"ksql": statements, "streamsProperties": {}})

    def answer(
        self, method: str, path: str, body: object = None, **headers: str
    ) -> tuple[int, bytes, dict[str, str]]:
        """Send a request; return status, body and headers of the answer."""
        at = urlsplit(self.url)
        connection = http.client.HTTPConnection(at.netloc, timeout=TIMEOUT_S)
        content = None if body is None else json.dumps(body).encode()
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, path, content, {"Content-Type": "application/json", **given})
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return response.status, response.read(), found
        finally:
            connection.close()
