"""A real broker for the duration of a test."""

import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self

from duolog.runtime.broker_process import BROKER_PROGRAM, BrokerProcess


class EmbeddedCluster:
    """A broker process on a free port of 127.0.0.1, as a context manager.

    Without `data_dir`, its data are in a temporary directory that is deleted at the end. After a
    kill or stop, `restart` starts it again with the same address and data; until then its port
    stays reserved.

    Args:
        data_dir: the broker's data directory, which is kept.
        settings: broker settings by name, as texts, such as `{"durability": "os"}`.
        listen: `HOST:PORT`; port 0 chooses a free port.
        program: the command that runs the broker, see `BrokerProcess`.
    """

    def __init__(
        self,
        data_dir: Path | str | None = None,
        settings: Mapping[str, str] | None = None,
        *,
        listen: str = "127.0.0.1:0",
        program: Sequence[str] = BROKER_PROGRAM,
    ) -> None:
        self._temporary: TemporaryDirectory[str] | None = None
        if data_dir is None:
            self._temporary = TemporaryDirectory(prefix="duolog-cluster-")
            data_dir = Path(self._temporary.name) / "broker"
        self.broker = BrokerProcess(data_dir, listen, settings, program=program)
        self._kept_port: socket.socket | None = None

    def __enter__(self) -> Self:
        try:
            self.broker.start()
        except BaseException:
            self._forget()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.broker.stop()
        self._free_port()
        self._forget()

    @property
    def bootstrap_servers(self) -> str:
        return self.broker.bootstrap_servers

    @property
    def data_dir(self) -> Path:
        return self.broker.data_dir

    @property
    def pid(self) -> int:
        return self.broker.pid

    def kill(self) -> None:
        """Kill the broker with SIGKILL."""
        self.broker.kill()
        self._keep_port()

    def stop(self) -> None:
        """Stop the broker cleanly; the data stay until the `with` block ends."""
        self.broker.stop()
        self._keep_port()

    def restart(self) -> None:
        """Stop the broker if it is running, and start it with the same address and data."""
        self.broker.stop()
        self._free_port()
        self.broker.restart()

    def _keep_port(self) -> None:
        """Bind the broker's port without listening, while the broker is down.

        Otherwise another process could get it as a free port: clients that wait for this broker
        would connect to that process, and the broker could not restart.
        """
        if self._kept_port is None:
            host, port = self.bootstrap_servers.rsplit(":", 1)
            self._kept_port = socket.socket()
            # Connections of the stopped broker may linger on the port.
            self._kept_port.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._kept_port.bind((host, int(port)))

    def _free_port(self) -> None:
        if self._kept_port is not None:
            self._kept_port.close()
            self._kept_port = None

    def _forget(self) -> None:
        if self._temporary is not None:
            self._temporary.cleanup()
