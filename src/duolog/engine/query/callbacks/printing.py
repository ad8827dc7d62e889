"""Write records that a topology prints from the kernel to the user's terminal.

    [orders] 2026-11-22T10:00:00.000Z "ann" {"amount": 3}

The kernel buffers what waits to be written, and drops the rest. On a cluster executors write to
their own standard output instead.
"""

import contextlib
import datetime as dt
import json
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Final, Protocol

from py4j.protocol import Py4JError

from duolog.core.counts import counted_are
from duolog.core.printable import for_stream
from duolog.serde.times import MILLISECONDS_MAX, MILLISECONDS_MIN

_PERIOD_S: Final = 0.1


class Printing(Protocol):
    """The source of printed records: a `KernelExchange`."""

    def take_printed(self) -> str: ...
    def take_output(self) -> str: ...


class Printer:
    """A thread that writes what an application prints: records, and the output of its functions.

    Args:
        printing: returns the exchange with the current JVM.
        records: whether the topology prints records.
        output: whether Python functions run in other processes, and may print.
    """

    def __init__(
        self,
        printing: Callable[[], Printing],
        application_id: str,
        *,
        records: bool,
        output: bool,
    ) -> None:
        self._printing = printing
        self._records, self._output = records, output
        self._closed = threading.Event()
        name = f"duolog-print-{application_id}"
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Write what is left, and end."""
        self._closed.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closed.wait(_PERIOD_S):
            self._write()
        self._write()

    def _write(self) -> None:
        # The loss of a terminal or of a JVM must not end the query.
        with contextlib.suppress(Py4JError, ConnectionError, OSError, ValueError):
            printing = self._printing()
            if self._records:
                write_printed(printing.take_printed())
            if self._output:
                write_of_functions(printing.take_output())


def write_printed(taken: str) -> None:
    """Write printed records from the kernel, in its JSON form, to standard output."""
    for line in lines_of(taken):
        sys.stdout.write(for_stream(f"{line}\n"))
    sys.stdout.flush()


def write_of_functions(taken: str) -> None:
    """Write what Python functions have printed or logged to standard output."""
    found = json.loads(taken)
    for line in found["lines"]:
        sys.stdout.write(f"{line}\n")
    if found["left_out"]:
        lines = counted_are(found["left_out"], "line of functions", "lines of functions")
        sys.stdout.write(f"… {lines} not shown\n")
    sys.stdout.flush()


def lines_of(taken: str) -> Iterator[str]:
    """Yield a line for each record, and one for the dropped records.

    Example:
        >>> record = {"label": "orders", "ts": 1000, "key": '"ann"', "value": '{"n":1}'}
        >>> list(lines_of(json.dumps({"records": [record], "left_out": 1200})))
        ['[orders] 1970-01-01T00:00:01.000Z "ann" {"n":1}', '… 1,200 records are not shown']
    """
    found = json.loads(taken)
    for record in found["records"]:
        key, value = (record[part] or "null" for part in ("key", "value"))
        yield f"[{record['label']}] {_time(record['ts'])} {key} {value}"
    if left_out := found["left_out"]:
        yield f"… {counted_are(left_out, 'record')} not shown"


def _time(timestamp_ms: int) -> str:
    if not MILLISECONDS_MIN <= timestamp_ms <= MILLISECONDS_MAX:
        return f"{timestamp_ms} ms"
    at = dt.datetime(1970, 1, 1) + dt.timedelta(milliseconds=timestamp_ms)  # noqa: DTZ001 - UTC
    return f"{at.isoformat(timespec='milliseconds')}Z"
