"""Statistics of a stream or table in DESCRIBE … EXTENDED, from the figures of its queries.

ksqlDB formats them as text for people: its clients show it as it is.

Source: ksqlDB's documentation of DESCRIBE.
"""

import datetime as dt
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from duolog.ksql.catalog.catalog import SourceInfo
from duolog.runtime.sql.figures.query_figures import Flow, QueryFigures

Json = dict[str, Any]


def statistics(
    source: SourceInfo, writers: Sequence[QueryFigures], readers: Sequence[QueryFigures]
) -> str:
    """Return what queries write to the topics of a source, and read from them; empty without any.

    Example:
        >>> from duolog.ksql.catalog.catalog import SqlFormat
        >>> json = SqlFormat("JSON")
        >>> source = SourceInfo("T", "TABLE", (), "t", json, json)
        >>> written = QueryFigures("Q", 0, topics_out={"t": Flow(7, 0.5)}, last_result_at_ms=0)
        >>> print(statistics(source, [written], []))
        messages-per-sec:       0.50   total-messages:         7     last-message: \
1970-01-01T00:00:00Z
    """
    written = _sum([one.topics_out.get(topic) for one in writers for topic in source.topics])
    read = _sum([one.topics_in.get(topic) for one in readers for topic in source.topics])
    lines = []
    if written is not None:
        last_ms = max((one.last_result_at_ms or 0 for one in writers), default=0)
        known = any(one.last_result_at_ms is not None for one in writers)
        lines.append(f"{_flow('', written)}     last-message: {_time(last_ms) if known else 'n/a'}")
    if read is not None:
        lines.append(_flow("consumer-", read))
    return "\n".join(lines)


def error_statistics(figures: Sequence[QueryFigures]) -> str:
    """Return the number of errors of queries by kind; empty without any."""
    kinds = sorted({kind for one in figures for kind in one.errors})
    counts = {kind: sum(one.errors.get(kind, 0) for one in figures) for kind in kinds}
    return "   ".join(f"{kind}: {count:9}" for kind, count in counts.items() if count)


def offset_summaries(figures: QueryFigures) -> Iterator[Json]:
    """Yield the offsets of a query in each topic that it reads."""
    lags = sorted(figures.lag.partitions, key=lambda one: (one.topic, one.partition))
    for topic, parts in groupby(lags, key=lambda one: one.topic):
        yield {
            "groupId": figures.id,
            "kafkaTopic": topic,
            "offsets": [
                {
                    "partition": one.partition,
                    "logStartOffset": 0,
                    "logEndOffset": one.position if one.end is None else one.end,
                    "consumerOffset": one.position,
                }
                for one in parts
            ],
        }


def _sum(flows: Sequence[Flow | None]) -> Flow | None:
    known = [flow for flow in flows if flow is not None]
    if not known:
        return None
    return Flow(sum(flow.records for flow in known), sum(flow.per_second or 0.0 for flow in known))


def _flow(prefix: str, flow: Flow) -> str:
    rate, total = flow.per_second or 0.0, flow.records
    return f"{prefix}messages-per-sec: {rate:10.2f}   {prefix}total-messages: {total:9}"


def _time(ms: int) -> str:
    at = dt.datetime.fromtimestamp(ms / 1000, dt.UTC).replace(tzinfo=None)
    return f"{at.isoformat(timespec='seconds')}Z"
