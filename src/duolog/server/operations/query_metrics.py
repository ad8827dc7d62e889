"""Metrics of the queries that this server runs, for Prometheus.

The labels are the query, and a topic, a kind of error or a store: their number is bounded by the
statements. At most `QUERIES_MAX` queries have series. A query that has ended has none any more.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from duolog.broker.metrics.text import Kind, Sample, family, single
from duolog.runtime.sql.figures.query_figures import Flow, QueryFigures

QUERIES_MAX: Final = 1_000
"""Those with the first ids by name; `duolog_query_left_out` has the number of the others."""
_TRENDS: Final = {"falling": -1, "steady": 0, "rising": 1}
_S: Final = 1000


class _Row(NamedTuple):
    name: str
    kind: Kind
    doc: str
    samples: Callable[[QueryFigures, int], Iterable[Sample]]
    """Samples of a query, without its label; the second argument is the time."""


def lines(figures: Mapping[str, QueryFigures], now_ms: int) -> Iterator[str]:
    """Yield the lines of all families.

    Args:
        figures: those of the queries that this server runs, by id.
        now_ms: the time, in ms since 1970.
    """
    shown = [figures[name] for name in sorted(figures)[:QUERIES_MAX]]
    for row in _ROWS:
        yield from family(
            row.name,
            row.kind,
            row.doc,
            (
                ({"query_id": one.id, **labels}, value)
                for one in shown
                for labels, value in row.samples(one, now_ms)
            ),
        )
    yield single(
        "duolog_query_left_out",
        "gauge",
        "Queries of this server without series, because there are too many.",
        len(figures) - len(shown),
    )


def _by_topic(flows: Mapping[str, Flow]) -> list[Sample]:
    return [({"topic": name}, flow.records) for name, flow in sorted(flows.items())]


def _known(value: float | None, scale: float = 1) -> list[Sample]:
    return [] if value is None else [({}, value / scale if scale != 1 else value)]


def _trend(name: str | None) -> list[Sample]:
    return [] if name is None else [({}, _TRENDS[name])]


def _age(now_ms: int, then_ms: int | None) -> list[Sample]:
    return [] if then_ms is None else [({}, max(0, now_ms - then_ms) / _S)]


_ROWS: Final = (
    _Row(
        "duolog_query_info",
        "gauge",
        "1, with the query's state and JVM group as labels.",
        lambda one, _: [({"state": one.state, "jvm_group": one.jvm_group}, 1)],
    ),
    _Row(
        "duolog_query_records_in_total",
        "counter",
        "Records read, by topic.",
        lambda one, _: [
            ({"topic": name}, of.records) for name, of in sorted(one.topics_in.items())
        ],
    ),
    _Row(
        "duolog_query_records_out_total",
        "counter",
        "Records written, by topic.",
        lambda one, _: _by_topic(one.topics_out),
    ),
    _Row(
        "duolog_query_bytes_out_total",
        "counter",
        "Bytes of keys and values written.",
        lambda one, _: [({}, one.bytes_out)],
    ),
    _Row(
        "duolog_query_lag_records",
        "gauge",
        "Unread records of all topics.",
        lambda one, _: _known(one.lag.records),
    ),
    _Row(
        "duolog_query_lag_seconds",
        "gauge",
        "Age of the first unread record, by its timestamp; the greatest of all partitions.",
        lambda one, _: _known(one.lag.ms, _S),
    ),
    _Row(
        "duolog_query_lag_records_trend",
        "gauge",
        "1: the lag in records rises, -1: it falls, 0: it is steady.",
        lambda one, _: _trend(one.lag.records_trend),
    ),
    _Row(
        "duolog_query_lag_seconds_trend",
        "gauge",
        "1: the lag in seconds rises, -1: it falls, 0: it is steady.",
        lambda one, _: _trend(one.lag.ms_trend),
    ),
    _Row(
        "duolog_query_errors_total",
        "counter",
        "Records that were skipped or dropped, and calls that failed, by kind.",
        lambda one, _: [({"kind": kind}, count) for kind, count in sorted(one.errors.items())],
    ),
    _Row(
        "duolog_query_late_records_total",
        "counter",
        "Records that were too late for a window.",
        lambda one, _: [({}, one.late)],
    ),
    _Row(
        "duolog_query_store_rows",
        "gauge",
        "Rows of a store, as last counted.",
        lambda one, _: [({"store": store.name}, store.rows) for store in one.stores],
    ),
    _Row(
        "duolog_query_store_bytes",
        "gauge",
        "Bytes of keys and values of a store, as last counted.",
        lambda one, _: [({"store": store.name}, store.bytes) for store in one.stores],
    ),
    _Row(
        "duolog_query_state_bytes",
        "gauge",
        "Bytes of the state in files and memory.",
        lambda one, _: _known(one.state_bytes),
    ),
    _Row(
        "duolog_query_restarts_total",
        "counter",
        "Starts after the first one.",
        lambda one, _: [({}, one.restarts)],
    ),
    _Row(
        "duolog_query_failures_total",
        "counter",
        "Failures of starts and of running queries.",
        lambda one, _: [({}, one.failures)],
    ),
    _Row(
        "duolog_query_uptime_seconds",
        "gauge",
        "Time since the last start; absent while the query does not run.",
        lambda one, now_ms: _age(now_ms, one.started_at_ms),
    ),
    _Row(
        "duolog_query_last_result_age_seconds",
        "gauge",
        "Time since a written record was last noticed.",
        lambda one, now_ms: _age(now_ms, one.last_result_at_ms),
    ),
)
