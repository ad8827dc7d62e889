"""Hypothesis strategies for topologies over all operators, and for records of their topics.

`random_topologies` has the steps; the cases for Kafka Streams are numbers
(`conformance/streams/random_cases.py`).
"""

from random import Random
from typing import Final

from hypothesis import strategies as st

from duolog import Topology
from random_topologies import stream_steps, table_steps
from random_topologies.generator import (
    GLOBAL,
    KEY,
    STREAMS,
    TABLES,
    TEXTS,
    VALUE,
    TopologyGenerator,
    ms,
)

__all__ = ["GLOBAL", "KEY", "VALUE", "RawRecord", "ms", "raw_records", "topologies"]


def topologies(steps_max: int = 6, *, alone: bool = True) -> st.SearchStrategy[Topology]:
    """A topology whose unread streams and tables are written to topics, and some of the others too.

    With `alone`, records arrive one by one: then results may depend on the stream
    time of a task.
    """

    def built(rng: Random, steps: int) -> Topology:
        generator = TopologyGenerator(rng, alone=alone, places=True)
        for _ in range(steps):
            generator.add_step(stream_steps.STEPS, table_steps.STEPS)
        return generator.finish()

    return st.builds(built, st.randoms(use_true_random=False), st.integers(1, steps_max))


_rows = st.tuples(st.none() | st.sampled_from(TEXTS), st.none() | st.integers(-3, 3))

RawRecord = tuple[str, str | None, tuple[str | None, int | None] | None, int]
"""Topic, key, row, and a time: its own, or how long after the record before it."""

raw_records: Final[st.SearchStrategy[RawRecord]] = st.tuples(
    st.sampled_from((*STREAMS, *TABLES, GLOBAL)),
    st.none() | st.sampled_from(TEXTS),
    st.one_of(_rows, _rows, _rows, st.none()),
    st.integers(0, 9),
)
