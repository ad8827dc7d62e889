"""Stream-stream joins for the comparison with Kafka Streams, and their records."""

import random
from collections.abc import Iterable
from typing import Final

from conformance.streams.comparison_cases import Define
from duolog import Topology, col, count, sum_
from duolog.dsl.streams import Stream
from topologies import KEY, VALUE, RawRecord, ms


def joined_within(topology: Topology) -> None:
    """Emit each pair once, at the later record; unmatched records after window and grace."""
    one, two = _streams(topology)
    one.join(two, within=ms(4), grace=ms(2), prefix="r_").to("inner")
    one.left_join(two, within=ms(4), grace=ms(2), prefix="r_").to("left")
    one.outer_join(two, within=ms(4), grace=ms(2), prefix="r_").to("outer")


def joined_without_grace(topology: Topology) -> None:
    """Late records are emitted unmatched at once; those at the window's edge may be expired."""
    one, two = _streams(topology)
    one.join(two, within=ms(3), prefix="r_").to("inner")
    one.left_join(two, within=ms(3), prefix="r_").to("left")
    one.outer_join(two, within=ms(3), prefix="r_").to("outer")


def joined_with_what_comes_after(topology: Topology) -> None:
    """A one-sided window: only records of the other stream that are later, or earlier."""
    one, two = _streams(topology)
    one.join(two, before=ms(0), after=ms(5), grace=ms(1), prefix="r_").to("inner-after")
    one.left_join(two, after=ms(5), grace=ms(1), prefix="r_").to("left-after")
    one.outer_join(two, before=ms(6), grace=ms(3), prefix="r_").to("outer-before")
    one.outer_join(two, after=ms(7), before=ms(1), prefix="r_").to("outer-both")


def joined_with_what_comes_some_time_after(topology: Topology) -> None:
    """A window that does not hold the record itself: one end of it is negative."""
    one, two = _streams(topology)
    one.join(two, before=ms(-2), after=ms(6), grace=ms(2), prefix="r_").to("inner")
    one.left_join(two, before=ms(-2), after=ms(6), grace=ms(2), prefix="r_").to("left")
    one.outer_join(two, before=ms(5), after=ms(-1), grace=ms(2), prefix="r_").to("outer")


def joined_eagerly(topology: Topology) -> None:
    """An unmatched record is emitted as soon as it arrives."""
    one, two = _streams(topology)
    one.left_join(two, within=ms(4), grace=ms(9), prefix="r_", eager=True).to("left")
    one.outer_join(two, within=ms(4), prefix="r_", eager=True).to("outer")


def stream_joined_with_itself(topology: Topology) -> None:
    """A record joins itself, ordered between earlier and later partners."""
    one, _ = _streams(topology)
    one.join(one, within=ms(4), grace=ms(2), prefix="r_").to("inner")
    one.join(one, before=ms(1), after=ms(5), prefix="r_").to("inner-after")
    one.left_join(one, within=ms(4), grace=ms(2), prefix="r_").to("left")
    one.outer_join(one, before=ms(-1), after=ms(5), grace=ms(2), prefix="r_").to("outer")
    one.outer_join(one.filter(col("n") > 40), within=ms(5), grace=ms(1), prefix="r_").to("some")


def joined_under_a_new_key(topology: Topology) -> None:
    """Records without a key have no partner and are emitted unmatched."""
    one, two = _streams(topology)
    by_name = one.select_key(k=col("a"))
    by_name.outer_join(two, within=ms(4), grace=ms(2), prefix="r_").to("outer")
    by_name.left_join(two.select_key(k=col("a")), within=ms(4), prefix="r_").to("left")


def joins_joined(topology: Topology) -> None:
    """The result of a join is a stream: it is joined, looks up rows and is counted."""
    one, two = _streams(topology)
    pairs = one.join(two, within=ms(4), grace=ms(8), prefix="r_")
    pairs.left_join(two, within=ms(3), grace=ms(8), prefix="again_").to("three")
    pairs.group_by_key().aggregate(c=count(), total=sum_("r_n")).to("counted")
    table = topology.table("t1", key=KEY, value=VALUE)
    one.outer_join(two, within=ms(4), grace=ms(2), prefix="r_").left_join(table, prefix="t_").to(
        "row"
    )


def joined_with_changes_of_its_own_count(topology: Topology) -> None:
    """One side depends on the other's sub-topology and on one of its stores."""
    one, _ = _streams(topology)
    counted = one.group_by_key().count("c")
    one.left_join(counted.to_stream(), within=ms(4), grace=ms(2)).to("counted")
    by_name = one.group_by(k=col("a")).count("by_name").to_stream()
    one.join(counted).join(by_name, within=ms(50)).to("by-name")


def selected(topology: Topology) -> None:
    """Columns and expressions of both sides; missing values are null."""
    one, two = _streams(topology)
    both = {"total": col("n") + col("r_n"), "a": col("r_a"), "k2": col("k")}
    one.outer_join(two, within=ms(4), grace=ms(2), prefix="r_", select=both).to("outer")
    one.join(two, within=ms(4), grace=ms(2), prefix="r_", select={"k2": col("k")}).to("keys")


def _streams(topology: Topology) -> tuple[Stream, Stream]:
    return topology.stream("s1", key=KEY, value=VALUE), topology.stream("s2", key=KEY, value=VALUE)


STREAM_JOINS: Final[tuple[Define, ...]] = (
    joined_within,
    joined_without_grace,
    joined_with_what_comes_after,
    joined_with_what_comes_some_time_after,
    joined_eagerly,
    stream_joined_with_itself,
    joined_under_a_new_key,
    joins_joined,
    joined_with_changes_of_its_own_count,
    selected,
)


def records_of_streams(seed: int, times: Iterable[int]) -> list[RawRecord]:
    """Return a record for each of these times, with null keys and values among them."""
    drawn = random.Random(seed)  # noqa: S311 - the same each time
    found: list[RawRecord] = []
    for number, time in enumerate(times):
        topic = drawn.choice(["s1", "s2", "s1", "s2", "t1"])
        key = drawn.choice(["x", "x", "y", "z", "yy", None])
        row = None if drawn.random() < 0.1 else (drawn.choice(["x", "y", "z", None]), number)
        found.append((topic, key, row, time))
    return found


_DRAWN: Final = random.Random(7)  # noqa: S311
JITTERED: Final = records_of_streams(3, [n * 2 // 3 + _DRAWN.randrange(8) for n in range(150)])
"""In the main their times rise, but some come late, and many are the same."""
EARLY: Final = JITTERED[::-1]
"""In the main backwards: what comes is late."""
GAPS: Final = records_of_streams(4, [_DRAWN.randrange(3) for _ in range(150)])
"""The delay of each record after the previous one."""
SHUFFLED: Final = records_of_streams(
    5,
    [
        time - number
        for number, time in enumerate(sorted(range(150), key=lambda n: n + _DRAWN.random() * 9))
    ],
)
"""Offsets from the record number: distinct times, as Streams takes equal ones in any order."""
