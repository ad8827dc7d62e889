"""The SQL server with queries that only count, for the browser tests: no JVM, figures that move.

    python -m console.fake_queries BOOTSTRAP_SERVERS DATA_DIRECTORY      in the folder of the tests

Prints what `duolog server` prints. A query reads 40 records a second up to record 9,000 and writes
half of them. A query whose name contains BROKEN does not start. Everything else is the server's
own code: the command topic, the supervisor, the measurements, the HTTP interface.
"""

import os
import signal
import sys
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

from duolog.core.errors import QueryError
from duolog.engine.query.metrics import (
    Metrics,
    SinkMetrics,
    SourceMetrics,
    StateMetrics,
    StoreMetrics,
    TaskMetrics,
)
from duolog.registry.store.clients import KafkaOptions
from duolog.runtime.sql.command_log.desired_query import DesiredQuery
from duolog.runtime.sql.figures.service_figures import ServiceFigures
from duolog.runtime.sql.service import SqlService
from duolog.security.clients.brokers import Brokers
from duolog.server import process
from unit.runtime.sql.fake_queries import FakeQuery, FakeStarter

READ_PER_S = 40
FIRST, LAST = 1_000, 9_000
MEASURE_S = 1.0


class CountingQuery(FakeQuery):
    """Reads records at a constant rate."""

    def __init__(self, wanted: DesiredQuery) -> None:
        super().__init__()
        self._began = time.monotonic()
        self._topics = [topic for source in wanted.query.planned.sources for topic in source.topics]
        self._sink = wanted.query.planned.topic
        self._is_table = wanted.query.id.startswith("CTAS")

    def metrics(self) -> Metrics:
        passed_s = time.monotonic() - self._began
        count = min(LAST, FIRST + int(passed_s * READ_PER_S))
        written = count // 2
        store = StoreMetrics("counts", count // 100, count * 3, int(time.time() * 1000))
        return replace(
            Metrics("app", "running", "micro-batch", 0),
            sources=tuple(
                SourceMetrics(topic, 0, count, count, 10_000, None) for topic in self._topics
            ),
            sinks=(SinkMetrics(self._sink, written, written * 12, 0),),
            records_in=count * len(self._topics),
            records_out=written,
            states=(StateMetrics(0, 1, 65_536 + count, 0),) if self._is_table else (),
            skipped={"deserialization": 3},
            tasks=(TaskMetrics("0_0", count, None, 0, 0, (), (store,)),) if self._is_table else (),
        )


class CountingStarter(FakeStarter):
    """Starts such queries."""

    def start(self, wanted: DesiredQuery) -> FakeQuery:
        super().start(wanted)
        if "BROKEN" in wanted.query.id:
            raise QueryError(
                "the state of the query is damaged",
                detail="A file has the wrong checksum.",
                hint="Run `duolog state reset`, then resume the query.",
            )
        return CountingQuery(wanted)


def main() -> int:
    bootstrap, data = sys.argv[1:]
    vars(process)["SqlService"] = partial(SqlService, starter=CountingStarter())
    ServiceFigures.start.__defaults__ = (MEASURE_S,)
    options = process.ServerOptions(
        Brokers(bootstrap), KafkaOptions(bootstrap), Path(data), listen="127.0.0.1:0"
    )
    threading.Thread(target=_stop_with_stdin, daemon=True).start()
    return process.run(options, _report)


def _report(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _stop_with_stdin() -> None:
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
