"""`duolog start` as a process: its servers, usually three, on free ports."""

import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import waiting

FREE = "127.0.0.1:0"
PORTS = ("--listen", FREE, "--broker-listen", FREE, "--registry-listen", FREE)


class Started:
    """A running `duolog start`, and the addresses that it has reported."""

    def __init__(
        self, path: Path, *arguments: str, ports: Sequence[str] = PORTS, servers: int = 3
    ) -> None:
        self._log = path / "start.log"
        self._servers = servers
        command = [sys.executable, "-P", "-m", "duolog", "start", "--data", "data", *ports]
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, *arguments], cwd=path, stdout=log, stderr=subprocess.STDOUT
            )
        self._from = 0

    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def ready(self) -> dict[str, str]:
        """Return the addresses by server, of the last start of each."""

        def found() -> dict[str, str] | None:
            words = [line.split() for line in self.log()[self._from :].splitlines()]
            lines = [
                line for line in words if line[:1] == ["duolog"] and line[2:4] == ["ready", "on"]
            ]
            addresses = {line[1]: line[4] for line in lines}
            assert self.process.poll() is None, self.log()
            return addresses if len(addresses) == self._servers else None

        return waiting.wait_until(found, lambda: f"not all are ready: {self.log()}") or {}

    def stop(self, number: int = signal.SIGINT) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(waiting.DEADLINE_S)


@contextmanager
def started(
    path: Path, *arguments: str, ports: Sequence[str] = PORTS, servers: int = 3
) -> Iterator[Started]:
    one = Started(path, *arguments, ports=ports, servers=servers)
    try:
        yield one
    finally:
        one.stop()
