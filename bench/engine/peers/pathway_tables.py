"""The workloads of bench/engine/peers_python.py in Pathway, with PATHWAY_THREADS threads.

Usage: pathway_tables.py WORK SERVERS SOURCE RESULT ROWS STATE_DIR. It writes what changed with each
commit, every 100 ms: a row that changed is written twice, the old one with `diff` -1.
"""

import sys

import pathway as pw


class Event(pw.Schema):
    """An event."""

    user: str
    n: int
    at: int
    sent_at: float


class Row(pw.Schema):
    """A row of the table that is looked up."""

    user: str
    m: int


def stateless(events, _rows):
    kept = events.filter(events.n >= 20)
    return kept.select(kept.user, kept.sent_at, doubled=kept.n * 2)


def count(events, _rows):
    return events.groupby(events.user).reduce(
        events.user,
        records=pw.reducers.count(),
        total=pw.reducers.sum(events.n),
        sent_at=pw.reducers.max(events.sent_at),
    )


def tumbling(events, _rows):
    windows = events.windowby(
        events.at, window=pw.temporal.tumbling(duration=60_000), instance=events.user
    )
    return windows.reduce(
        user=pw.this._pw_instance,  # noqa: SLF001 - their name for users
        start=pw.this._pw_window_start,  # noqa: SLF001
        records=pw.reducers.count(),
        total=pw.reducers.sum(pw.this.n),
        sent_at=pw.reducers.max(pw.this.sent_at),
    )


def join(events, rows):
    joined = events.asof_now_join_left(rows, events.user == rows.user)
    return joined.select(events.user, events.n, events.sent_at, rows.m)


def read(servers, topic, schema, group):
    settings = {
        "bootstrap.servers": servers,
        "group.id": group,
        "auto.offset.reset": "earliest",
    }
    return pw.io.kafka.read(
        settings, topic=topic, format="json", schema=schema, autocommit_duration_ms=100
    )


def main() -> None:
    work, servers, source, result, rows, _state_dir = sys.argv[1:]
    table = read(servers, rows, Row, result) if work == "join" else None
    made = globals()[work](read(servers, source, Event, result), table)
    pw.io.kafka.write(made, {"bootstrap.servers": servers}, topic_name=result, format="json")
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)


if __name__ == "__main__":
    main()
