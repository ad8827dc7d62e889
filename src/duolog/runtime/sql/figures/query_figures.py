"""The figures of one persistent query at one time, and their form as JSON.

    {"id": "CTAS_TOTALS_1", "atMs": 1700000000000, "server": "db1:8088", "jvmGroup": "default",
     "state": "RUNNING", "error": "", "startedAtMs": …, "restarts": 0, "failures": 0,
     "in": {"records": 120, "recordsPerSecond": 4.0, "topics": {"orders": {…}}},
     "out": {"records": 60, "recordsPerSecond": 2.0, "bytes": 1200, "topics": {"TOTALS": {…}}},
     "lag": {"records": 7, "recordsTrend": "rising", "ms": 2100, "msTrend": "steady",
             "partitions": [{"topic": "orders", "partition": 0, "position": 113, "end": 120,
                             "records": 7, "ms": 2100}]},
     "errors": {"deserialization": 0, "processing": 0, "production": 0, "functionCalls": 0, …},
     "lateRecords": 0, "stores": [{"name": "…", "rows": 3, "bytes": 240, "countedAtMs": …}],
     "stateBytes": 65536, "lastResultAtMs": …}

The lag of a partition in milliseconds is the age of its first unread record, in the order of
offsets: the time of measurement minus the record's timestamp, at least 0. It is 0 if no record is
unread; control records of transactions and records of aborted ones do not count. The lag of a query
is the greatest of its partitions; null if one of them is unknown. Counts are of this server's
process. `shown` adds ages.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from duolog.runtime.sql.figures.trends import Trend

Json = dict[str, Any]

PARTITIONS_MAX: Final = 100
"""Partitions in the figures: those with the greatest lag."""
_GONE_MS: Final = 60_000
"""Age of figures whose server has gone: a server measures every few seconds."""
DEFAULT_GROUP: Final = "default"
ERROR_KINDS: Final = (
    "deserialization",
    "processing",
    "production",
    "retention",
    "dropped",
    "functionCalls",
)
"""Records that cannot be read, processed or written; records lost to retention; records dropped by
a node for another reason than lateness; calls in expressions that failed."""


@dataclass(frozen=True, slots=True)
class Flow:
    """Records of a topic, or of all topics."""

    records: int = 0
    per_second: float | None = None
    """None until it was measured for a second."""

    def to_json(self) -> Json:
        return {"records": self.records, "recordsPerSecond": self.per_second}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Self:
        return cls(found["records"], found["recordsPerSecond"])


@dataclass(frozen=True, slots=True)
class StoreFigures:
    """A store of the state, over all tasks."""

    name: str
    rows: int
    bytes: int
    """Size of keys and values."""
    counted_at_ms: int | None = None
    """The oldest count of a task; None while a count is a lower bound."""

    def to_json(self) -> Json:
        return {
            "name": self.name,
            "rows": self.rows,
            "bytes": self.bytes,
            "countedAtMs": self.counted_at_ms,
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Self:
        return cls(found["name"], found["rows"], found["bytes"], found["countedAtMs"])


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """The unread part of a topic partition."""

    topic: str
    partition: int
    position: int
    """The next offset to read."""
    end: int | None
    """The offset after the last record that can be read; None if no broker answers."""
    ms: int | None = None
    """Age of the first unread record; 0 without one; None if unknown."""

    @property
    def records(self) -> int | None:
        """Unread offsets; None if the end is unknown."""
        return None if self.end is None else max(0, self.end - self.position)

    def to_json(self) -> Json:
        return {
            "topic": self.topic,
            "partition": self.partition,
            "position": self.position,
            "end": self.end,
            "records": self.records,
            "ms": self.ms,
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Self:
        names = ("topic", "partition", "position", "end", "ms")
        return cls(*(found[name] for name in names))


@dataclass(frozen=True, slots=True)
class Lag:
    """The unread records of a query, and the direction in which they change."""

    records: int | None = None
    records_trend: Trend | None = None
    ms: int | None = None
    ms_trend: Trend | None = None
    partitions: tuple[PartitionLag, ...] = ()

    def to_json(self) -> Json:
        return {
            "records": self.records,
            "recordsTrend": self.records_trend,
            "ms": self.ms,
            "msTrend": self.ms_trend,
            "partitions": [one.to_json() for one in self.partitions],
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Self:
        return cls(
            found["records"],
            found["recordsTrend"],
            found["ms"],
            found["msTrend"],
            tuple(PartitionLag.from_json(one) for one in found["partitions"]),
        )


@dataclass(frozen=True, slots=True)
class QueryFigures:
    """The figures of a query; `at_ms` is the time of measurement, in ms since 1970."""

    id: str
    at_ms: int
    state: str = "STARTING"
    error: str = ""
    server: str = ""
    """Address of the server that runs it."""
    jvm_group: str = DEFAULT_GROUP
    started_at_ms: int | None = None
    """None while it does not run."""
    restarts: int = 0
    failures: int = 0
    records_in: Flow = Flow()
    records_out: Flow = Flow()
    topics_in: Mapping[str, Flow] = field(default_factory=dict)
    topics_out: Mapping[str, Flow] = field(default_factory=dict)
    bytes_out: int = 0
    lag: Lag = Lag()
    errors: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(ERROR_KINDS, 0))
    late: int = 0
    """Records that were too late for a window."""
    stores: tuple[StoreFigures, ...] = ()
    state_bytes: int | None = None
    """Size of the state in files and memory; None while it does not run."""
    last_result_at_ms: int | None = None
    """When a written record was last noticed, at most one interval after it; None before any."""

    def to_json(self) -> Json:
        """Return the form that `from_json` reads."""
        return {
            "id": self.id,
            "atMs": self.at_ms,
            "server": self.server,
            "jvmGroup": self.jvm_group,
            "state": self.state,
            "error": self.error,
            "startedAtMs": self.started_at_ms,
            "restarts": self.restarts,
            "failures": self.failures,
            "in": {**self.records_in.to_json(), "topics": _topics(self.topics_in)},
            "out": {
                **self.records_out.to_json(),
                "bytes": self.bytes_out,
                "topics": _topics(self.topics_out),
            },
            "lag": self.lag.to_json(),
            "errors": dict(self.errors),
            "lateRecords": self.late,
            "stores": [one.to_json() for one in self.stores],
            "stateBytes": self.state_bytes,
            "lastResultAtMs": self.last_result_at_ms,
        }

    def shown(self, now_ms: int) -> Json:
        """Return the figures with ages: of the figures, of the run, and of the last result.

        The age of the run is null if the server that measured it has gone.
        """
        age_ms = max(0, now_ms - self.at_ms)
        started_at_ms = self.started_at_ms if age_ms <= _GONE_MS else None
        return {
            **self.to_json(),
            "ageMs": age_ms,
            "uptimeMs": _age(now_ms, started_at_ms),
            "lastResultAgeMs": _age(now_ms, self.last_result_at_ms),
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Self:
        """Read the result of `to_json`, possibly of another process.

        Raises:
            KeyError, TypeError: it has another form.
        """
        read, written = found["in"], found["out"]
        return cls(
            id=found["id"],
            at_ms=found["atMs"],
            server=found["server"],
            jvm_group=found["jvmGroup"],
            state=found["state"],
            error=found["error"],
            started_at_ms=found["startedAtMs"],
            restarts=found["restarts"],
            failures=found["failures"],
            records_in=Flow.from_json(read),
            records_out=Flow.from_json(written),
            topics_in={name: Flow.from_json(one) for name, one in read["topics"].items()},
            topics_out={name: Flow.from_json(one) for name, one in written["topics"].items()},
            bytes_out=written["bytes"],
            lag=Lag.from_json(found["lag"]),
            errors=dict(found["errors"]),
            late=found["lateRecords"],
            stores=tuple(StoreFigures.from_json(one) for one in found["stores"]),
            state_bytes=found["stateBytes"],
            last_result_at_ms=found["lastResultAtMs"],
        )


def _topics(flows: Mapping[str, Flow]) -> Json:
    return {name: flow.to_json() for name, flow in sorted(flows.items())}


def _age(now_ms: int, then_ms: int | None) -> int | None:
    return None if then_ms is None else max(0, now_ms - then_ms)
