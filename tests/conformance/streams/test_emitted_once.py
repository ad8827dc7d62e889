"""Results emitted on close are final: no session twice, no record unmatched and then matched.

Random records, many of them late, through the reference evaluator and the kernel; what is expected
is computed from all records at once. Kafka Streams deviates here
([windows](../../../docs/guide/windows.md), [joins](../../../docs/guide/joins.md)).
"""

from collections import Counter
from random import Random
from typing import Any, Final, Literal

import pytest
from pyspark.sql import SparkSession

from duolog import Topology, hopping, session, sliding, sum_, tumbling
from duolog.dsl.streams import Stream
from duolog.plan.windows import Windows
from duolog.plan.windows.join_window import JoinWindow
from duolog.testing import TopologyDriver
from topologies import ms

pytestmark = pytest.mark.spark

Form = Literal["reference", "kernel"]
Given = tuple[str, str, int, int]
"""Topic, key, number and time."""
END: Final = 10_000
GRACE: Final = 3
WINDOWS: Final[dict[str, Windows]] = {
    "session": session(ms(5), grace=ms(GRACE)),
    "sliding": sliding(ms(5), grace=ms(GRACE)),
    "tumbling": tumbling(ms(6), grace=ms(GRACE)),
    "hopping": hopping(ms(6), ms(2), grace=ms(GRACE)),
}
JOINS: Final = [
    JoinWindow(6, 0, 1),
    JoinWindow(0, 6, 1),
    JoinWindow(4, 4, 2),
    JoinWindow(4, 4, 0),
    JoinWindow(-2, 6, 4),
    JoinWindow(5, -1, 2),
    JoinWindow(-3, 3, 1),
]


def records(seed: int, many: int, step: float = 0.5) -> list[Given]:
    """Return records with mostly rising times, up to nine late; the last close all windows."""
    drawn = Random(seed)  # noqa: S311 - the same each time
    found = [
        (
            drawn.choice("ab"),
            drawn.choice("xy"),
            number,
            100 + int(number * step) - drawn.randrange(10),
        )
        for number in range(many)
    ]
    return [*found, ("a", "end", many, END), ("b", "end", many + 1, END)]


def of_one_topic(given: list[Given]) -> list[Given]:
    return [("a", key, number, time) for _, key, number, time in given]


def joined(kind: str, one: Stream, two: Stream, window: JoinWindow) -> None:
    join: Any = {"left": one.left_join, "outer": one.outer_join, "inner": one.join}[kind]
    sides = {"before": ms(window.before_ms), "after": ms(window.after_ms)}
    join(two, prefix="o_", select=["n", "o_n"], grace=ms(window.grace_ms), **sides).to(kind)


def written(topology: Topology, engine: Form, given: list[Given]) -> dict[str, list[Any]]:
    with TopologyDriver(topology, engine=engine) as driver:
        for topic, key, number, time in given:
            driver.input_topic(topic).pipe_input(key, {"n": number}, time)
        return {name: driver.output_topic(name).read_key_values() for name in driver.output_topics}


@pytest.mark.parametrize("engine", ["reference", "kernel"])
@pytest.mark.parametrize("kind", WINDOWS)
def test_closed_window_is_emitted_once_with_suppress_as_with_on_close(
    spark: SparkSession, kind: str, engine: Form
) -> None:
    assert spark is not None, "drivers find the session of this run"
    topology = Topology("closed")
    grouped = topology.stream("a", key="k STRING", value="n BIGINT").group_by_key()
    grouped.windowed_by(WINDOWS[kind]).aggregate(n=sum_("n")).suppress(until="window close").to(
        "suppressed"
    )
    grouped.windowed_by(WINDOWS[kind], emit="on close").aggregate(n=sum_("n")).to("closed")
    given = of_one_topic(records(5, 120, step=3))

    out = written(topology, engine, given)

    assert Counter(map(str, out["suppressed"])) == Counter(map(str, out["closed"]))
    assert len(out["closed"]) > 10
    if kind != "session":
        assert set(Counter(key for key, _ in out["closed"]).values()) == {1}
        return
    held = [0] * len(given)
    for (key, start, end), row in out["closed"]:
        numbers = [n for _, of, n, time in given if of == key and start <= time <= end]
        # Late records are not in it.
        assert row["n"] <= sum(numbers)
        for number in numbers:
            held[number] += 1
    assert max(held) == 1, "no two sessions of a key hold one record"


@pytest.mark.parametrize("engine", ["reference", "kernel"])
def test_session_accepts_a_record_in_the_last_millisecond_of_gap_and_grace(
    spark: SparkSession, engine: Form
) -> None:
    assert spark is not None
    topology = Topology("last-millisecond")
    grouped = topology.stream("a", key="k STRING", value="n BIGINT").group_by_key()
    windowed = grouped.windowed_by(WINDOWS["session"]).aggregate(n=sum_("n"))
    windowed.suppress(until="window close").to("suppressed")
    grouped.windowed_by(WINDOWS["session"], emit="on close").aggregate(n=sum_("n")).to("closed")
    # At 79 the session of 71 is open: its gap ends at 76, and a record of 76 is late by the grace
    # period of 3.
    given = [("a", "y", 1, 71), ("a", "x", 2, 79), ("a", "y", 4, 76), ("a", "end", 8, END)]

    out = written(topology, engine, given)

    wanted = [(("x", 79, 79), {"n": 2}), (("y", 71, 76), {"n": 5})]
    assert sorted(out["suppressed"]) == wanted
    assert sorted(out["closed"]) == wanted


@pytest.mark.parametrize("engine", ["reference", "kernel"])
@pytest.mark.parametrize("window", JOINS, ids=str)
def test_join_never_emits_a_record_unmatched_and_then_matched(
    spark: SparkSession, window: JoinWindow, engine: Form
) -> None:
    assert spark is not None
    seeds = range(20) if engine == "reference" else range(1)
    topology = Topology("joined")
    one, two = (topology.stream(name, key="k STRING", value="n BIGINT") for name in "ab")
    for kind in ("left", "outer", "inner"):
        joined(kind, one, two, window)

    for seed in seeds:
        given = records(seed, 120)
        ensure_final(window, given, written(topology, engine, given))


def ensure_final(window: JoinWindow, given: list[Given], out: dict[str, list[Any]]) -> None:
    """Compare the output of a left and an outer join with a join of all records."""
    in_time, latest = {}, -1
    for _, _, number, time in given:
        latest = max(latest, time)
        in_time[number] = latest - time <= window.grace_ms
    pairs = {
        (one, two)
        for of, key, one, time in given
        for other, same, two, at in given
        if (of, other) == ("a", "b") and key == same != "end"
        if time - window.before_ms <= at <= time + window.after_ms
    }
    due = {(one, two) for one, two in pairs if in_time[one] and in_time[two]}
    for kind in ("left", "outer", "inner"):
        found = Counter((row["n"], row["o_n"]) for key, row in out[kind] if key != "end")
        assert set(found.values()) == {1}, kind
        matched = {pair for pair in found if None not in pair}
        assert due <= matched <= pairs, kind
        for side, topic in ((0, "a"), (1, "b")):
            alone = {pair[side] for pair in found if pair[1 - side] is None}
            assert not alone & {pair[side] for pair in matched}, (kind, topic)
            emits = kind == "outer" or (kind == "left" and topic == "a")
            every = {n for of, key, n, _ in given if of == topic and key != "end"}
            missing = every - alone - {pair[side] for pair in matched}
            assert not emits or not missing, (kind, topic)
            assert emits or not alone, (kind, topic)


@pytest.mark.parametrize("engine", ["reference", "kernel"])
def test_self_join_never_emits_a_record_unmatched_and_then_matched(
    spark: SparkSession, engine: Form
) -> None:
    assert spark is not None
    for window in (JoinWindow(5, -1, 2), JoinWindow(4, 4, 0)):
        topology = Topology("itself")
        one = topology.stream("a", key="k STRING", value="n BIGINT")
        for kind in ("left", "outer"):
            joined(kind, one, one, window)

        out = written(topology, engine, of_one_topic(records(3, 120)))

        for kind, rows in out.items():
            found = [(row["n"], row["o_n"]) for _, row in rows]
            matched = [pair for pair in found if None not in pair]
            assert len(set(found)) == len(found), kind
            for side in (0, 1):
                alone = {pair[side] for pair in found if pair[1 - side] is None}
                assert not alone & {pair[side] for pair in matched}, (kind, side)
