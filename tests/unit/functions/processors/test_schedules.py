"""Schedules of a processor that is created again: their due times do not change."""

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
    """Schedules by both clocks, and forwards the times of its calls."""

    def init(self, context: Any) -> None:
        self.context = context
        for kind in ("stream time", "wall clock"):
            context.schedule(dt.timedelta(milliseconds=100), kind, self.tick)

    def tick(self, now: int) -> None:
        self.context.forward(Record("tick", {"n": now}, now))

    def process(self, record: Record) -> None:
        """Accept it, and do nothing."""


def runtime(clock_ms: int) -> ProcessorRuntime:
    topology = Topology("ticking")
    stream = topology.stream("in", key="id STRING", value="said STRING")
    stream.process(Ticking, value="n BIGINT").to("out")
    (node,) = (node for node in topology.build().nodes if isinstance(node, Process))
    return ProcessorRuntime(
        node.definition, ProcessorId("ticking", "0_0", node.name), {}, lambda: clock_ms
    )


def test_a_recreated_processor_keeps_its_due_times() -> None:
    """Schedules that started over would be delayed by each restart of an application."""
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
def test_several_schedules_keep_their_order(kept: list[int]) -> None:
    """They are created in the order of `init`, and continue in the stored order."""
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
