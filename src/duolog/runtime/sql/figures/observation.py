"""The report of a running query at one time, before rates and totals are computed.

Counters are named by what they count, and start at 0 with each JVM:

    in                      records read; by partition if the query reports `consumed`
    out, out:TOTALS, bytes  records written, and the bytes of all
    error:processing        errors by kind, see `query_figures`
    late                    records that were too late
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from duolog.runtime.sql.figures.query_figures import StoreFigures

if TYPE_CHECKING:
    from duolog.engine.query.metrics import Metrics
    from duolog.engine.query.reports.progress import Progress
    from duolog.runtime.sql.persistent.query_supervisor import ManagedQuery

IN: Final = "in"
OUT: Final = "out"
BYTES: Final = "bytes"
LATE: Final = "late"
ERROR: Final = "error:"
_LATE_REASON: Final = "late"

Partition = tuple[str, int]
"""A topic and the number of one of its partitions."""


@dataclass(frozen=True, slots=True)
class Observation:
    """Counters, positions and state of a query."""

    counters: Mapping[str, int] = field(default_factory=dict)
    positions: Mapping[Partition, int] | None = None
    """The next offset to read of each partition; None if they are unknown."""
    consumed: Mapping[Partition, int] = field(default_factory=dict)
    """Records read of each partition by the JVM of now. Those that it reads again count again, also
    if Spark computes a micro-batch in two passes."""
    ends: Mapping[Partition, int] | None = None
    """The ends of the partitions; None if no broker answers."""
    lag_records: int | None = None
    """Unread records, if the partitions are unknown."""
    stores: tuple[StoreFigures, ...] = ()
    state_bytes: int | None = None


def observe(query: "ManagedQuery") -> Observation:
    """Return what a running query reports. May ask a broker for the ends of topics."""
    metrics = metrics_of_query(query)
    return of_progress(query.progress()) if metrics is None else of_metrics(metrics)


def metrics_of_query(query: "ManagedQuery") -> "Metrics | None":
    """Return the metrics of a query, of which some may be unknown; None if it has none."""
    own = getattr(query, "metrics", None)
    if own is not None:
        found: Metrics | None = own()
        return found
    # Imported here: it needs the engine, which has been loaded if it runs the query.
    from duolog.engine.query.metrics import metrics_of  # noqa: PLC0415
    from duolog.engine.query.query import RunningQuery  # noqa: PLC0415

    return metrics_of(query) if isinstance(query, RunningQuery) else None


def of_metrics(metrics: "Metrics") -> Observation:
    """Return the observation of the metrics of an application."""
    positions = {(one.topic, one.partition): one.position for one in metrics.sources}
    ends = {(one.topic, one.partition): one.end for one in metrics.sources if one.end is not None}
    return Observation(
        counters=dict(_counters(metrics)),
        positions=positions,
        consumed={(one.topic, one.partition): one.records_consumed for one in metrics.sources},
        ends=ends if ends or not positions else None,
        stores=tuple(_stores(metrics)),
        state_bytes=metrics.state_bytes,
    )


def of_progress(progress: "Progress") -> Observation:
    """Return the observation of a query that reports its progress only."""
    counters = {
        IN: progress.records_in,
        OUT: progress.records_out,
        LATE: sum(progress.late.values()),
        **{f"{ERROR}{stage}": count for stage, count in progress.skipped.items()},
    }
    return Observation(counters, lag_records=progress.lag_records_total)


def _counters(metrics: "Metrics") -> Iterator[tuple[str, int]]:
    yield OUT, metrics.records_out
    for sink in metrics.sinks:
        yield f"{OUT}:{sink.topic}", sink.records_produced
    yield BYTES, sum(sink.bytes_produced for sink in metrics.sinks)
    yield LATE, sum(metrics.late.values())
    for stage, count in metrics.skipped.items():
        yield f"{ERROR}{stage}", count
    yield f"{ERROR}functionCalls", metrics.failed_calls
    yield f"{ERROR}dropped", _dropped(metrics)


def _dropped(metrics: "Metrics") -> int:
    return sum(
        count
        for task in metrics.tasks
        for node in task.nodes
        for reason, count in node.dropped.items()
        # Errors are counted by their stage.
        if reason not in {_LATE_REASON, "error"}
    )


def _stores(metrics: "Metrics") -> Iterator[StoreFigures]:
    found = [store for task in metrics.tasks for store in task.stores]
    for name in sorted({store.store for store in found}):
        parts = [store for store in found if store.store == name]
        counted = [part.counted_at_ms for part in parts]
        known = [at for at in counted if at is not None]
        yield StoreFigures(
            name,
            sum(part.rows for part in parts),
            sum(part.bytes for part in parts),
            min(known) if len(known) == len(counted) else None,
        )
