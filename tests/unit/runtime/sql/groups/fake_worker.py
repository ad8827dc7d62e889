"""A process of a group with fake queries, whose ids say how they behave.

REFUSED…      does not start                  ENDLESS…   its start does not return
STUCK…        does not stop                   FAILS…     starts, and has failed
CRASH…        ends the process at its start   OOM…       ends the JVM after its start
HANGS…        the JVM does not answer         PAUSED…    pauses the process at its start
GARBLED…      sends an invalid message        REBUILDS…  its start fails when it is abandoned
"""

import os
import signal
import sys
import threading

from duolog.core.errors import QueryError
from duolog.engine.query.metrics import Metrics, SourceMetrics
from duolog.engine.query.reports.progress import Progress, Skipped
from duolog.runtime.sql.groups.frames import Frames
from duolog.runtime.sql.groups.messages import Setup
from duolog.runtime.sql.groups.worker import take_standard_pipes
from duolog.runtime.sql.groups.worker_loop import WorkerLoop

FOREVER = threading.Event()
SKIPPED = Skipped("processing", "a sum overflows", "SUM", 2, "t", 0, 7)


class Query:
    def __init__(self, name: str, offset: int) -> None:
        self.name = name
        self.offset = offset
        self.has_ended = name.startswith("FAILS")

    @property
    def state(self) -> str:
        return "failed" if self.has_ended else "running"

    def exception(self) -> QueryError | None:
        if not self.name.startswith("FAILS"):
            return None
        return QueryError("a sum overflows", detail="In SUM.", hint="Use DECIMAL.")

    def progress(self) -> Progress:
        return Progress(
            "micro-batch",
            self.state,
            records_in=self.offset,
            lag_records={"t": 3},
            skipped_because=(SKIPPED,),
        )

    def metrics(self) -> Metrics:
        source = SourceMetrics("t", 0, 3, 4, 9, None)
        return Metrics(self.name, self.state, "micro-batch", 1, records_in=3, sources=(source,))

    def stop(self) -> None:
        if self.name.startswith("STUCK"):
            FOREVER.wait()
        self.has_ended = True


class Queries:
    """The queries of one group."""

    def __init__(self, frames: Frames) -> None:
        self.frames = frames
        self.end = ""
        self.hangs = False
        self.abandoned = threading.Event()

    def start(self, query_id: str, offset: int) -> Query:
        os.write(1, b"printed to standard output, which is the log\n")
        match query_id.rstrip("0123456789_"):
            case "REFUSED":
                raise QueryError("its topic is gone", hint="Create it.")
            case "ENDLESS":
                FOREVER.wait()
            case "REBUILDS":
                self.abandoned.wait()
                raise QueryError("the rebuild was stopped")
            case "CRASH":
                os._exit(7)
            case "OOM":
                self.end = "the JVM ran out of memory"
            case "HANGS":
                self.hangs = True
            case "GARBLED":
                self.frames.send({"runs": {}})
                FOREVER.wait()
            case "PAUSED":
                os.kill(os.getpid(), signal.SIGSTOP)
        return Query(query_id, offset)

    def abandon(self, checkpoint: str) -> None:
        assert checkpoint
        self.abandoned.set()

    def ping(self) -> None:
        if self.hangs:
            FOREVER.wait()

    def jvm_end(self) -> str:
        return self.end

    def close(self) -> None:
        pass


if __name__ == "__main__":
    frames = take_standard_pipes()
    message = frames.receive()
    assert message is not None
    Setup.decode(message)
    WorkerLoop(frames, Queries(frames)).run()
    sys.stderr.flush()
    os._exit(0)
