"""Run the broker as a child process, see `server_process.py`."""

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from duolog.core.operating_system.support import ensure_broker_supported
from duolog.runtime.server_process import START_TIMEOUT_S, STOP_TIMEOUT_S, ServerProcess

__all__ = ["BROKER_PROGRAM", "START_TIMEOUT_S", "STOP_TIMEOUT_S", "BrokerProcess"]

# -P: do not import a directory called "duolog" in the user's working directory.
BROKER_PROGRAM: Final = (sys.executable, "-P", "-m", "duolog", "broker", "--stop-with-stdin")


class BrokerProcess(ServerProcess):
    """A broker in its own process, over one data directory.

    Args:
        data_dir: directory of the broker's log; created if missing.
        listen: `HOST:PORT`; port 0 chooses a free port.
        settings: broker settings by name, as strings.
        log_path: file for the broker's output; by default next to the data directory.
        program: the command, before `--data`, `--listen` and `--set`.
    """

    kind = "broker"
    ready_line = re.compile(rb"^duolog broker ready on (\S+:\d+)$")

    def __init__(
        self,
        data_dir: Path | str,
        listen: str = "127.0.0.1:0",
        settings: Mapping[str, str] | None = None,
        *,
        log_path: Path | None = None,
        program: Sequence[str] = BROKER_PROGRAM,
    ) -> None:
        self.data_dir = Path(data_dir).resolve()
        log_path = log_path or self.data_dir.with_name(f"{self.data_dir.name}.log")
        self.log_path = log_path.resolve()
        super().__init__(listen, self.log_path)
        self._settings = dict(settings or {})
        self._program = tuple(program)

    @property
    def bootstrap_servers(self) -> str:
        """`HOST:PORT` of the last start."""
        assert self._address, "the broker was never started"
        return self._address

    def prepare(self) -> None:
        """Create the data directory.

        Raises:
            ConfigError: the broker does not run on this system, or a setting is a secret.
        """
        # Imported late: it has all settings.
        from duolog.broker.settings.arguments import ensure_no_secrets  # noqa: PLC0415

        ensure_broker_supported()
        ensure_no_secrets(self._settings)
        self.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)

    def command(self) -> list[str]:
        """Return the command with the data directory, the address and the settings."""
        command = [*self._program, "--data", str(self.data_dir), "--listen", self._listen]
        for name, value in self._settings.items():
            command += ["--set", f"{name}={value}"]
        return command
