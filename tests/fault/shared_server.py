"""A server that shares persistent queries with others; its queries only write to a file that they run.

    shared_server.py BOOTSTRAP SERVICE DIRECTORY NAME FILE START_S STOP_S

Each run of a query appends a line `tick QUERY NAME RUN NANOSECONDS` to the file many times a second:
the file shows when each server ran each query. A start takes START_S, a stop STOP_S, during which the
query continues. The line `stop` on standard input stops the server.
"""

import os
import sys
import threading
import time
import uuid
from pathlib import Path

from duolog.core.errors import DuologError
from duolog.engine.query.reports.progress import Progress
from duolog.runtime.sql.command_log.desired_query import DesiredQuery
from duolog.runtime.sql.service import SqlService

TICK_S = 0.02


class TickingQuery:
    """Ticks until it is stopped."""

    def __init__(self, query_id: str, name: str, file: int, stop_s: float) -> None:
        self.state = "running"
        self.has_ended = False
        self._line = f"tick {query_id} {name} {uuid.uuid4().hex}"
        self._file = file
        self._stop_s = stop_s
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._tick, daemon=True)
        self._thread.start()

    def exception(self) -> DuologError | None:
        return None

    def progress(self) -> Progress:
        return Progress("micro-batch", self.state)

    def stop(self) -> None:
        if not self.has_ended:
            time.sleep(self._stop_s)
            self._stopping.set()
            self._thread.join()
            self.has_ended = True

    def _tick(self) -> None:
        while not self._stopping.wait(TICK_S):
            # One write, so that lines of several processes do not mix.
            os.write(self._file, f"{self._line} {time.monotonic_ns()}\n".encode())


class TickingStarter:
    """Starts ticking queries."""

    def __init__(self, name: str, file: Path, start_s: float, stop_s: float) -> None:
        self._name, self._start_s, self._stop_s = name, start_s, stop_s
        self._file = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def start(self, wanted: DesiredQuery) -> TickingQuery:
        time.sleep(self._start_s)
        return TickingQuery(wanted.query.id, self._name, self._file, self._stop_s)

    def abandon(self, checkpoint: str) -> None:
        pass

    def force_stop(self, checkpoint: str) -> None:
        pass

    def is_running(self, checkpoint: str) -> bool:
        return False

    def forget(self, checkpoint: str) -> None:
        os.write(self._file, f"forget {checkpoint} {self._name} - 0\n".encode())

    def close(self) -> None:
        pass


def main() -> None:
    bootstrap, service_id, directory, name, file, start_s, stop_s = sys.argv[1:]
    starter = TickingStarter(name, Path(file), float(start_s), float(stop_s))
    service = SqlService(
        bootstrap, data=Path(directory) / name, service_id=service_id, starter=starter
    )
    service.stand_by(f"{name}:8088")
    print("started", flush=True)  # noqa: T201 - for the test
    sys.stdin.readline()
    service.close()
    print("stopped", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
