"""Compare windows, suppression and joins with unmodified Kafka Streams, by default.

In other tests, Kafka Streams has in-memory stores, longer retentions and joins that emit promptly,
and Duolog gives up its intentional deviations, which may hide a difference. Here both sides are
unmodified: default stores, retentions, record cache and intervals there, default rules here.
Records are random, and many are late.

The differences, and the comparison that remains:

    results of a suppressed session or sliding     leave one millisecond early there, and again if a record comes in that
    window                                         millisecond. Compared: the last result of each window
    a record that meets a session whose gap and    may or may not find it there, depending on the store's segments. No
    grace period end now, or have ended            such record is drawn; a test shows what happens
    a record after another one whose sliding       does not find the other one there, and makes no window with it. No
    windows close within two milliseconds          such record is drawn; a test shows what happens
    sessions on close where time jumps             may be lost there. Compared in milliseconds, where all of them are in
                                                   one segment; a test shows what happens
    joins of streams                               records that were emitted unmatched are matched there (KAFKA-19536),
                                                   are emitted late, and are kept too briefly where
                                                   an end of the window is 0 or negative. Where no
                                                   record is later than the grace period and both
                                                   ends are positive, the results are the same;
                                                   elsewhere each result that only one side has is
                                                   explained by a rule
"""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from random import Random
from typing import Any, Final, Literal, NamedTuple, Protocol

import pytest
from pyspark.sql import SparkSession

from conformance.streams.comparison_cases import CACHE_BYTES_MAX
from conformance.streams.in_memory import run_in_memory
from conformance.streams.in_reference import run_in_reference
from conformance.streams.oracle import ByTopic, Given, KafkaStreams, Written
from conformance.streams.test_emitted_once import joined
from duolog import Topology, hopping, session, sliding, sum_, tumbling
from duolog.plan.nodes import Plan
from duolog.plan.windows import Windows
from duolog.plan.windows.join_window import JoinWindow
from topologies import ms

Form = Literal["on update", "suppressed", "on close"]
Batches = list[list[Given]]
SEEDS: Final = [
    pytest.param(range(1), id="some"),
    pytest.param(range(1, 30), id="many", marks=pytest.mark.deep),
]
RECORDS: Final = 80
GAP: Final = 5
"""Of sessions, and the time difference of sliding windows."""
MINUTE: Final = 60_000
FORMS: Final[tuple[Form, ...]] = ("on update", "suppressed", "on close")
BOTH_ENDS: Final = [JoinWindow(4, 4, 2), JoinWindow(4, 4), JoinWindow(7, 1, 2), JoinWindow(1, 5)]
ONE_END: Final = [
    JoinWindow(6, 0, 1),
    JoinWindow(0, 6, 1),
    JoinWindow(-2, 6, 4),
    JoinWindow(5, -1, 2),
]


class Comparison(Protocol):
    """The output of both sides for each record."""

    def __call__(self, plan: Plan, batches: Batches) -> tuple[list[ByTopic], list[ByTopic]]: ...


def by_reference(plan: Plan, batches: Batches) -> list[ByTopic]:
    return run_in_reference(plan, batches, cache_bytes_max=CACHE_BYTES_MAX, tasks=1)


@pytest.fixture
def reference(unmodified_kafka_streams: KafkaStreams) -> Comparison:
    """Comparison with the reference evaluator."""
    theirs = partial(unmodified_kafka_streams.run, unmodified=True)
    return lambda plan, batches: (by_reference(plan, batches), theirs(plan, batches))


@pytest.fixture
def kernel(spark: SparkSession, unmodified_kafka_streams: KafkaStreams) -> Iterator[Comparison]:
    """Comparison with the kernel."""
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    theirs = partial(unmodified_kafka_streams.run, unmodified=True)
    ours = partial(run_in_memory, spark, cache_bytes_max=CACHE_BYTES_MAX)
    yield lambda plan, batches: (ours(plan, batches), theirs(plan, batches))
    spark.conf.unset("spark.sql.codegen.factoryMode")


class Kind(NamedTuple):
    """Windows of one kind, with sizes in a unit of milliseconds."""

    name: str
    grace: int
    unit: int

    @property
    def windows(self) -> Windows:
        grace, unit = ms(self.grace * self.unit), self.unit
        match self.name:
            case "tumbling":
                return tumbling(ms(6 * unit), grace=grace)
            case "hopping":
                return hopping(ms(6 * unit), ms(2 * unit), grace=grace)
            case "sliding":
                return sliding(ms(GAP * unit), grace=grace)
            case _:
                return session(ms(GAP * unit), grace=grace)

    @property
    def plan(self) -> Plan:
        """All forms of the windows, each written to a topic with its name."""
        topology = Topology("windows")
        grouped = topology.stream("a", key="k STRING", value="n BIGINT").group_by_key()
        for form in FORMS:
            emit: Any = "on close" if form == "on close" else "on update"
            table = grouped.windowed_by(self.windows, emit=emit).aggregate(n=sum_("n"))
            (table.suppress(until="window close") if form == "suppressed" else table).to(
                form.replace(" ", "-")
            )
        return topology.build()


KINDS: Final = [
    Kind(name, grace, unit)
    for name in ("tumbling", "hopping", "sliding", "session")
    for grace, unit in ((0, 1), (3, 1), (3, MINUTE))
]


class Drawing:
    """Random records, without those whose result in Kafka Streams depends on store segments."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._stream_time = 0
        self._seen: list[tuple[str, int]] = []
        self._sessions: dict[str, list[tuple[int, int]]] = {"x": [], "y": []}

    def records(self, seed: int) -> Batches:
        """Return records up to nine units late, followed by some that close all windows."""
        rng = Random(seed)  # noqa: S311 - the same each time
        drawn: list[tuple[str, int]] = []
        tries = 0
        while len(drawn) < RECORDS:
            tries += 1
            key, time = rng.choice("xy"), 100 + int(tries * 0.7) - rng.randrange(10)
            if self._is_compared(key, time):
                self._take(key, time)
                drawn.append((key, time))
        # In small steps: Kafka Streams loses some windows on close if time jumps.
        drawn += [("end", self._stream_time + 4 * step) for step in range(1, 11)]
        return [
            [Given("a", (key,), (number,), time * self._kind.unit)]
            for number, (key, time) in enumerate(drawn)
        ]

    def _is_compared(self, key: str, time: int) -> bool:
        closed = max(self._stream_time, time) - GAP - self._kind.grace
        match self._kind.name:
            case "sliding":
                last = self._stream_time - GAP - self._kind.grace
                return not any(
                    of == key and at < time <= at + 1 + GAP and last - 1 <= at <= last
                    for of, at in self._seen
                )
            case "session":
                return not any(
                    end <= closed and start - GAP <= time <= end + GAP
                    for start, end in self._sessions[key]
                )
            case _:
                return True

    def _take(self, key: str, time: int) -> None:
        self._stream_time = max(self._stream_time, time)
        self._seen.append((key, time))
        if time + GAP + self._kind.grace >= self._stream_time:
            of = self._sessions[key]
            met = [(start, end) for start, end in of if start - GAP <= time <= end + GAP]
            bounds = [time, *(at for one in met for at in one)]
            of[:] = [*(one for one in of if one not in met), (min(bounds), max(bounds))]


def rows(written: Written) -> tuple[Any, ...]:
    """Return a record without its headers, which Kafka Streams loses in sessions."""
    return written.key, written.value, written.time


class Emitted:
    """The output of each side in each form, without records that only close windows."""

    def __init__(self, kind: Kind, batches: Batches, comparison: Comparison) -> None:
        self._ours, self._theirs = comparison(kind.plan, batches)

    def results(self, form: Form) -> tuple[list[Any], list[Any]]:
        """Return the results of each record."""
        ours, theirs = (
            [[rows(one) for one in batch[form.replace(" ", "-")]] for batch in of]
            for of in (self._ours, self._theirs)
        )
        return ours, theirs

    def together(self, form: Form) -> tuple[list[Any], list[Any]]:
        """Return the results of all records."""
        ours, theirs = (
            [one for batch in of for one in batch if one[0][0] != "end"]
            for of in self.results(form)
        )
        return ours, theirs

    def windows(self, form: Form) -> tuple[set[Any], set[Any]]:
        """Return the windows that have a result."""
        ours, theirs = (
            {key for key, value, _ in of if value is not None} for of in self.together(form)
        )
        return ours, theirs


def ensure_same_windows(kind: Kind, seed: int, comparison: Comparison) -> None:
    batches = Drawing(kind).records(seed)
    emitted = Emitted(kind, batches, comparison)
    for form in FORMS:
        if form == "suppressed" and kind.name in {"sliding", "session"}:
            ours, theirs = emitted.together(form)
            last = {row[0]: row for row in theirs}
            assert Counter(ours) == Counter(last.values()), (form, batches)
        elif (kind.name, kind.unit, form) != ("session", MINUTE, "on close"):
            ours, theirs = emitted.results(form)
            for given, one, other in zip(batches, ours, theirs, strict=True):
                assert one == other, (form, given, batches)


@pytest.mark.parametrize(
    ("kind", "seeds"),
    [
        # Windows of minutes take ten times as long as those of milliseconds.
        pytest.param(
            kind, range(1), id=f"{kind}-some", marks=[pytest.mark.deep] * (kind.unit == MINUTE)
        )
        for kind in KINDS
    ]
    + [
        pytest.param(kind, range(1, 30), id=f"{kind}-many", marks=pytest.mark.deep)
        for kind in KINDS
    ],
)
def test_windows_equal_kafka_streams(reference: Comparison, kind: Kind, seeds: range) -> None:
    for seed in seeds:
        ensure_same_windows(kind, seed, reference)


@pytest.mark.spark
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind[1:] == (3, 1)], ids=str)
def test_windows_of_the_kernel_equal_kafka_streams(kernel: Comparison, kind: Kind) -> None:
    ensure_same_windows(kind, 100, kernel)


def for_joins(seed: int, latest: int) -> Batches:
    """Return records of two streams, up to `latest` late, then some that close all windows."""
    rng = Random(seed)  # noqa: S311 - the same each time
    drawn = [
        (rng.choice("ab"), rng.choice("xy"), 100 + number // 2 - rng.randint(0, latest))
        for number in range(RECORDS)
    ]
    end = 100 + RECORDS // 2
    drawn += [("ab"[step % 2], "end", end + 3 * step) for step in range(1, 13)]
    return [
        [Given(topic, (key,), (number,), time)] for number, (topic, key, time) in enumerate(drawn)
    ]


class Joins:
    """The joined records of both sides for the same input."""

    def __init__(self, window: JoinWindow, batches: Batches, comparison: Comparison) -> None:
        topology = Topology("joins")
        one, two = (topology.stream(name, key="k STRING", value="n BIGINT") for name in "ab")
        for kind in ("left", "outer", "inner"):
            joined(kind, one, two, window)
        self.ours, self.theirs = comparison(topology.build(), batches)
        self.in_time: dict[object, bool] = {None: True}
        latest = -1
        for (record,) in batches:
            assert record.value is not None
            latest = max(latest, record.time)
            self.in_time[record.value[0]] = latest - record.time <= window.grace_ms

    def results(self, kind: str) -> tuple[Counter[Any], Counter[Any]]:
        ours, theirs = (
            Counter(
                one.value for batch in of for one in batch[kind] if one.key and one.key[0] != "end"
            )
            for of in (self.ours, self.theirs)
        )
        return ours, theirs

    def moments(self, kind: str) -> Iterator[tuple[int, int]]:
        """Yield the record at which each side emitted a common unmatched result."""
        ours, theirs = (
            {
                one.value: number
                for number, batch in enumerate(of)
                for one in batch[kind]
                if one.value is not None and None in one.value
            }
            for of in (self.ours, self.theirs)
        )
        for pair in ours.keys() & theirs.keys():
            yield ours[pair], theirs[pair]


def ensure_same_joins(window: JoinWindow, seed: int, comparison: Comparison) -> None:
    """Check a join of records within the grace period: only emission times may differ."""
    found = Joins(window, for_joins(seed, window.grace_ms), comparison)
    for kind in ("left", "outer", "inner"):
        ours, theirs = found.results(kind)
        assert ours == theirs, (seed, kind)
        assert all(here <= there for here, there in found.moments(kind)), (seed, kind)


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("window", BOTH_ENDS, ids=str)
def test_joins_without_late_records_equal_kafka_streams(
    reference: Comparison, window: JoinWindow, seeds: range
) -> None:
    for seed in seeds:
        ensure_same_joins(window, seed, reference)


@pytest.mark.spark
@pytest.mark.parametrize("window", BOTH_ENDS, ids=str)
def test_joins_of_the_kernel_equal_kafka_streams(kernel: Comparison, window: JoinWindow) -> None:
    ensure_same_joins(window, 100, kernel)


def sides(pairs: Counter[Any]) -> set[tuple[int, object]]:
    """Return the matched records: their side and number."""
    return {(side, pair[side]) for pair in pairs if None not in pair for side in (0, 1)}


def alone(pair: tuple[Any, Any]) -> tuple[int, object]:
    side = 0 if pair[1] is None else 1
    return side, pair[side]


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("window", [*BOTH_ENDS, *ONE_END], ids=str)
def test_joins_with_late_records_differ_as_documented(
    reference: Comparison, window: JoinWindow, seeds: range
) -> None:
    kept_alike = window in BOTH_ENDS
    for seed in seeds:
        found = Joins(window, for_joins(seed, 9), reference)
        for kind in ("left", "outer", "inner"):
            ours, theirs = found.results(kind)
            assert not {alone(pair) for pair in ours if None in pair} & sides(ours), (seed, kind)
            if kind == "inner" and kept_alike:
                assert ours == theirs, seed
            for pair in theirs - ours:
                if (
                    None in pair
                ):  # Emitted twice by Streams, or matched here with a record expired there.
                    assert alone(pair) in sides(theirs) | sides(ours), (seed, kind, pair)
                else:  # Later than the grace period, and joined with a record emitted as unmatched.
                    assert not all(map(found.in_time.get, pair)), (seed, kind, pair)
            for pair in ours - theirs:
                if None in pair:  # Streams found a partner later than the grace period.
                    assert alone(pair) in sides(theirs), (seed, kind, pair)
                else:  # Streams had expired it.
                    assert not kept_alike, (seed, kind, pair)


def emitted_for(kind: Kind, comparison: Comparison, *given: tuple[str, int]) -> Emitted:
    return Emitted(kind, [[Given("a", (key,), (1,), time)] for key, time in given], comparison)


def test_kafka_streams_emits_a_suppressed_session_again(reference: Comparison) -> None:
    """In the last millisecond of gap and grace period; Duolog emits it once."""
    given = [("x", 100), ("y", 108), ("x", 105), ("end", 120)]

    ours, theirs = emitted_for(Kind("session", 3, 1), reference, *given).windows("suppressed")

    assert ours == {("x", 100, 105), ("y", 108, 108)}
    assert ("x", 100, 100) in theirs, "it has emitted the session before its end"


def test_kafka_streams_does_not_delete_a_session_of_the_last_millisecond(
    reference: Comparison,
) -> None:
    """Its store no longer returns the old session, so readers of the changes keep two."""
    given = [("x", 100), ("y", 108), ("x", 105)]

    ours, theirs = emitted_for(Kind("session", 3, 1), reference, *given).together("on update")

    deleted = (("x", 100, 100), None, 100)
    assert deleted in ours
    assert deleted not in theirs


def test_kafka_streams_misses_a_sliding_window_of_an_expired_record(
    reference: Comparison,
) -> None:
    """Its store no longer finds the record that defines the window."""
    ends = [("end", 122 + 4 * step) for step in range(5)]
    given = [("x", 112), ("y", 117), ("y", 118), ("x", 113), *ends]

    ours, theirs = emitted_for(Kind("sliding", 0, 1), reference, *given).windows("on close")

    assert ours - theirs == {("x", 113, 118)}
    assert theirs <= ours


def test_kafka_streams_loses_a_session_on_close_whose_segment_has_expired(
    reference: Comparison,
) -> None:
    """Its store drops the session's segment after gap and grace, before it is emitted."""
    given = [("x", 60 * MINUTE), *(("end", (60 + 4 * step) * MINUTE) for step in range(5))]

    ours, theirs = emitted_for(Kind("session", 0, MINUTE), reference, *given).windows("on close")

    assert ours == {("x", 60 * MINUTE, 60 * MINUTE)}
    assert theirs == set()


def test_kafka_streams_emits_a_record_unmatched_and_then_matched(reference: Comparison) -> None:
    """KAFKA-19536: the partner is later than the grace period."""
    given = [("a", "x", 100), ("b", "end", 109), ("b", "x", 101)]
    batches = [
        [Given(topic, (key,), (number,), time)] for number, (topic, key, time) in enumerate(given)
    ]

    ours, theirs = Joins(JoinWindow(8, 8), batches, reference).results("left")

    assert set(ours) == {(0, None)}
    assert set(theirs) == {(0, None), (0, 2)}
