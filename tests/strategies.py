"""Hypothesis strategies that several property tests share."""

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from duolog.record import Compression, Record

names = st.text(st.characters(codec="utf-8"), max_size=8)
payloads = st.none() | st.binary(max_size=200)
headers = st.lists(st.tuples(names, payloads), max_size=3).map(tuple)
timestamps = st.integers(0, 2**41)
compressions = st.sampled_from(list(Compression))


@st.composite
def records(draw: st.DrawFn) -> Record:
    """One record; the encoder sets its offset."""
    return Record(0, draw(timestamps), draw(payloads), draw(payloads), draw(headers))


record_lists = st.lists(records(), min_size=1, max_size=12)


@dataclass(frozen=True)
class Append:
    """Append a batch of the given number of records to a partition; idempotent ones have a producer."""

    partition: int
    records: int
    value_bytes: int
    timestamp_ms: int
    idempotent: bool


@dataclass(frozen=True)
class Commit:
    """Write what is staged and wait for a group commit."""


@dataclass(frozen=True)
class AdvanceLogStart:
    """Delete records of a partition up to a share of what is acknowledged."""

    partition: int
    share: float


@dataclass(frozen=True)
class Stop:
    """Stop in order, and start again."""


Step = Append | Commit | AdvanceLogStart | Stop


@dataclass(frozen=True)
class Life:
    """The steps of a broker until its end, and the seed that decides which writes survive.

    The end is a loss of power, or the process alone is killed and finds all that it wrote.
    """

    steps: Sequence[Step]
    changes_until_power_off: int
    seed: int
    killed: bool = False


def lives(partitions: int) -> st.SearchStrategy[Life]:
    appends = st.builds(
        Append,
        partition=st.integers(0, partitions - 1),
        records=st.integers(1, 4),
        value_bytes=st.integers(0, 400),
        timestamp_ms=st.integers(1, 5000),
        idempotent=st.booleans(),
    )
    steps = st.one_of(
        appends,
        appends,
        appends,
        st.just(Commit()),
        st.builds(AdvanceLogStart, partition=st.integers(0, partitions - 1), share=st.floats(0, 1)),
        st.just(Stop()),
    )
    return st.builds(
        Life,
        steps=st.lists(steps, min_size=5, max_size=40),
        changes_until_power_off=st.integers(0, 250),
        seed=st.integers(0, 2**32),
        killed=st.booleans(),
    )
