"""Export epochs as OpenTelemetry spans, if a consumer of spans is configured.

    epoch            application, number, records; with its duration
    ├─ latestOffset  phases, under Spark's names
    ├─ walCommit
    ├─ getBatch
    ├─ queryPlanning
    ├─ addBatch
    └─ commitOffsets

The consumer is set by the program (`opentelemetry.trace.set_tracer_provider`), by
`opentelemetry-instrument duolog run FILE`, or by environment variables that name a collector
(`collector`). Spark reports the durations of phases, not their start times, so they are placed one
after the other, as Spark runs them.

Threads: one per query, which reads completed epochs every two seconds. Queries do not wait for it:
a collector that
hangs does not slow them down, and delays the exit of the process by at most three seconds.
"""

import atexit
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from duolog.core.errors import QueryError
from duolog.engine.query.metrics import Epoch, read_epochs
from duolog.runtime.metrics.collector import Collector, Span

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

    from duolog.engine.query.query import RunningQuery

_LOOK_S: Final = 2.0
_LAST_S: Final = 3.0
_NS_PER_MS: Final = 1_000_000
_PHASES: Final = (
    "latestOffset",
    "walCommit",
    "getBatch",
    "queryPlanning",
    "addBatch",
    "commitOffsets",
)
"""In the order in which Spark runs them."""


class SpanReceiver(Protocol):
    """Consumes epochs as traces, each with its root span first."""

    def take(self, application_id: str, traces: Sequence[Sequence[Span]]) -> bool:
        """Return false to receive the traces again."""


def trace(query: "RunningQuery") -> threading.Thread | None:
    """Start exporting the epochs of a query; returns None if no consumer is configured."""
    tracer = _tracer()
    receiver = Collector.of_environment() if tracer is None else ProviderOfProgram(tracer)
    if receiver is None:
        return None
    name = f"duolog-spans-{query.application_id}"
    thread = threading.Thread(target=_follow, args=(query, receiver), name=name, daemon=True)
    thread.start()
    atexit.register(_wait_for_the_last, query, thread)
    return thread


def _wait_for_the_last(query: "RunningQuery", thread: threading.Thread) -> None:
    if query.has_ended:
        thread.join(_LAST_S)


def spans_of(epoch: Epoch, application_id: str) -> tuple[Span, ...]:
    """Return the span of an epoch, followed by its child spans, one per phase."""
    begin = epoch.started_at_ms * _NS_PER_MS
    at = begin
    phases = []
    for phase in _PHASES:
        if spent_ms := epoch.phases_ms.get(phase):
            phases.append(Span(phase, at, at + spent_ms * _NS_PER_MS, {}))
            at += spent_ms * _NS_PER_MS
    took_ms = epoch.phases_ms.get("triggerExecution", 0)
    attributes: dict[str, str | int] = {
        "duolog.application_id": application_id,
        "duolog.epoch_id": epoch.id,
        "duolog.records_in": epoch.records_in,
    }
    whole = Span("epoch", begin, max(at, begin + took_ms * _NS_PER_MS), attributes)
    return (whole, *phases)


class ProviderOfProgram:
    """Passes spans to the provider that the program has set."""

    def __init__(self, tracer: "Tracer") -> None:
        self._tracer = tracer

    def take(self, application_id: str, traces: Sequence[Sequence[Span]]) -> bool:
        """Pass spans on; always returns true, because the provider handles failures."""
        del application_id
        from opentelemetry.trace import set_span_in_context  # noqa: PLC0415 - optional dependency

        for whole, *phases in traces:
            span = self._tracer.start_span(
                whole.name, start_time=whole.start_ns, attributes=whole.attributes
            )
            context = set_span_in_context(span)
            for phase in phases:
                inside = self._tracer.start_span(
                    phase.name, context=context, start_time=phase.start_ns
                )
                inside.end(end_time=phase.end_ns)
            span.end(end_time=whole.end_ns)
        return True


def _tracer() -> "Tracer | None":
    try:
        from opentelemetry import trace as api  # noqa: PLC0415 - optional dependency
    except ImportError:
        return None
    # No provider is set, so no spans are created.
    if isinstance(api.get_tracer_provider(), api.ProxyTracerProvider):
        return None
    return api.get_tracer("duolog")


def _follow(query: "RunningQuery", receiver: SpanReceiver) -> None:
    exported = 0
    ended = False
    while not ended:
        ended = _has_ended(query)
        epochs = read_epochs(_counted(query)).last
        if epochs and epochs[-1].number < exported:
            exported = 0  # Another JVM counts from 1.
        new = [epoch for epoch in epochs if epoch.number > exported]
        traces = [spans_of(epoch, query.application_id) for epoch in new]
        if new and receiver.take(query.application_id, traces):
            exported = new[-1].number


def _has_ended(query: "RunningQuery") -> bool:
    """Wait for the next round; a failed query has ended, and its error is reported elsewhere."""
    try:
        return query.wait(_LOOK_S)
    except QueryError:
        return True


def _counted(query: "RunningQuery") -> dict[str, Any]:
    from duolog.engine.spark.failures import JVM_IS_GONE  # noqa: PLC0415 - loaded with the query

    try:
        return query.launcher.exchange.counted()
    except (*JVM_IS_GONE, AttributeError):  # AttributeError: a closed session has no JVM.
        return {}
