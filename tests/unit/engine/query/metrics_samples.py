"""Sample metrics of an application."""

from typing import Any

from duolog.engine.query.metrics import (
    Metrics,
    read_epochs,
    read_sinks,
    read_sources,
    read_states,
    read_tasks,
)

NODE = {"process": 3, "forward": 2, "dropped": {"late": 1}}
STORE = {"rows": 4, "bytes": 80, "counted_at": 1500}
TASK = {
    "records": 3,
    "stream_time": 900,
    "last_ts": 700,
    "lateness_sum": 200,
    "lateness_max": 200,
    "nodes": {"fold": NODE},
    "stores": {"sums": STORE},
}
ONE: dict[str, Any] = {
    "records_in": 3,
    "bytes_in": 30,
    "records_out": 2,
    "skipped": {"processing": 1},
    "late": {"fold": 1},
    "samples": [],
    "positions": {"orders": {"0": 3}},
    "tasks": {"1_0": TASK, "orders-0": TASK | {"nodes": {}, "stores": {}}},
    "sinks": {
        "sums": {
            "0": {"records": 2, "bytes": 8, "age_sum": 5, "ages": [1, 0, 1]},
            "1": {"records": 1, "bytes": 4, "age_sum": 0, "ages": [1, 0, 0]},
        }
    },
}
EPOCHS = {
    "count": 7,
    "longest_ms": 90,
    "phases": {"addBatch": 300, "triggerExecution": 400},
    "last": [
        {"number": 7, "id": 12, "started_at": 1000, "records_in": 3, "phases": {"addBatch": 40}}
    ],
    "state": [
        {"rows": 0, "bytes": 20, "memory_bytes": 2, "updated": 1, "removed": 0, "commit_ms": 6},
        {"rows": 0, "bytes": 10, "memory_bytes": 1, "updated": 1, "removed": 0, "commit_ms": 5},
    ],
}


def full_metrics() -> Metrics:
    counted = ONE | {"epochs": EPOCHS}
    return Metrics(
        application_id="sums",
        state="running",
        mode="micro-batch",
        at_ms=2000,
        records_in=3,
        skipped={"processing": 1, "deserialization": 2},
        tasks=read_tasks(counted),
        sources=read_sources(counted, {"orders": {0: 3}}, {"orders": {0: 9}}),
        sinks=read_sinks(counted),
        epochs=read_epochs(counted),
        states=read_states(counted),
    )
