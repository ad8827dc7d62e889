"""Processors: their input and output, their errors, and their position in a plan."""

import datetime as dt
import functools
import re
from typing import Any

import numpy as np
import pytest

from duolog import (
    FixedKeyProcessor,
    Processor,
    Record,
    Topology,
    col,
    count,
    key_value_store,
    session_store,
    window_store,
)
from duolog.core.errors import QueryError, StatementError
from duolog.functions.processors.schedules import NEVER, PunctuationType, Schedules
from duolog.plan.cutting.levels import find_levels
from duolog.testing import TopologyDriver

TEXT: dict[str, Any] = {"key": "id STRING", "value": "said STRING"}


class Passing(Processor):
    """Forwards each record; its value selects further actions."""

    def process(self, record: Record) -> None:
        said = record.value["said"] if record.value else None
        if said == "raise":
            raise ValueError("no")
        if said == "wrong":
            self.context.forward(record.with_value({"said": 3}))
        if said == "missing":
            self.context.forward(record, "missing")
        if said == "two":
            self.context.forward(record.with_value({"said": "first"}))
            raise ValueError("after the first")
        if said == "rekey":
            self.context.forward(record.with_key("other").with_timestamp(7))
            return
        self.context.forward(record)


class Fixed(FixedKeyProcessor):
    def process(self, record: Any) -> None:
        if record.value["said"] == "rekey":
            self.context.forward(record.with_key("other"))
        if record.value["said"] == "new":
            self.context.forward(Record("other", {"said": ""}, 0))  # type: ignore[arg-type]
        self.context.forward(record.with_value({"said": record.value["said"].upper()}))


def driven(processor: Any, **more: Any) -> TopologyDriver:
    topology = Topology("processed")
    topology.stream("in", **TEXT).process(processor, **more).to("out")
    return TopologyDriver(topology, processing_exception_handler="log_and_continue")


def test_a_record_keeps_its_headers_and_may_be_null() -> None:
    with driven(Passing) as driver:
        given = driver.input_topic("in")
        given.pipe_input("a", {"said": "x"}, 5, headers=(("h", b"1"), ("n", None)))
        given.pipe_input(None, None, 6)
        given.pipe_input("a", {"said": "rekey"}, 9)

        expected = driver.output_topic("out").read_records()

    assert expected == [
        ("a", {"said": "x"}, 5),
        (None, None, 6),
        ("other", {"said": "x"} | {"said": "rekey"}, 7),
    ]
    assert expected[0].headers == (("h", b"1"), ("n", None))


@pytest.mark.parametrize("said", ["raise", "wrong", "missing"])
def test_an_exception_fails_only_its_record(said: str) -> None:
    with driven(Passing) as driver:
        given = driver.input_topic("in")
        given.pipe_inputs([("a", {"said": said}), ("a", {"said": "x"})])

        assert driver.output_topic("out").read_key_values() == [("a", {"said": "x"})]
        assert driver.skipped == 1


def test_records_forwarded_before_an_exception_are_kept() -> None:
    with driven(Passing) as driver:
        driver.input_topic("in").pipe_input("a", {"said": "two"})

        assert driver.output_topic("out").read_key_values() == [("a", {"said": "first"})]
        assert driver.skipped == 1


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("raise", r"Passing\.process \(test_processors\.py:\d+\): ValueError: no"),
        (
            "wrong",
            r"Passing\.process \(test_processors\.py:\d+\): WrongType: 3 is not a valid STRING",
        ),
        (
            "missing",
            r'Passing\.process \(test_processors\.py:\d+\): Passing has no child "missing"',
        ),
    ],
)
def test_an_error_names_processor_line_and_record(said: str, wanted: str) -> None:
    topology = Topology("processed")
    topology.stream("in", **TEXT).process(Passing).to("out")
    with TopologyDriver(topology) as driver, pytest.raises(QueryError) as failed:
        driver.input_topic("in").pipe_input("a", {"said": said})

    assert 'topic "in", offset 0' in str(failed.value)
    assert pytest.importorskip("re").search(wanted, failed.value.detail)


@pytest.mark.parametrize("said", ["rekey", "new"])
def test_a_fixed_key_cannot_be_changed(said: str) -> None:
    topology = Topology("processed")
    topology.stream("in", **TEXT).process_values(Fixed).to("out")
    with TopologyDriver(topology, processing_exception_handler="log_and_continue") as driver:
        driver.input_topic("in").pipe_inputs([("a", {"said": said}), ("a", {"said": "x"})])

        assert driver.output_topic("out").read_key_values() == [("a", {"said": "X"})]
        assert driver.skipped == 1


def test_records_forwarded_with_another_key_are_shuffled_if_needed() -> None:
    def parts(*, fixed: bool) -> int:
        topology = Topology("parts")
        stream = topology.stream("in", **TEXT)
        behind = stream.process_values(Fixed) if fixed else stream.process(Passing)
        behind.group_by_key().aggregate(n=count()).to("out")
        return len(find_levels(topology.build()).subtopologies)

    assert (parts(fixed=True), parts(fixed=False)) == (1, 2)

    topology = Topology("parts")
    processed = topology.stream("in", **TEXT).process(Passing)
    processed.group_by_key().aggregate(n=count()).to("out")
    with TopologyDriver(topology, tasks=3) as driver:
        for key in "abcdefgh":
            driver.input_topic("in").pipe_input(key, {"said": "rekey"})

        assert driver.output_topic("out").read_table() == {"other": {"n": 8}}


class Sharing(Processor):
    def process(self, record: Record) -> None:
        store = self.context.store("shared")
        store.put(record.key, (store.get(record.key) or 0) + 1)
        self.context.forward(record.with_value({"n": store.get(record.key)}))


def test_steps_that_share_a_store_are_in_one_part_of_the_plan() -> None:
    topology = Topology("shared")
    shared = key_value_store("shared", key="id STRING", value="n BIGINT")
    for topic in ("one", "other"):
        topology.stream(topic, **TEXT).process(Sharing, stores=[shared], value="n BIGINT").to(
            f"{topic}-out"
        )
    assert len(find_levels(topology.build(), 3).subtopologies) == 1
    with TopologyDriver(topology, tasks=3) as driver:
        for topic in ("one", "other", "one"):
            driver.input_topic(topic).pipe_input("a", {"said": ""})

        assert driver.output_topic("one-out").read_key_values() == [
            ("a", {"n": 1}),
            ("a", {"n": 3}),
        ]
        assert driver.output_topic("other-out").read_key_values() == [("a", {"n": 2})]
        assert driver.store("shared") == {"a": {"n": 3}}


def test_steps_that_are_shuffled_apart_cannot_share_a_store() -> None:
    topology = Topology("apart")
    shared = key_value_store("shared", key="id STRING", value="n BIGINT")
    first = topology.stream("in", **TEXT).process(Sharing, stores=[shared], value="n BIGINT")
    first.with_columns(said=col("id")).process(Sharing, stores=[shared], value="n BIGINT").to("out")

    with pytest.raises(StatementError, match="cannot share a store"):
        find_levels(topology.build())


def test_two_different_stores_with_one_name_are_refused() -> None:
    topology = Topology("two")
    stream = topology.stream("in", **TEXT)
    stream.process(Passing, stores=[key_value_store("kept", key="id STRING", value="n BIGINT")])
    stream.process(Passing, stores=[key_value_store("kept", key="id STRING", value="n INT")])

    with pytest.raises(StatementError, match='two stores have the name "kept"'):
        topology.build()


class Waiting(Processor):
    async def process(self, record: Record) -> None:  # type: ignore[override]
        """Accept the time, and do nothing."""


async def made_later() -> Processor:
    return Passing()


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (Fixed, "is a FixedKeyProcessor"),
        (Passing(), "each task needs its own"),
        (int, "is not a Processor"),
        (3, "does not create one"),
        (Waiting, "process is a coroutine function"),
        (made_later, "made_later is a coroutine function"),
    ],
)
def test_invalid_processor_classes_are_refused_at_their_line(given: Any, wanted: str) -> None:
    with pytest.raises(StatementError, match=wanted):
        Topology("t").stream("in", **TEXT).process(given)


class Failing(Processor):
    def init(self, context: Any) -> None:
        context.store("missing")

    def process(self, record: Record) -> None:
        raise AssertionError


def test_a_processor_that_cannot_start_ends_the_query() -> None:
    with driven(Failing) as driver, pytest.raises(QueryError) as failed:
        driver.input_topic("in").pipe_input("a", {"said": ""})

    assert 'has no store "missing"' in failed.value.detail


class Scheduling(Processor):
    """Schedules with the arguments that the test chose."""

    def __init__(self, interval: Any, kind: str = "wall clock", callback: Any = None) -> None:
        self.given = interval, kind, callback or self.tick
        self.ticks: list[int] = []

    def init(self, context: Any) -> None:
        super().init(context)
        context.schedule(*self.given)

    def tick(self, now: int) -> None:
        self.context.forward(Record("tick", {"said": str(now)}, now))

    def process(self, record: Record) -> None:
        """Accept it, and do nothing."""


@pytest.mark.parametrize("interval", ["10 seconds", "10 s", dt.timedelta(seconds=10)])
def test_an_interval_accepts_any_form_of_duration(interval: Any) -> None:
    with driven(functools.partial(Scheduling, interval)) as driver:
        driver.input_topic("in").pipe_input("a", {"said": "x"})
        driver.advance_wall_clock_time(dt.timedelta(seconds=10))

        assert [one.key for one in driver.output_topic("out").read_records()] == ["tick"]


async def wake(_now: int) -> None:
    """Accept the time, and do nothing."""


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((10,), 'cannot read the interval 10. Write "90 seconds",'),
        (("ten seconds",), "cannot read the interval 'ten seconds'. Write"),
        (("0 s",), "an interval of 0 ms is shorter than a millisecond. Use a longer one"),
        (
            (dt.timedelta(seconds=-1),),
            "an interval of -1000 ms is shorter than a millisecond. Use a longer one",
        ),
        (
            ("1 s", "hourly"),
            '\'hourly\' is not a kind of schedule. Use "stream time" or "wall clock".',
        ),
        (("1 s", "wall clock", wake), "wake is a coroutine function, which is not awaited here. "),
    ],
)
def test_invalid_schedules_are_refused_in_whole_sentences(given: Any, expected: str) -> None:
    with pytest.raises(QueryError) as failed:
        driven(functools.partial(Scheduling, *given)).input_topic("in").pipe_input(
            "a", {"said": "x"}
        )

    assert "Scheduling.init (test_processors.py:" in failed.value.detail
    assert f"): {expected}" in failed.value.detail


def failure_of(said: Any, processor: Any, **more: Any) -> str:
    """Return the error, after its place, of a processor that fails for a record."""
    topology = Topology("processed")
    topology.stream("in", **TEXT).process(processor, **more).to("out")
    with TopologyDriver(topology) as driver, pytest.raises(QueryError) as failed:
        driver.input_topic("in").pipe_input("a", {"said": said})
    _, _, expected = failed.value.detail.partition("): ")
    return expected


class Calling(Processor):
    """Runs a function of the test with its context and the record."""

    def __init__(self, what: Any) -> None:
        self.what = what

    def process(self, record: Record) -> None:
        self.what(self.context, record)


LAST: Any = key_value_store("last", key="id STRING", value="said STRING")
BOTH: Any = key_value_store("both", key="id STRING", value="said STRING, n BIGINT")


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        (
            lambda context, _: context.store("lst"),
            'Calling has no store "lst". Its stores are last, both. Add it to stores= of the step.',
        ),
        (
            lambda context, record: context.forward(record, "nope"),
            'Calling has no child "nope". It has only one, without a name.',
        ),
        (
            lambda context, record: context.forward(record.with_value(7)),
            '7 is not a value of columns m. The value of a record must be a dict by column name. Use {"m": 7}.',
        ),
        (
            lambda context, record: context.forward(record.with_value({"m": "x"})),
            "WrongType: 'x' is not a valid BIGINT",
        ),
        (
            lambda context, _: context.store("last").put("a", {"said": "x"}),
            "{'said': 'x'} is not a value of store \"last\". A value of one column is stored without its name. Use 'x'.",
        ),
        (
            lambda context, _: context.store("last").put("a", 3),
            "WrongType: 3 is not a valid STRING",
        ),
        (
            lambda context, _: context.store("both").put("a", 3),
            '3 is not a value of store "both". A value of several columns must be a dict. Use {"said": …, "n": …}.',
        ),
    ],
)
def test_errors_of_a_context_are_reported_once_in_whole_sentences(what: Any, expected: str) -> None:
    found = failure_of("x", functools.partial(Calling, what), stores=[LAST, BOTH], value="m BIGINT")

    assert found == expected


def test_schedules_continue_from_their_stored_state() -> None:
    kind = PunctuationType.WALL_CLOCK_TIME
    first, calls = Schedules(), list[int]()
    first.add(kind, 100, 0, calls.append, kept=True)
    first.add(kind, 30, 0, calls.append, kept=True).cancelled = True
    for schedule in first.pass_due(kind, 110):
        schedule.callback(110)
    again = Schedules()
    again.add(kind, 100, 5_000, calls.append, kept=True)
    again.add(kind, 30, 5_000, calls.append, kept=True)
    again.restore(first.keep())

    assert (calls, first.next(kind), again.next(kind)) == ([110], 200, 200)
    assert again.next(PunctuationType.STREAM_TIME) == NEVER


def test_a_schedule_of_another_kind_starts_over() -> None:
    kind = PunctuationType.WALL_CLOCK_TIME
    first, again = Schedules(), Schedules()
    first.add(kind, 100, 0, print, kept=True)
    again.add(kind, 50, 1_000, print, kept=True)
    again.restore(first.keep())

    assert again.next(kind) == 1_050


class Windows(Processor):
    def init(self, context: Any) -> None:
        self.windows, self.sessions = context.store("windows"), context.store("sessions")

    def process(self, record: Record) -> None:
        self.windows.put(record.key, record.value["said"], record.timestamp_ms)
        self.sessions.put(record.key, record.timestamp_ms, record.timestamp_ms + 5, "s")


def test_window_and_session_stores_can_be_read_from_outside() -> None:
    topology = Topology("windows")
    text = {**TEXT, "retention": dt.timedelta(minutes=4)}
    stores = [
        window_store("windows", size="1 minute", **text),
        session_store("sessions", **text),
    ]
    topology.stream("in", **TEXT).process(Windows, stores=stores)
    with TopologyDriver(topology, tasks=2) as driver:
        for at in (0, 60_000, 299_999):
            driver.input_topic("in").pipe_input("a", {"said": f"{at}"}, at)

        assert driver.store("windows").fetch("a", from_ms=60_000) == {
            (60_000, 120_000): {"said": "60000"},
            (299_999, 359_999): {"said": "299999"},
        }
        assert (299_999, 300_004) in driver.store("sessions").find_sessions("a")


class Careless(Processor):
    """Forwards an invalid record, selected by the value."""

    def process(self, record: Record) -> None:
        said, value = record.value["said"], record.value
        made: dict[str, Any] = {
            "float": lambda: Record("a", value, 1.5),  # type: ignore[arg-type]
            "text": lambda: Record("a", value, "7"),  # type: ignore[arg-type]
            "far": lambda: Record("a", value, 2**70),
            "numpy": lambda: Record("a", value, np.int64(7)),  # type: ignore[arg-type]
            "no bytes": lambda: Record("a", value, 7, (("trace", "7"),)),  # type: ignore[arg-type]
            "a dict": lambda: Record("a", value, 7, {"trace": b"7"}),  # type: ignore[arg-type]
            "bytes": lambda: Record("a", value, 7, [(b"trace", b"7")]),  # type: ignore[arg-type]
            "list": lambda: Record("a", value, 7, [("trace", b"7"), ("none", None)]),  # type: ignore[arg-type]
        }
        self.context.forward(made[said]())


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("float", r"a record has the timestamp 1\.5\. .* Use int\(time\.time\(\) \* 1000\)"),
        ("text", r"a record has the timestamp '7'\. .* an integer"),
        ("far", r"a record has the timestamp 1180591620717411303424\. .* from 0 to"),
        (
            "no bytes",
            r"\(\('trace', '7'\),\) are not headers\. They must be pairs of a name and bytes",
        ),
        ("a dict", r"\{'trace': b'7'\} are not headers"),
        ("bytes", r"\[\(b'trace', b'7'\)\] are not headers"),
    ],
)
def test_invalid_records_are_refused_when_they_are_forwarded(said: str, expected: str) -> None:
    """An invalid record used to end the worker process, and only its exit status was reported."""
    topology = Topology("careless")
    topology.stream("in", **TEXT).process(Careless).to("out")
    with TopologyDriver(topology) as driver, pytest.raises(QueryError) as failed:
        driver.input_topic("in").pipe_input("a", {"said": said})

    assert re.search(
        rf"Careless\.process \(test_processors\.py:\d+\): {expected}", str(failed.value)
    )


def test_numpy_integers_and_lists_of_headers_are_accepted() -> None:
    with driven(Careless) as driver:
        for said in ("numpy", "list"):
            driver.input_topic("in").pipe_input("a", {"said": said}, 1)
        read = driver.output_topic("out").read_records()

    assert [one.timestamp_ms for one in read] == [7, 7]
    assert read[1].headers == (("trace", b"7"), ("none", None))
