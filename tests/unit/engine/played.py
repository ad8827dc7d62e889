"""A Spark that is played: a launcher, its queries, and the topics that they read."""

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import MagicMock

from duolog.engine.batch_bounds import Backlog
from duolog.engine.errors import BrokerUnreachable
from duolog.engine.progress import Counters
from duolog.engine.settings import EngineConfig

Positions = Mapping[str, Mapping[int, int]]


class PlayedQuery:
    """A Spark query that ends when it is told to."""

    def __init__(self) -> None:
        self.lastProgress: MagicMock | None = None
        self.ended = threading.Event()
        self.failure: Exception | None = None

    def awaitTermination(self, timeout: int) -> bool:
        ended = self.ended.wait(min(timeout, 0.05))
        if ended and self.failure:
            raise self.failure
        return ended

    def stop(self) -> None:
        self.ended.set()

    def report(self, epoch_id: int, records: int) -> None:
        source = {"endOffset": {"flights": {"0": records}}, "numInputRows": records}
        report = {"batchId": epoch_id, "numInputRows": records, "sources": [source]}
        self.lastProgress = MagicMock(json=json.dumps(report))


@dataclass
class PlayedLauncher:
    """Starts played queries; `available-now` ends by itself, as it does in Spark."""

    application_id: str = "flights"
    config: EngineConfig = field(default_factory=lambda: EngineConfig("", Path()))
    started: list[str] = field(default_factory=list)
    queries: list[PlayedQuery] = field(default_factory=list)
    position: int = 0
    live: threading.Event = field(default_factory=threading.Event)
    committed: dict[str, dict[int, int]] = field(default_factory=dict)
    bounds: list[dict[str, int]] = field(default_factory=list)
    forgotten: int = 0
    bytes_in: int = 0
    jvm_has_ended: bool = False
    log_path: Path | None = None
    written_topics: tuple[str, ...] = ("delays",)
    batch_bytes: list[int | None] = field(default_factory=list)
    directory: Path = Path("/checkpoints/flights")
    places: dict[str, str] = field(default_factory=dict)
    prints: bool = False
    global_topics: frozenset[str] = frozenset()
    printed: list[dict[str, object]] = field(default_factory=list)

    @property
    def checkpoint(self) -> "PlayedLauncher":
        return self

    def forget_planned(self) -> None:
        self.forgotten += 1

    def committed_positions(self) -> dict[str, dict[int, int]]:
        return self.committed

    def start(
        self, trigger: str, records_max: Mapping[str, int], batch_bytes: int | None
    ) -> PlayedQuery:
        self.started.append(trigger)
        self.batch_bytes.append(batch_bytes)
        self.bounds.append(dict(records_max))
        self.queries.append(PlayedQuery())
        if trigger == "available-now":
            self.position += 60_000
            self.queries[-1].stop()
        else:
            self.live.set()
        return self.queries[-1]

    def counters(self) -> Counters:
        return Counters(
            records_in=self.position,
            bytes_in=self.bytes_in,
            positions={"flights": {0: self.position}},
        )

    def take_printed(self) -> str:
        records, self.printed = self.printed, []
        return json.dumps({"records": records, "left_out": 0})

    def release(self) -> None:
        """Nothing is held."""

    def reset_counters(self) -> None:
        self.position = 0


@dataclass
class PlayedTopics:
    """Tells where the topic ends, once what is in the way has been raised."""

    end: int = 150_000
    in_the_way: list[Exception | None] = field(default_factory=list)

    mean_bytes: float = 100.0
    away: int = 0
    waited_s: list[float] = field(default_factory=list)

    def record_batch_bytes_max(self, topics: tuple[str, ...]) -> int:
        assert topics == ("delays",)
        return 1000

    def answers(self) -> bool:
        self.away -= 1
        return self.away < 0

    def end_offsets(
        self, _counts: Mapping[str, int], timeout_s: float = 15
    ) -> dict[str, dict[int, int]]:
        self.waited_s.append(timeout_s)
        if self.away > 0:
            raise BrokerUnreachable("no broker answers at nowhere")
        if self.in_the_way and (error := self.in_the_way.pop(0)) is not None:
            raise error
        return {"flights": {0: self.end}}

    def without_what_is_no_record(self, positions: Positions, _ends: Positions) -> Positions:
        return positions

    def backlogs(self, _positions: Positions, ends: Positions) -> dict[str, Backlog]:
        return {topic: Backlog(offsets[0], self.mean_bytes) for topic, offsets in ends.items()}
