"""Read metrics snapshots of applications, and compute rates from two successive ones.

Counters restart at 0 with a new process or JVM, so no rate is shown for a counter that has
decreased.
"""

import json
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from duolog.cli.errors import NotServed
from duolog.engine.query.metrics import Metrics
from duolog.runtime.metrics.local_registry import ApplicationJson, list_applications

_TIMEOUT_S: Final = 10.0
_PHASES: Final = {
    "addBatch": "work",
    "queryPlanning": "plan",
    "latestOffset": "look",
    "getBatch": "look",
    "walCommit": "commit",
    "commitOffsets": "commit",
}
"""Short names for Spark's phases."""


def look(addresses: Sequence[str] = ()) -> dict[tuple[str, str], Metrics]:
    """Return the running applications at `addresses`, or on this machine.

    Raises:
        NotServed: no application, or another version of Duolog, serves metrics at an address.
    """
    found = {}
    for address in addresses:
        for told in _ask(address):
            if (one := _read(told)) is None:
                raise NotServed(
                    f'the metrics at "{address}" come from another version of Duolog',
                    hint="Use the duolog command of the version that runs the application.",
                )
            found[address, one.application_id] = one
    for told in () if addresses else list_applications():
        # One of another version is left out: it must not keep the others from being seen.
        if (one := _read(told)) is not None:
            found[str(told["pid"]), one.application_id] = one
    return found


def _read(told: ApplicationJson) -> Metrics | None:
    """Return the metrics that a process has reported; None if it uses another version of Duolog."""
    try:
        return Metrics.from_json(told)
    except (KeyError, TypeError):
        return None


def application_row(where: str, now: Metrics, before: Metrics | None) -> dict[str, object]:
    """Return an application as a row; rates are None without a previous snapshot."""
    rate = rates(now, before)
    lag_ms = now.lag_ms
    last = now.epochs.last[-1].phases_ms if now.epochs.last else {}
    return {
        "application": now.application_id,
        "where": where,
        "state": now.state,
        "mode": now.mode,
        "in_per_s": rate(lambda one: one.records_in),
        "out_per_s": rate(lambda one: one.records_out),
        "records_in": now.records_in,
        "records_out": now.records_out,
        "lag_records": now.lag_records,
        "lag_s": None if lag_ms is None else round(lag_ms / 1000, 1),
        "late": sum(now.late.values()),
        "dropped": now.dropped,
        "state_rows": now.state_rows,
        "state_bytes": now.state_bytes,
        "epochs": now.epochs.count,
        "epoch_ms": last.get("triggerExecution"),
        "phases_ms": phases(last),
    }


def node_rows(now: Metrics, before: Metrics | None) -> list[dict[str, object]]:
    """Return the nodes of an application in plan order, summed over their tasks."""
    rate = rates(now, before)
    names = dict.fromkeys(node.node for task in now.tasks for node in task.nodes)
    return [
        {
            "node": name,
            "tasks": sum(name in (node.node for node in task.nodes) for task in now.tasks),
            "in_per_s": rate(partial(_come, name)),
            "process_total": node_total(now, name)[0],
            "forward_total": node_total(now, name)[1],
            "dropped": node_total(now, name)[2],
        }
        for name in sorted(names, key=_in_order)
    ]


def store_rows(now: Metrics) -> list[dict[str, object]]:
    """Return the stores of an application as rows, one per task."""
    return [
        {
            "store": store.store,
            "task": task.task,
            "rows": store.rows,
            "bytes": store.bytes,
            "counted_s_ago": None
            if store.counted_at_ms is None
            else max(0, round((now.at_ms - store.counted_at_ms) / 1000)),
        }
        for task in now.tasks
        for store in task.stores
    ]


def partition_rows(now: Metrics) -> list[dict[str, object]]:
    """Return the topic partitions that an application reads."""
    rows: list[dict[str, object]] = []
    for source in now.sources:
        lag_ms = source.lag_ms(now.at_ms)
        rows.append(
            {
                "topic": source.topic,
                "partition": source.partition,
                "position": source.position,
                "end": source.end,
                "lag_records": source.lag_records,
                "lag_s": None if lag_ms is None else round(lag_ms / 1000, 1),
            }
        )
    return rows


def rates(now: Metrics, before: Metrics | None) -> Callable[[Callable[[Metrics], int]], int | None]:
    """Return a function that computes the rate of a counter in records per second.

    Example:
        >>> first = Metrics("a", "running", "real-time", 1000, records_in=100)
        >>> later = Metrics("a", "running", "real-time", 3000, records_in=500)
        >>> rates(later, first)(lambda one: one.records_in)
        200
        >>> print(rates(first, later)(lambda one: one.records_in))
        None
    """

    def rate(count: Callable[[Metrics], int]) -> int | None:
        if before is None or now.at_ms <= before.at_ms or count(now) < count(before):
            return None
        return round((count(now) - count(before)) * 1000 / (now.at_ms - before.at_ms))

    return rate


def phases(spent_ms: Mapping[str, int]) -> dict[str, int]:
    """Return the durations of an epoch's phases under short names, the longest first.

    Example:
        >>> phases({"addBatch": 70, "walCommit": 8, "commitOffsets": 9, "triggerExecution": 90})
        {'work': 70, 'commit': 17}
    """
    summed: dict[str, int] = {}
    for phase, ms in spent_ms.items():
        if phase in _PHASES:
            summed[_PHASES[phase]] = summed.get(_PHASES[phase], 0) + ms
    return dict(sorted(summed.items(), key=lambda item: -item[1]))


def node_total(of: Metrics, name: str) -> tuple[int, int, int]:
    """Return the numbers of records received, forwarded and dropped by a node, over all tasks."""
    nodes = [node for task in of.tasks for node in task.nodes if node.node == name]
    return (
        sum(node.process_total for node in nodes),
        sum(node.forward_total for node in nodes),
        sum(sum(node.dropped.values()) for node in nodes),
    )


def _come(name: str, of: Metrics) -> int:
    return node_total(of, name)[0]


def _in_order(name: str) -> tuple[int, str]:
    numbers = [int(part) for part in name.split("-") if part.isdigit()]
    return (numbers[0] if numbers else 0, name)


def _ask(address: str) -> list[ApplicationJson]:
    url = f"http://{address}/applications"
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as answer:
            told: list[ApplicationJson] = json.loads(answer.read())
    except (OSError, ValueError) as error:
        raise NotServed(
            f'no application serves metrics at "{address}"',
            detail=str(error),
            hint="Start the application with --metrics HOST:PORT, and use the same address here.",
        ) from error
    return told
