"""Run `duolog start` as a child process, see `server_process.py`.

It prints a line for each of its three servers; the process is ready after the third one.
"""

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from duolog.runtime.errors import ServerUnavailable
from duolog.runtime.server_process import ServerProcess

START_PROGRAM: Final = (sys.executable, "-P", "-m", "duolog", "start", "--stop-with-stdin")
_FREE: Final = "127.0.0.1:0"
_SERVERS: Final = frozenset({"broker", "registry", "server"})


class StartProcess(ServerProcess):
    """Broker, schema registry and SQL server over one data directory.

    Args:
        data_dir: directory for everything that is kept; created if missing.
        broker_listen, registry_listen, listen: `HOST:PORT` of each; port 0 chooses a free port.
        settings: broker settings by name, as strings.
        log_path: file for the output; by default next to the data directory.
    """

    kind = "start"
    ready_line = re.compile(rb"^duolog (broker|registry|server) ready on (\S+)$")
    unavailable = ServerUnavailable

    def __init__(
        self,
        data_dir: Path | str,
        *,
        listen: str = _FREE,
        broker_listen: str = _FREE,
        registry_listen: str = _FREE,
        settings: Mapping[str, str] | None = None,
        log_path: Path | None = None,
    ) -> None:
        self.data_dir = Path(data_dir).resolve()
        self.log_path = (log_path or self.data_dir.with_name(f"{self.data_dir.name}.log")).resolve()
        super().__init__(listen, self.log_path)
        self._broker_listen = broker_listen
        self._registry_listen = registry_listen
        self._settings = dict(settings or {})
        self._addresses: dict[str, str] = {}

    @property
    def bootstrap_servers(self) -> str:
        """`HOST:PORT` of the broker."""
        return self._address_of("broker")

    @property
    def registry(self) -> str:
        """URL of the schema registry."""
        return self._address_of("registry")

    @property
    def url(self) -> str:
        """URL of the SQL server."""
        return self._address_of("server")

    def prepare(self) -> None:
        """Create the data directory, and forget the addresses of the last start."""
        self.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._addresses.clear()

    def command(self) -> list[str]:
        """Return the command with the data directory, the addresses and the settings."""
        command = [*START_PROGRAM, "--data", str(self.data_dir), "--listen", self._listen]
        command += ["--broker-listen", self._broker_listen]
        command += ["--registry-listen", self._registry_listen]
        for name, value in self._settings.items():
            command += ["--set", f"{name}={value}"]
        return command

    def address_in(self, line: bytes) -> str | None:
        """Note the address of one server; return that of the SQL server after the last one."""
        match = self.ready_line.match(line)
        if match is None:
            return None
        self._addresses[match[1].decode()] = match[2].decode()
        return self.url if self._addresses.keys() >= _SERVERS else ""

    def _address_of(self, server: str) -> str:
        assert server in self._addresses, f"the {server} was never ready"
        return self._addresses[server]
