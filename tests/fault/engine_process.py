"""An engine in a process group of its own: started, watched, killed with its JVM, started again."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from fault.other_machine import OtherMachine

START_TIMEOUT_S = 300.0
STOP_TIMEOUT_S = 90.0
PROGRAM = Path(__file__).with_name("engine_program.py")
TESTS = PROGRAM.parents[1]
SAID_LAST_BYTES = 4000


class Moment(Protocol):
    """A condition on the state and mode that the engine reports."""

    __name__: str

    def __call__(self, state: str, mode: str, /) -> bool: ...


def starts_micro_batches(state: str, mode: str) -> bool:
    return mode == "micro-batch" and state in {"catching-up", "running"}


def is_live(state: str, mode: str) -> bool:
    return mode == "real-time" and state == "running"


class EngineProcess:
    """One application on one data directory; a process at a time."""

    def __init__(
        self,
        bootstrap_servers: str,
        data_dir: Path,
        prefix: str,
        settings: Mapping[str, str],
        *,
        program: Path = PROGRAM,
        start_timeout_s: float = START_TIMEOUT_S,
    ) -> None:
        self._start_timeout_s = start_timeout_s
        self.data_dir = data_dir
        self.checkpoint = data_dir / "checkpoints" / f"{prefix}journeys" / "spark"
        self.jvm_pid = -1
        """Process id of the JVM that the program reported last; -1 before the first report."""
        self._command = [sys.executable, str(program), bootstrap_servers, str(data_dir), prefix]
        self._settings = [f"{name}={value}" for name, value in settings.items()]
        self._process: subprocess.Popen[str] | None = None
        self._outlived: list[int] = []
        self._said: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._listener: threading.Thread | None = None
        self._state = ""
        self._mode = ""

    def __enter__(self) -> Self:
        self.data_dir.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None:
            self.kill()
        for group in self._outlived:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)

    def start(
        self,
        mode: str,
        environment: Mapping[str, str] | None = None,
        machine: OtherMachine | None = None,
    ) -> None:
        """Start the process, on another machine where one is given; it takes seconds until it says something."""
        assert self._process is None, "the engine is already running"
        self._said = queue.SimpleQueue()
        self._state = self._mode = ""
        self.jvm_pid = -1
        scratch = self.data_dir / "scratch"
        scratch.mkdir(exist_ok=True)
        command = [*self._command, mode, *self._settings]
        with self._errors.open("ab") as errors:
            self._process = subprocess.Popen(
                command if machine is None else machine.command(command),
                cwd=None if machine is None else machine.work,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                # Files that a killed JVM leaves are deleted with the test's directory.
                env=os.environ
                | {"PYTHONPATH": str(TESTS), "TMPDIR": str(scratch)}
                | dict({} if machine is None else machine.environment)
                | dict(environment or {}),
                start_new_session=True,
            )
        self._listener = threading.Thread(target=self._listen, args=[self._process, self._said])
        self._listener.start()

    def wait_for(self, moment: Moment) -> None:
        """Wait until the engine says that it has come to this moment; return at once if it has."""
        deadline = time.monotonic() + self._start_timeout_s
        while not moment(self._state, self._mode):
            assert time.monotonic() < deadline, f"it did not come so far: {self._said_last()}"
            self.ensure_running()
            self._receive(0.2)

    def wait_until_it_is(self, moment: Moment) -> None:
        """Wait like `wait_for`, but ignore earlier reports: the state may have been reached before and changed."""
        while self._receive(0):
            pass
        self.wait_for(moment)

    @property
    def mode(self) -> str:
        """Return the mode that the program reported last."""
        while self._receive(0):
            pass
        return self._mode

    def _receive(self, timeout_s: float) -> bool:
        """Take what it has said next; False where that is nothing."""
        try:
            said = json.loads(
                self._said.get(timeout=timeout_s) if timeout_s else self._said.get_nowait()
            )
        except queue.Empty:
            return False
        self._state, self._mode = said["state"], said["mode"]
        self.jvm_pid = said.get("jvm", -1)
        return True

    def kill(self) -> None:
        """End the process and its JVM with SIGKILL, both at once."""
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError):  # It has ended by itself.
            os.killpg(self._process.pid, signal.SIGKILL)
        self._reap()

    @property
    def state(self) -> str:
        """Return the state that the program reported last, as far as a test has read the reports."""
        return self._state

    @property
    def is_running(self) -> bool:
        return self._process is not None

    def kill_jvm_alone(self) -> None:
        """End the JVM with SIGKILL; the process starts another one."""
        assert self.jvm_pid > 0, "the program has not reported a JVM"
        os.kill(self.jvm_pid, signal.SIGKILL)

    def kill_python_alone(self) -> None:
        """End the process with SIGKILL; its JVM notices a moment later, and ends by itself."""
        assert self._process is not None
        self._outlived.append(self._process.pid)
        self._process.kill()
        self._reap()

    def stop(self) -> None:
        """Stop cleanly."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.close()
        status = self._process.wait(STOP_TIMEOUT_S)
        assert status == 0, f"the engine did not stop cleanly: {self._said_last()}"
        self._reap()

    def ensure_running(self) -> None:
        assert self._process is not None
        assert self._process.poll() is None, f"the engine ended: {self._said_last()}"

    def committed(self) -> int:
        """Return the number of the last micro-batch or epoch that is committed; -1 before it."""
        numbers = [int(path.name) for path in self.checkpoint.glob("commits/[0-9]*")]
        return max(numbers, default=-1)

    @property
    def _errors(self) -> Path:
        return self.data_dir / "errors.log"

    def _said_last(self) -> str:
        return self._errors.read_text(errors="replace")[-SAID_LAST_BYTES:]

    def _reap(self) -> None:
        process, self._process = self._process, None
        assert process is not None
        process.wait(STOP_TIMEOUT_S)
        if self._listener is not None:
            self._listener.join(STOP_TIMEOUT_S)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()

    @staticmethod
    def _listen(process: "subprocess.Popen[str]", said: "queue.SimpleQueue[str]") -> None:
        assert process.stdout is not None
        for line in process.stdout:
            said.put(line)
