"""A processor that executes commands from its records, in Kafka Streams and in Duolog.

play(steps)  ──►  Kafka Streams' TopologyTestDriver     ──►  output of each step
             ──►  `Obeying`, in the driver of topologies ──►  the same
"""

import datetime as dt
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, NamedTuple, Self

from conformance.kafka.peer import fetch
from duolog import (
    FixedKeyProcessor,
    Processor,
    Record,
    Topology,
    key_value_store,
    session_store,
    versioned_store,
    window_store,
)
from duolog.functions.processors.windowed import Windowed
from duolog.testing import TopologyDriver

_SOURCE: Final = Path(__file__).parent / "java_processors/ProcessorOracle.java"
_KEPT: Final = "4 minutes"


class Piped(NamedTuple):
    """A record: a key, and a command as its value; headers by their values."""

    timestamp_ms: int
    key: str | None
    command: str | None
    headers: tuple[str, ...] = ()


class Clock(NamedTuple):
    """The wall clock advances by milliseconds."""

    by_ms: int


Step = Piped | Clock
Came = tuple[str, int, str, str, str]
"""The output of a record, its timestamp, key, value and headers."""


class ProcessorOracle:
    """Kafka Streams in a JVM that runs one list of steps after the other."""

    def __init__(self, directory: Path) -> None:
        libs = f"{fetch()}/*"
        classes = directory / "classes"
        subprocess.run(
            ["javac", "-nowarn", "-d", str(classes), "-cp", libs, str(_SOURCE)],
            check=True,
            timeout=120,
            capture_output=True,
        )
        self._log = (directory / "oracle.log").open("w")
        self._process = subprocess.Popen(
            ["java", "-Xmx256m", "-cp", f"{classes}:{libs}", "ProcessorOracle", str(directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(30)
        finally:
            self._process.kill()
            assert self._process.stdout is not None
            self._process.stdout.close()
            self._log.close()

    def play(self, steps: Iterable[Step]) -> list[list[Came]]:
        """Return the output of each step."""
        self._ask("begin")
        return [
            self._ask(
                f"clock\t{step.by_ms}"
                if isinstance(step, Clock)
                else "\t".join(["record", *map(str, map(_null, step[:3])), *step.headers])
            )
            for step in steps
        ]

    def _ask(self, line: str) -> list[Came]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        found: list[Came] = []
        while (answer := self._process.stdout.readline().rstrip("\n")) != ".":
            assert answer, f"Kafka Streams has ended; its log is {self._log.name}"
            topic, timestamp, key, value, headers = answer.split("\t")
            found.append((topic, int(timestamp), key, value, headers.removesuffix("|")))
        return found


class CommandProcessor(Processor):
    """Execute the commands of records like the processor in Kafka Streams."""

    def init(self, context: Any) -> None:
        self.context = context
        self.kv, self.windows = context.store("kv"), context.store("windows")
        self.times = context.store("times")
        self.sessions, self.versions = context.store("sessions"), context.store("versions")
        self.schedule("ten", 10, "stream time")
        self.schedule("seven", 7, "stream time")
        self.schedule("clock", 5, "wall clock")

    def schedule(self, name: str, interval: int, kind: str) -> None:
        def punctuate(now: int) -> None:
            value = f"at {self.context.current_stream_time_ms()} {_null(self.kv.get('a'))}"
            self.context.forward(Record(name, {"said": value}, now))

        self.last = self.context.schedule(dt.timedelta(milliseconds=interval), kind, punctuate)

    def process(self, record: Record) -> None:
        word, *rest = ["nothing"] if record.value is None else record.value["said"].split(" ")
        result: Any
        if word == "nothing":
            self.context.forward(record.with_value(None), "left")
            result = None
        elif word == "head":
            result = _headers(record.headers)
        elif word == "both":
            self.context.forward(record.with_value({"said": "both"}))
            result = None
        elif word == "right":
            self.context.forward(record.with_key("r").with_timestamp(int(rest[0])), "right")
            result = None
        else:
            result = self._execute(word, record.key, rest)
        self.context.forward(record.with_value({"said": f"{word}: {_null(result)}"}), "left")

    def _execute(self, word: str, key: str, rest: Sequence[str]) -> Any:  # noqa: PLR0911, PLR0912 - a table of cases
        match word, *rest:
            case "put", value:
                self.kv.put(key, value)
            case "absent", value:
                return self.kv.put_if_absent(key, value)
            case ("get",):
                return self.kv.get(key)
            case ("delete",):
                return self.kv.delete(key)
            case "range", low, high:
                return _rows(self.kv.range(_nothing(low), _nothing(high)))
            case "reverse", low, high:
                return _rows(self.kv.range(_nothing(low), _nothing(high), reverse=True))
            case ("all",):
                return _rows(self.kv.all())
            case ("reverseAll",):
                return _rows(self.kv.range(reverse=True))
            case "prefix", prefix:
                return _rows(self.kv.prefix_scan(prefix))
            case "clear", low, high:
                found = self.kv.range(_nothing(low), _nothing(high))
                return _rows((at, self.kv.delete(at)) for at, _ in found)
            case "tput", value, at:
                self.times.put(key, value, int(at))
            case ("tget",):
                return _version(self.times.get(key))
            case ("tdelete",):
                return _version(self.times.delete(key))
            case "trange", low, high:
                found = self.times.range(_nothing(low), _nothing(high))
                return _rows((at, f"{_version(value)}") for at, value in found)
            case "wput", start, value:
                self.windows.put(key, _nothing(value), int(start))
            case "wfetch", start:
                return self.windows.fetch(key, int(start))
            case "wbetween", low, high:
                return _rows(self.windows.fetch_between(key, int(low), int(high)))
            case ("wall",):
                return _windows(self.windows.all())
            case "wrange", low, high, first, last:
                bounds = _nothing(low), _nothing(high)
                return _windows(self.windows.fetch_keys(*bounds, int(first), int(last)))
            case "wspan", first, last:
                return _windows(self.windows.fetch_all(int(first), int(last)))
            case "sput", start, end, value:
                self.sessions.put(key, int(start), int(end), _nothing(value))
            case "sfetch", start, end:
                return self.sessions.fetch_session(key, int(start), int(end))
            case "sfind", end, start:
                return _sessions(self.sessions.find_sessions(key, int(end), int(start)))
            case ("skey",):
                return _sessions(self.sessions.fetch(key))
            case "sremove", start, end:
                self.sessions.remove(key, int(start), int(end))
            case "vput", at, value:
                self.versions.put(key, _nothing(value), int(at))
            case "vget", *at:
                return _version(self.versions.get(key, *map(int, at)))
            case "vdelete", at:
                return _version(self.versions.delete(key, int(at)))
            case "schedule", interval:
                self.schedule(f"more{interval}", int(interval), "stream time")
            case ("cancel",):
                self.last.cancel()
            case _:
                raise ValueError(word)
        return None


class Numbering(FixedKeyProcessor):
    """Number records in a store shared with the next processor; note punctuations there."""

    def init(self, context: Any) -> None:
        self.context, self.kv = context, context.store("kv")
        context.schedule(dt.timedelta(milliseconds=40), "stream time", self.punctuate)

    def punctuate(self, now: int) -> None:
        self.kv.put("told", f"{now} {_null(self.kv.get('#a'))}")

    def process(self, record: Any) -> None:
        key = f"#{_null(record.key)}"
        self.kv.put(key, f"{int(self.kv.get(key) or 0) + 1}")
        self.context.forward(record)
        if record.value is not None and record.value["said"].startswith("get"):
            self.context.forward(record.with_value({"said": "all"}))


def _headers(headers: Iterable[tuple[str, bytes | None]]) -> str:
    return "".join(f"{name}={(data or b'').decode()};" for name, data in headers)


def _windows(found: Iterable[tuple[Windowed, str]]) -> str:
    rows = (f"{at.key}@{at.start_ms}-{at.end_ms}={value}" for at, value in found)
    return ";".join(sorted(rows))


def _sessions(found: Iterable[tuple[Windowed, str]]) -> str:
    return ";".join(sorted(f"{at.start_ms}-{at.end_ms}={value}" for at, value in found))


def _rows(found: Iterable[tuple[Any, str]]) -> str:
    return "".join(f"{key}={value};" for key, value in found)


def _version(found: Any) -> str | None:
    if found is None:
        return None
    return f"{found.value} {found.timestamp_ms}"


def _nothing(word: str) -> str | None:
    return None if word == "-" else word


def _null(value: object) -> object:
    return "null" if value is None else value


def topology() -> Topology:
    topology = Topology("compared")
    text: dict[str, Any] = {"key": "id STRING", "value": "said STRING"}
    stores = [
        key_value_store("kv", **text),
        key_value_store("times", **text, timestamped=True),
        window_store("windows", **text, size="1 minute", retention=_KEPT),
        session_store("sessions", **text, retention=_KEPT),
        versioned_store("versions", **text, history=_KEPT),
    ]
    came = topology.stream("in", **text)
    numbered = came.process_values(Numbering, stores=stores[:1], name="numbering")
    children = numbered.process_to(
        CommandProcessor, stores=stores, children={"left": None, "right": None}
    )
    for name, stream in children.items():
        stream.to(name)
    return topology


def play(steps: Iterable[Step], engine: Literal["reference", "kernel"]) -> list[list[Came]]:
    """Return the output of Duolog for each step."""
    with TopologyDriver(topology(), engine=engine) as driver:
        given = driver.input_topic("in")
        result = []
        for step in steps:
            if isinstance(step, Clock):
                driver.advance_wall_clock_time(dt.timedelta(milliseconds=step.by_ms))
            else:
                value = None if step.command is None else {"said": step.command}
                headers = tuple((f"h{n}", of.encode()) for n, of in enumerate(step.headers, 4))
                given.pipe_input(step.key, value, step.timestamp_ms, headers=headers)
            result.append(
                [
                    (
                        topic,
                        one.timestamp_ms,
                        str(_null(one.key)),
                        str(_null(one.value and one.value["said"])),
                        _headers(one.headers),
                    )
                    for topic in ("left", "right")
                    for one in driver.output_topic(topic).read_records()
                ]
            )
        return result
