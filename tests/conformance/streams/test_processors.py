"""Compare processors with Kafka Streams: punctuation, stores and forwarding."""

from collections.abc import Iterator
from random import Random

import pytest

from conformance.streams.processor_comparison import Clock, Piped, ProcessorOracle, Step, play
from conftest import RequireProgram

pytestmark = [pytest.mark.timeout(240)]

BASE_MS = 10_000_000


@pytest.fixture(scope="module")
def oracle(
    require_program: RequireProgram, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ProcessorOracle]:
    require_program("javac", package="openjdk-17-jdk-headless")
    require_program("mvn", package="maven")
    with ProcessorOracle(tmp_path_factory.mktemp("processors")) as started:
        yield started


PUNCTUATED: list[Step] = [
    Clock(4),
    Piped(3, "a", "put one"),
    Piped(3, "a", "get"),
    Clock(1),
    Clock(12),
    Clock(2),
    Piped(7, "a", "put two"),
    Piped(6, "b", "right 1"),
    Piped(48, "b", "both"),
    Piped(49, "b", "schedule 3"),
    Piped(50, "b", "get"),
    Piped(50, "b", "cancel"),
    Piped(90, "a", "delete"),
    Piped(100, "a", "absent three"),
    Piped(109, "a", "absent four"),
    Piped(110, "a", "schedule 1000"),
    Piped(111, "a", "all"),
]
"""The first punctuation, several intervals at once, more schedules, one that is cancelled."""


AT_THE_EDGE: list[Step] = [
    Piped(0, "a", command)
    for command in (
        "wput 0 x", "wput 1 y", "wput 239999 z", "wfetch 0", "wput 240000 v", "wfetch 0", "wfetch 1", "wall",
        "wbetween 0 240000", "wrange a a 1 239999", "sput 0 0 x", "sput 5 10 y", "sput 11 20 z",
        "sfind 10 5", "sfind 11 5", "sfind 10 4", "sfind 20 11", "sput 30 240000 v", "sfetch 0 0", "sfind 0 240000",
        "sput 31 240010 w", "sfetch 5 10", "sfind 10 31", "skey", "vput 0 x", "vput 10 y", "vget 9", "vget 10",
        "vput 240010 z", "vget 9", "vget 10", "vget 11", "vput 10 late", "vput 9 later", "vget 10",
    )
]  # fmt: skip
"""Rows at the first and the last millisecond at which something finds them."""

KEYS = ["a", "ab", "abc", "b", "ä", "aé", "é", "\U0001f600", "\uffff", "A", "a\x7f", "a\x01"]
"""Some begin with others, and their characters take one to four bytes."""


def random_steps(seed: int, count: int) -> list[Step]:
    random = Random(seed)  # noqa: S311 - test data
    keys = ["a", *random.sample(KEYS, 4)]
    # Some start in 1970, so that lookups start before it.
    now, steps = BASE_MS if seed % 3 else 0, list[Step]()
    for number in range(count):
        jumps = [400_000] if number % 20 == 0 else []
        now += random.choice([0, 0, 3, 11, 41, 20_000, 90_000, *jumps])
        time = max(0, now - random.choice([0, 0, 0, 5, 30_000, 200_000, 400_000]))
        command = random_command(random, keys, time, f"v{number}")
        key: str | None = random.choice(keys)
        if command in ("both", "head", None) and random.random() < 0.3:
            key = None
        headers = tuple(random.choice(["x", "ü"]) for _ in range(random.choice([0, 0, 1, 2])))
        steps.append(Piped(time, key, command, headers))
        if random.random() < 0.1:
            steps.append(Clock(random.choice([1, 5, 14])))
    return steps


def random_command(random: Random, keys: list[str], time: int, new: str) -> str | None:
    """Return lookups at and around a time, also where rows have just expired."""
    at = max(0, time - random.choice([0, 7, 60_000, 120_000, 239_999, 240_000, 300_000]))
    later = at + random.choice([0, 40, 70_000])
    value = random.choice([new, new, "-"])
    low, high = (random.choice([*keys, "-"]) for _ in range(2))
    return random.choice(
        [
            f"put {new}", f"put {new}", f"put é\u2028{new}", f"absent {new}", "get", "delete",
            f"range {low} {high}", f"reverse {low} {high}", "all", "reverseAll",
            f"prefix {random.choice(keys)}", f"clear {low} {high}",
            f"tput {new} {random.choice([at, later, 0])}", "tget", "tdelete", f"trange {low} {high}",
            f"wput {at} {value}", f"wput {at} {new}", f"wfetch {at}", "wfetch -1", "wfetch -60000",
            f"wbetween {at} {later}", f"wbetween {later} {at - 1}", f"wbetween {-at - 1} {later}",
            "wall", f"wrange {low} {high} {at} {later}", f"wspan {at} {later}", f"wspan 0 {later}",
            f"sput {at} {later} {value}", f"sput {at} {later} {new}", f"sput {at} {at} {new}",
            f"sfetch {at} {later}", f"sfind {at} {later}", f"sfind {later} {at}",
            f"sremove {at} {later}", "skey",
            f"vput {at} {value}", f"vput {at} {new}", f"vput {later} {new}", "vget", f"vget {at}",
            f"vget {later}", f"vget {random.choice([0, 2**62])}", f"vdelete {at}",
            f"right {at}", "both", "head", None,
            f"schedule {random.choice([1, 13, 60_000])}", "cancel",
        ]
    )  # fmt: skip


@pytest.mark.parametrize("engine", ["reference", "kernel"])
def test_punctuation_runs_when_kafka_streams_punctuates(
    oracle: ProcessorOracle, engine: str
) -> None:
    here, there = play(PUNCTUATED, engine), oracle.play(PUNCTUATED)  # type: ignore[arg-type]
    # Kafka Streams does not specify the order of two punctuations due at the same time.
    for step, ours, theirs in zip(PUNCTUATED, here, there, strict=True):
        assert sorted(ours) == sorted(theirs), step


def test_rows_expire_at_the_same_millisecond_as_in_kafka_streams(oracle: ProcessorOracle) -> None:
    here, there = play(AT_THE_EDGE, "reference"), oracle.play(AT_THE_EDGE)
    for step, ours, theirs in zip(AT_THE_EDGE, here, there, strict=True):
        assert sorted(ours) == sorted(theirs), step


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(n, marks=pytest.mark.deep) for n in range(4, 60))]
)
def test_stores_equal_those_of_kafka_streams(oracle: ProcessorOracle, seed: int) -> None:
    steps = random_steps(seed, 120)
    here, there = play(steps, "reference"), oracle.play(steps)
    for step, ours, theirs in zip(steps, here, there, strict=True):
        assert sorted(ours) == sorted(theirs), f"seed {seed}: {step}"


def test_stores_of_the_kernel_equal_those_of_the_reference() -> None:
    steps = random_steps(1_000, 120)

    assert play(steps, "kernel") == play(steps, "reference")
