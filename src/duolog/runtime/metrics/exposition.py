"""Format the metrics of applications for Prometheus."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from duolog.broker.metrics.process_stats import process_lines
from duolog.broker.metrics.text import family, line
from duolog.runtime.metrics.rows import AGES, AGES_DOC, ROWS, ages

if TYPE_CHECKING:
    from duolog.engine.query.metrics import Metrics


def exposition(applications: Sequence["Metrics"]) -> Iterator[str]:
    """Yield the text in parts: each family once, with the samples of all applications."""
    for row in ROWS:
        yield from family(
            row.name,
            row.kind,
            row.doc,
            (
                ({"application_id": one.application_id, **labels}, value)
                for one in applications
                for labels, value in row.samples(one)
            ),
        )
    yield f"# HELP {AGES} {AGES_DOC}\n# TYPE {AGES} histogram\n"
    for one in applications:
        for sink in one.sinks:
            labels = {"application_id": one.application_id, "topic_name": sink.topic}
            for step, count in ages(sink):
                yield line(f"{AGES}_bucket", {**labels, "le": step}, count)
            yield line(f"{AGES}_sum", labels, sink.e2e_latency_sum_ms)
            yield line(f"{AGES}_count", labels, sink.records_produced)
    yield from process_lines()
