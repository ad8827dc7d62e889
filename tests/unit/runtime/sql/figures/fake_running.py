"""A supervisor and queries with metrics that a test sets."""

from collections.abc import Mapping
from dataclasses import replace

from duolog.engine.query.metrics import Metrics, SinkMetrics, SourceMetrics
from duolog.runtime.sql.figures.observation import Partition
from duolog.runtime.sql.persistent.query_supervisor import LiveQuery
from unit.runtime.sql.fake_queries import FakeQuery

QUERY = "CSAS_LARGE_0"


class Running(FakeQuery):
    """A running query."""

    def __init__(self) -> None:
        super().__init__()
        self.now = Metrics(QUERY, "running", "micro-batch", 0)

    def metrics(self) -> Metrics:
        return self.now

    def read(
        self,
        topic: str,
        position: int,
        end: int | None,
        *,
        partition: int = 0,
        consumed: int | None = None,
    ) -> None:
        """Set position and end of a partition, and the count of the JVM: by default the same."""
        count = position if consumed is None else consumed
        source = SourceMetrics(topic, partition, count, position, end, None)
        others = tuple(
            one for one in self.now.sources if (one.topic, one.partition) != (topic, partition)
        )
        sources = (*others, source)
        self.now = replace(
            self.now, sources=sources, records_in=sum(one.records_consumed for one in sources)
        )

    def write(self, topic: str, count: int) -> None:
        """Set the number of written records."""
        self.now = replace(
            self.now, records_out=count, sinks=(SinkMetrics(topic, count, count * 10, 0),)
        )


class Queries:
    """A supervisor with one query."""

    def __init__(self, query: Running | None) -> None:
        self.query = query
        self.live = LiveQuery(QUERY, "RUNNING", started_at_ms=1_000)

    def live_all(self) -> list[LiveQuery]:
        return [self.live]

    def running(self) -> Mapping[str, Running]:
        return {} if self.query is None else {QUERY: self.query}


class Broker:
    """Unread records that a test sets."""

    def __init__(self) -> None:
        self.timestamps: dict[tuple[Partition, int], int] = {}
        self.log_ends: dict[Partition, int] | None = {}
        self.asked: list[Mapping[Partition, int]] = []
        self.closed = False

    def first_timestamps(
        self, positions: Mapping[Partition, int], ends: Mapping[Partition, int]
    ) -> dict[Partition, int]:
        del ends
        self.asked.append(dict(positions))
        return {
            at: self.timestamps[at, position]
            for at, position in positions.items()
            if (at, position) in self.timestamps
        }

    def ends(self, counts: Mapping[str, int]) -> dict[Partition, int] | None:
        del counts
        return self.log_ends

    def close(self) -> None:
        self.closed = True


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.ms = 1_000_000

    def now_ms(self) -> int:
        return self.ms

    def monotonic(self) -> float:
        return self.ms / 1000
