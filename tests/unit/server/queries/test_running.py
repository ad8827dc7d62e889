"""The end of all queries when the server stops."""

import logging
import threading

import pytest

from duolog.core.errors import KafkaError
from duolog.runtime.sql.answers import Rows
from duolog.runtime.sql.reply.row_source import PushedRows
from duolog.server.queries.running import RunningQueries
from duolog.server.queries.started import StartedQuery
from waiting import DEADLINE_S


class Source:
    """A source that ends together with another one, as if its end took long."""

    def __init__(self, together: threading.Barrier, *, fails: bool) -> None:
        self._together = together
        self._fails = fails
        self.ended = False

    def next_rows(self, timeout_s: float) -> list[tuple[object, ...]]:
        del timeout_s
        return []

    def close(self) -> None:
        self._together.wait(DEADLINE_S)
        self.ended = True
        if self._fails:
            raise KafkaError('could not delete topic "__push-1"', code=7)


def test_queries_end_side_by_side_also_if_one_of_them_fails(
    caplog: pytest.LogCaptureFixture,
) -> None:
    together = threading.Barrier(2)
    sources = [Source(together, fails=True), Source(together, fails=False)]
    running = RunningQueries()
    for number, source in enumerate(sources):
        running.add(StartedQuery(f"q{number}", (), Rows((), PushedRows(source), unbounded=True)))

    with caplog.at_level(logging.WARNING):
        running.interrupt_all()

    assert [source.ended for source in sources] == [True, True]
    assert running.ids() == []
    assert [record.__dict__["query"] for record in caplog.records] == ["q0"]
