"""A fake Spark: a launcher, its queries, and the topics that they read."""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from unittest.mock import MagicMock

from duolog.engine.errors import BrokerUnreachable, QueryFailed
from duolog.engine.modes import choose_mode
from duolog.engine.query.query import RunningQuery
from duolog.engine.query.reports.progress import Counters
from duolog.engine.query.source_topics import SourceTopics
from duolog.engine.query.spark_run import SparkRun
from duolog.engine.query.supervision.trigger_chooser import TriggerChooser
from duolog.engine.settings import EngineConfig, Mode
from duolog.engine.topics.batch_bounds import Backlog

if TYPE_CHECKING:
    from duolog.engine.checkpoint.topic_ids import TopicWatch
    from duolog.engine.query.launch.launcher import Launcher
    from duolog.engine.topics.topic_reader import TopicReader

Positions = Mapping[str, Mapping[int, int]]


class FakeQuery:
    """A Spark query that ends when the test ends it."""

    def __init__(self) -> None:
        self.lastProgress: MagicMock | None = None
        self.ended = threading.Event()
        self.failure: Exception | None = None
        self.stops = 0

    def awaitTermination(self, timeout: int) -> bool:
        ended = self.ended.wait(min(timeout, 0.05))
        if ended and self.failure:
            raise self.failure
        return ended

    def stop(self) -> None:
        self.stops += 1
        self.ended.set()

    def report(self, epoch_id: int, records: int, per_second: float = 0.0) -> None:
        source = {"endOffset": {"flights": {"0": records}}, "numInputRows": records}
        report: dict[str, object] = {
            "batchId": epoch_id,
            "numInputRows": records,
            "sources": [source],
        }
        report["processedRowsPerSecond"] = per_second
        self.lastProgress = MagicMock(json=json.dumps(report))


class FakeTransactions:
    """Transactions that write nothing."""

    closed: int = 0

    def open(self, trigger: str, batch_bytes: int | None) -> None:
        assert trigger
        assert batch_bytes is None or batch_bytes > 0

    def close(self) -> None:
        self.closed += 1


@dataclass
class FakeLauncher:
    """Starts fake queries; `available-now` ends by itself, as it does in Spark."""

    application_id: str = "flights"
    config: EngineConfig = field(default_factory=lambda: EngineConfig("", Path()))
    started: list[str] = field(default_factory=list)
    queries: list[FakeQuery] = field(default_factory=list)
    position: int = 0
    live: threading.Event = field(default_factory=threading.Event)
    committed: dict[str, dict[int, int]] = field(default_factory=dict)
    planned: dict[str, dict[int, int]] = field(default_factory=dict)
    bounds: list[dict[str, int]] = field(default_factory=list)
    forgotten: int = 0
    bytes_in: int = 0
    polls: int = 0
    """How often its counters were asked for."""
    jvm_has_ended: bool = False
    how_jvm_ended: str = "The JVM was killed by SIGKILL."
    log_path: Path | None = None
    written_topics: tuple[str, ...] = ("delays",)
    batch_bytes: list[int | None] = field(default_factory=list)
    directory: Path = Path("/checkpoints/flights")
    places: dict[str, str] = field(default_factory=dict)
    taken_over_by: str = ""
    global_topics: frozenset[str] = frozenset()
    spec: dict[str, Any] = field(default_factory=lambda: {"tasks": 1, "nodes": {}})
    printed: list[dict[str, object]] = field(default_factory=list)
    handover_is_wanted: bool = False
    shuffles: bool = False
    transactions: FakeTransactions = field(default_factory=FakeTransactions)
    closed: int = 0
    held: threading.Event = field(default_factory=threading.Event)
    """Until it is set, starts hang."""
    hangs: threading.Event = field(default_factory=threading.Event)
    refuses: Exception | None = None
    refuses_once: list[Exception] = field(default_factory=list)

    @property
    def checkpoint(self) -> "FakeLauncher":
        return self

    @property
    def unfinished(self) -> "FakeLauncher":
        return self

    def note_commits(self) -> None:
        pass

    def set_shuffles(self) -> None:
        self.shuffles = True

    def forget_planned(self) -> None:
        self.forgotten += 1

    @property
    def exchange(self) -> "FakeLauncher":
        return self

    def committed_positions(self) -> dict[str, dict[int, int]]:
        return self.committed

    def planned_positions(self) -> dict[str, dict[int, int]]:
        return self.planned

    def start(
        self, trigger: str, records_max: Mapping[str, int], batch_bytes: int | None
    ) -> FakeQuery:
        if not self.held.is_set():
            self.hangs.set()
        if not self.held.wait(30):
            raise AssertionError("the start was not cancelled")
        if self.refuses is not None:
            raise self.refuses
        if self.refuses_once:
            raise self.refuses_once.pop()
        self.started.append(trigger)
        self.batch_bytes.append(batch_bytes)
        self.bounds.append(dict(records_max))
        self.queries.append(FakeQuery())
        if trigger == "available-now":
            self.position += 60_000
            self.queries[-1].stop()
        else:
            self.live.set()
        return self.queries[-1]

    def cancel_start(self) -> None:
        self.held.set()
        self.refuses = QueryFailed("cancelled", query_id="flights")

    def counters(self) -> Counters:
        self.polls += 1
        return Counters(
            records_in=self.position,
            bytes_in=self.bytes_in,
            positions={"flights": {0: self.position}},
        )

    def take_printed(self) -> str:
        records, self.printed = self.printed, []
        return json.dumps({"records": records, "left_out": 0})

    def __post_init__(self) -> None:
        self.held.set()

    def close(self) -> None:
        self.closed += 1

    def release(self) -> None:
        """Nothing is held."""

    def reset(self) -> None:
        self.position = 0


@dataclass
class FakeTopics:
    """Returns the end of the topic, after it has raised the given errors."""

    end: int = 150_000
    in_the_way: list[Exception | None] = field(default_factory=list)

    mean_bytes: float = 100.0
    away: int = 0
    partitions: int = 1
    """How many there are by now; each that was added has 5 records."""
    waited_s: list[float] = field(default_factory=list)
    left_ms: list[int] = field(default_factory=list)
    """The remaining event time at each check; 0 after the last of these values."""

    def record_batch_bytes_max(self, topics: tuple[str, ...]) -> int:
        assert topics == ("delays",)
        return 1000

    def answers(self) -> bool:
        self.away -= 1
        return self.away < 0

    def known_partition_counts(self, is_wanted: Callable[[str], bool]) -> dict[str, int] | None:
        return {"flights": self.partitions} if is_wanted("flights") and self.away <= 0 else None

    def partition_counts(self, known: Mapping[str, int]) -> dict[str, int]:
        return dict(known)

    def end_offsets(
        self, counts: Mapping[str, int], timeout_s: float = 15
    ) -> dict[str, dict[int, int]]:
        self.waited_s.append(timeout_s)
        if self.away > 0:
            raise BrokerUnreachable("no broker answers at nowhere")
        if self.in_the_way and (error := self.in_the_way.pop(0)) is not None:
            raise error
        return {"flights": {0: self.end} | dict.fromkeys(range(1, counts["flights"]), 5)}

    @property
    def unread(self) -> "FakeTopics":
        return self

    def skip_non_records(self, positions: Positions, _ends: Positions) -> Positions:
        return positions

    def event_time_left_ms(self, _positions: Positions, _ends: Positions) -> int | None:
        return self.left_ms.pop(0) if self.left_ms else 0

    def backlogs(self, _positions: Positions, ends: Positions) -> dict[str, Backlog]:
        return {topic: Backlog(offsets[0], self.mean_bytes) for topic, offsets in ends.items()}


def start(
    launcher: FakeLauncher,
    mode: Mode,
    topics: FakeTopics | None = None,
    renewed: Callable[[], FakeLauncher] | None = None,
    watch: "TopicWatch | None" = None,
) -> RunningQuery:
    chosen = choose_mode(mode, needed=5, free=62, slots_total=64)
    query = RunningQuery(
        run_of(launcher, renewed), sources_of(topics, watch), TriggerChooser(chosen)
    )
    query.start()
    return query


def run_of(launcher: FakeLauncher, renewed: Callable[[], FakeLauncher] | None = None) -> SparkRun:
    return SparkRun(
        cast("Launcher", cast("Any", launcher)),
        cast("Callable[[], Launcher] | None", cast("Any", renewed)),
    )


def sources_of(topics: FakeTopics | None = None, watch: "TopicWatch | None" = None) -> SourceTopics:
    reader = cast("TopicReader", cast("Any", topics or FakeTopics()))
    return SourceTopics(reader, {"flights": 1}, watch)
