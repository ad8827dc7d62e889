"""Fake queries without Spark, for tests of the supervisor and the engine."""

from typing import TYPE_CHECKING

from duolog.core.errors import DuologError, QueryError
from duolog.engine.query.reports.progress import Progress
from duolog.runtime.sql.answers import Message
from duolog.runtime.sql.command_log.desired_query import DesiredQuery
from duolog.runtime.sql.engine import SqlEngine

if TYPE_CHECKING:
    from duolog.runtime.sql.command_log.commands import Offsets


class FakeQuery:
    """Runs until it is stopped or made to fail."""

    def __init__(self) -> None:
        self.state = "running"
        self.has_ended = False
        self._failure: DuologError | None = None

    def exception(self) -> DuologError | None:
        return self._failure

    def progress(self) -> Progress:
        return Progress("micro-batch", self.state, records_in=7, lag_records={"t": 3})

    def stop(self) -> None:
        self.has_ended = True

    def fail(self, why: str) -> None:
        self._failure = QueryError(why)
        self.has_ended = True


class FakeStarter:
    """Keeps what was started and forgotten; the queries in `refused` do not start.

    Those whose checkpoints are in `stopping` stop in the background.
    """

    def __init__(self) -> None:
        self.running: dict[str, FakeQuery] = {}
        self.starts: list[str] = []
        self.checkpoints: list[str] = []
        self.offsets: dict[str, Offsets] = {}
        self.plans: list[object] = []
        self.forgotten: list[str] = []
        self.refused: dict[str, str] = {}
        self.stopping: set[str] = set()
        self.abandoned: set[str] = set()

    def start(self, wanted: DesiredQuery) -> FakeQuery:
        query = wanted.query
        self.starts.append(query.id)
        self.checkpoints.append(wanted.checkpoint)
        self.offsets[query.id] = wanted.starts
        if query.id in self.refused:
            raise QueryError(self.refused[query.id])
        self.plans.append(query.planned.plan)
        self.running[query.id] = FakeQuery()
        return self.running[query.id]

    def abandon(self, checkpoint: str) -> None:
        self.abandoned.add(checkpoint)

    def is_running(self, checkpoint: str) -> bool:
        return checkpoint in self.stopping

    def force_stop(self, checkpoint: str) -> None:
        self.stopping.discard(checkpoint)

    def forget(self, checkpoint: str) -> None:
        self.forgotten.append(checkpoint)

    def close(self) -> None:
        pass


def answers_of(engine: SqlEngine, text: str) -> list[object]:
    """Return what statements answer: sentences, and lists of rows."""
    return [
        answer.text if isinstance(answer, Message) else list(answer)
        for answer in engine.execute(text)
    ]
