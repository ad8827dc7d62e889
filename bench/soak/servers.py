"""The servers of a soak run: one `duolog start`, whose processes are killed and must come back."""

import contextlib
import os
import signal
import socket
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Final

from bench.soak.memory import processes_of
from bench.soak.outages import Outage

from duolog.core.errors import DuologError
from duolog.runtime.start_process import StartProcess

_BACK_S: Final = 120.0
_LOOK_S: Final = 0.05
_STOP_S: Final = 120.0


class Servers:
    """`duolog start` on ports that stay the same."""

    def __init__(self, directory: Path) -> None:
        server, broker, registry = (f"127.0.0.1:{port}" for port in _free_ports(3))
        self._process = StartProcess(
            directory / "data", listen=server, broker_listen=broker, registry_listen=registry
        )
        self.violations: list[str] = []

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def url(self) -> str:
        return self._process.url

    @property
    def bootstrap_servers(self) -> str:
        return self._process.bootstrap_servers

    def start(self) -> float:
        """Start; return the seconds until all three servers are ready."""
        began = time.monotonic()
        self._process.start()
        return time.monotonic() - began

    def kill_server(self) -> Outage:
        """Kill the SQL server, and wait until `duolog start` has started it again."""
        old = {one.name: one.pid for one in processes_of(self.pid)}
        killed_at = time.monotonic()
        os.kill(old["server"], signal.SIGKILL)
        self._await_end(old, "jvm")
        _wait(self._is_ready, "the SQL server is ready")
        return Outage("server", killed_at, time.monotonic())

    def kill_broker(self) -> Outage:
        """Kill the broker, which is the process of `duolog start`; then start it again."""
        old = {one.name: one.pid for one in processes_of(self.pid)}
        killed_at = time.monotonic()
        self._process.kill()
        for name in ("registry", "server", "jvm"):
            self._await_end(old, name)
        self._process.start(_BACK_S)
        _wait(self._is_ready, "the SQL server is ready")
        return Outage("broker", killed_at, time.monotonic())

    def stop(self) -> None:
        """Stop in order; a process that is left, or an exit status, is a violation."""
        if not self._process.running:
            return
        old = {one.name: one.pid for one in processes_of(self.pid)}
        status = self._process.stop(_STOP_S)
        if status != 0:
            self.violations.append(f"duolog start ended with status {status}")
        for name in old:
            self._await_end(old, name)

    def ensure_running(self) -> None:
        """Raise if `duolog start` has ended.

        Raises:
            SystemExit: it has.
        """
        if not self._process.running:
            raise SystemExit(f"duolog start has ended: {self._process.log_tail()}")

    def _await_end(self, pids: dict[str, int], name: str) -> None:
        """Note a violation if a process survives the one that has started it."""
        if name in pids:
            path = Path(f"/proc/{pids[name]}")
            try:
                _wait(lambda: not path.exists(), f"the old {name} ends")
            except SystemExit as error:
                self.violations.append(str(error))

    def _is_ready(self) -> bool:
        with (
            contextlib.suppress(OSError, DuologError),
            urllib.request.urlopen(f"{self.url}/chc/ready", timeout=5) as answer,  # noqa: S310
        ):
            return bool(answer.status == 200)
        return False


def _wait(met: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _BACK_S
    while not met():
        if time.monotonic() > deadline:
            raise SystemExit(f"after {_BACK_S:.0f} s it is not true that {what}")
        time.sleep(_LOOK_S)


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        found = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in found:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in found]
