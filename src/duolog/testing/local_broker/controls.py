"""Commands from the test process, one line of JSON each, answered by one line of JSON.

    {"command": "advance", "ms": 60000, "timers": false}    {}
    {"command": "pause"}                                    {"error": "…"}

Commands arrive on standard input, so only the parent process can send them, and answers leave on
standard output after the line that reports the broker as ready. When standard input ends, the
parent has exited: the broker stops.

Threads: a thread of its own reads the commands. All but `pause` and `resume` are carried out on the
broker's event loop. `pause` blocks the loop until `resume`.
"""

import io
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from duolog.broker.broker import Broker
from duolog.core.units import SECOND_MS
from duolog.testing.local_broker.faults import (
    Delay,
    DelayedConnection,
    FillableDisk,
    ShiftedClock,
)

STOP_GRACE_S: Final = 15.0
_STDIN: Final = 0

Command = Mapping[str, object]


class Controls:
    """Carries out commands in the broker's process."""

    def __init__(self) -> None:
        self.clock = ShiftedClock()
        self.orphaned = False
        """True if the parent process has exited."""
        self._disk: FillableDisk | None = None
        self._delay = Delay()
        self._resumed = threading.Event()
        self._resumed.set()

    def open_disk(self, open_files_max: int) -> FillableDisk:
        self._disk = FillableDisk(open_files_max)
        return self._disk

    def attach(self, broker: Broker) -> None:
        """Take control of a broker that has not started."""
        broker.connection_type = partial(DelayedConnection, delay=self._delay)
        threading.Thread(
            target=self._serve, args=(broker,), name="test-controls", daemon=True
        ).start()

    def _serve(self, broker: Broker) -> None:
        # Unbuffered: a thread that waits for a buffer would hold its lock when Python exits.
        commands = io.FileIO(_STDIN, closefd=False)
        try:
            for line in iter(commands.readline, b""):
                self._answer(broker, line)
        except (OSError, ValueError):
            pass  # The parent was killed while it wrote a command or waited for an answer.
        finally:
            self._stop()

    def _answer(self, broker: Broker, line: bytes) -> None:
        command = json.loads(line)
        try:
            self._carry_out(broker, command)
            answer: dict[str, str] = {}
        except Exception as error:  # noqa: BLE001  The parent raises it in the test.
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)  # noqa: T201

    def _carry_out(self, broker: Broker, command: Command) -> None:
        name = command["command"]
        if name == "resume":
            self._resumed.set()
        elif not self._resumed.is_set():
            raise ValueError("the broker is paused")
        elif name == "pause":
            self._pause(broker)
        else:
            _on_loop(broker, partial(self._apply, broker, command))

    def _apply(self, broker: Broker, command: Command, done: Callable[[], None]) -> None:
        """Carry out a command on the event loop, and call `done` when it has had its effect."""
        match command:
            case {"command": "advance", "ms": int(ms), "timers": bool(timers)}:
                self.clock.advance(ms, timers=timers)
                broker.retention.look_once(done)
            case {"command": "delay", "ms": int(ms)}:
                self._delay.change(ms / SECOND_MS)
                done()
            case {"command": "fill", "full": bool(full)}:
                assert self._disk is not None
                self._disk.full = full
                done()
            case _:
                raise ValueError(f"not a command: {json.dumps(dict(command))}")

    def _pause(self, broker: Broker) -> None:
        blocked = threading.Event()
        self._resumed.clear()

        def block() -> None:
            blocked.set()
            self._resumed.wait()

        broker.loop.call_soon_threadsafe(block)
        blocked.wait()

    def _stop(self) -> None:
        """Stop the broker in order; end the process if that takes too long."""
        self.orphaned = True
        self._resumed.set()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(STOP_GRACE_S)
        os._exit(1)


def _on_loop(broker: Broker, apply: Callable[[Callable[[], None]], None]) -> None:
    """Call `apply` on the broker's event loop; return when it has called what it is given.

    Raises:
        Exception: what `apply` raised.
    """
    finished = threading.Event()
    failed: list[Exception] = []

    def call() -> None:
        try:
            apply(finished.set)
        except Exception as error:  # noqa: BLE001  Raised on the other thread.
            failed.append(error)
            finished.set()

    broker.loop.call_soon_threadsafe(call)
    finished.wait()
    if failed:
        raise failed[0]
