"""Metrics of the server as Prometheus' text.

Source: Prometheus text exposition format 0.0.4.
"""

from collections.abc import Iterator
from typing import Final

from duolog.broker.metrics.text import CONTENT_TYPE, family, histograms, single
from duolog.core.clock import SystemClock
from duolog.server.messages import Request, Response
from duolog.server.operations import query_metrics
from duolog.server.operations.context import ServerContext

_CLOCK: Final = SystemClock()


async def metrics(_request: Request, context: ServerContext) -> Response:
    """Answer with all metrics."""
    # Figures that are measured at intervals are only looked up.
    own = {} if context.sql is None else context.sql.figures.own()
    found = [*_lines(context), *query_metrics.lines(own, _CLOCK.now_ms())]
    return Response("".join(found).encode(), media_type=CONTENT_TYPE)


def _of_tables(context: ServerContext) -> Iterator[str]:
    """Yield how much of each table is read from its topic, since it was asked for first."""
    read = sorted(context.tables_read().items())
    yield from family(
        "duolog_server_table_read_offsets",
        "gauge",
        "Offsets that are in the rows of a table, of those that its topic had when it was opened.",
        (({"table": name}, one.applied) for name, one in read),
    )
    yield from family(
        "duolog_server_table_offsets",
        "gauge",
        "Offsets that the topic of a table had when it was opened.",
        (({"table": name}, one.total) for name, one in read),
    )


def _lines(context: ServerContext) -> Iterator[str]:
    counts = context.counts
    yield from family(
        "duolog_server_requests_total",
        "counter",
        "Answered requests.",
        (
            ({"operation": operation, "status": status}, count)
            for (operation, status), count in sorted(counts.answered.items())
        ),
    )
    yield from histograms(
        "duolog_server_request_seconds",
        "Time from the headers of a request to the last byte of its response.",
        (({"operation": name}, times) for name, times in sorted(counts.seconds.items())),
    )
    yield single(
        "duolog_server_requests_in_progress",
        "gauge",
        "Requests that are being answered.",
        counts.in_progress,
    )
    yield single("duolog_server_connections", "gauge", "Open connections.", counts.connections)
    yield single(
        "duolog_server_connections_evicted_total",
        "counter",
        "Idle connections that were closed to make room for others.",
        counts.evicted,
    )
    yield single(
        "duolog_server_statements_waiting",
        "gauge",
        "Calls that wait for a thread or run on one.",
        context.workers.calls,
    )
    yield from _of_tables(context)
