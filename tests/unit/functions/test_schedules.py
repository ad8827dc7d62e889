"""Schedules of a processor that is made anew: they are due when they were due before."""

import datetime as dt
from typing import Any, Final

import pytest

from duolog import Processor, Record, Topology
from duolog.functions.processors.processor_runtime import ProcessorId, ProcessorRuntime
from duolog.functions.processors.schedules import PunctuationType, Schedules
from duolog.plan.nodes import Process

WALL_CLOCK: Final = PunctuationType.WALL_CLOCK_TIME
STREAM_TIME: Final = PunctuationType.STREAM_TIME


class Ticking(Processor):
    """Schedules by both clocks, and tells at what times it is called."""

    def init(self, context: Any) -> None:
        self.context = context
        for kind in ("stream time", "wall clock"):
            context.schedule(dt.timedelta(milliseconds=100), kind, self.tick)

    def tick(self, now: int) -> None:
        self.context.forward(Record("tick", {"n": now}, now))

    def process(self, record: Record) -> None:
        """Take it."""


def runtime(clock_ms: int) -> ProcessorRuntime:
    topology = Topology("ticking")
    stream = topology.stream("in", key="id STRING", value="said STRING")
    stream.process(Ticking, value="n BIGINT").to("out")
    (node,) = (node for node in topology.build().nodes if isinstance(node, Process))
    return ProcessorRuntime(
        node.definition, ProcessorId("ticking", "0_0", node.name), {}, lambda: clock_ms
    )


def test_a_processor_that_is_made_anew_is_called_when_it_was_due() -> None:
    """Schedules that began anew would be an interval late, for as long as an application is started again and again."""
    first = runtime(1_000)
    first.begin(-1, None)
    assert first.schedules.next(WALL_CLOCK) == 1_100
    assert len(first.punctuate(STREAM_TIME, 130, 130).forwarded) == 1
    assert len(first.punctuate(WALL_CLOCK, 1_150, 130).forwarded) == 1
    due = [(first.schedules.next(kind)) for kind in (STREAM_TIME, WALL_CLOCK)]
    assert due == [200, 1_200]

    again = runtime(1_190)
    again.begin(130, first.schedules.keep())

    assert [again.schedules.next(kind) for kind in (STREAM_TIME, WALL_CLOCK)] == due
    assert again.punctuate(WALL_CLOCK, 1_199, 130).forwarded == []
    assert len(again.punctuate(WALL_CLOCK, 1_200, 130).forwarded) == 1


@pytest.mark.parametrize("kept", [[110, 5_000], [5_000, 110]])
def test_of_several_schedules_the_one_that_was_due_first_is_due_first(kept: list[int]) -> None:
    """They are made in the order of `init`, and go on in the order of what was kept."""
    again, called = Schedules(), list[int]()
    for interval in (100, 30):
        again.add(WALL_CLOCK, interval, 5_000, print, kept=True)

    again.restore(
        [[WALL_CLOCK.value, interval, at] for interval, at in zip((100, 30), kept, strict=True)]
    )

    assert again.next(WALL_CLOCK) == 110
    for schedule in again.pass_due(WALL_CLOCK, 5_000):
        called.append(schedule.at)
    assert called == [110, 5_000]
