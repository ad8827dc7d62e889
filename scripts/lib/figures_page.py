"""The page of figures, written from what `bench/results/` keeps of the two brokers."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

RESULTS: Final = Path(__file__).parents[2] / "bench/results"

INTRO: Final = """\
Duolog's broker beside Apache Kafka 4.1.2 (KRaft, one node, 1 GB of heap, the options of its own
start script) on one machine, in turns: Duolog, Kafka, Duolog, Kafka, after rounds that are not
counted. A ratio is Duolog / Kafka of one round; given are median [least…most]. Both sides run with
their defaults but for what a row says. p50 and p99 are times from request to answer.

Durability: "none" leaves it to the operating system, as Kafka does by default; "fsync" is Duolog's
default, an acknowledged record is on the disk; "flush" is Kafka with `flush.messages=1`.

`raw` loads come from `bench/broker/load`, requests as bytes from one thread without a client library, so
that the figure is the broker's. Of Java's client and librdkafka the client is the limit on two
cores: there 0.95 counts as equal, and the broker's CPU time for each record says more."""
LIMITS: Final = """\
- Java's producer: the client and the broker share two cores, and the client takes 1.6 of them; the
  broker is busy for a quarter of one. Its p99 is the time in its own buffer of 32 MB, which is full
  all the time, so it follows from the rate.
- librdkafka: the client, in Python, is the limit; the broker's CPU time for each record is half of
  Kafka's or less.
- 216 KB batches: writing to the page cache, and the disk when more is dirty than the system lets be;
  hence the spread.
- fsync against none with batches of 100 records, and 1 x 1: the disk's own sync, 0.12 ms at best.
- 1 x 1 and 32 x 1: a wake-up of both sides for each request; about 10 µs of it are Python.
- Fetches: the kernel's copying to the socket. Connections from this machine are not paced by bbr (see
  docs/adr/0015-use-raw-epoll-in-a-single-process.md), which Kafka's are, as bbr is this system's default.
- 4 x 64 with fsync over 500 partitions has an absolute goal: p99 of 20 ms or less."""
ROWS_HEAD: Final = (
    "| work | durability: Duolog, Kafka | figure | Duolog | Kafka | ratio | goal | reached |\n"
    "|---|---|---|---|---|---|---|---|"
)
_DURABILITY: Final = {
    "left to the system": "none",
    "fsync before acknowledgement": "fsync",
    "flush.messages=1": "flush",
}
_FIGURES: Final = {
    "records_per_s": "records/s",
    "fetch_records_per_s": "records/s",
    "requests_per_s": "requests/s",
    "mb_per_s": "MB/s",
    "p50_ms": "p50 ms",
    "p99_ms": "p99 ms",
    "delivery_p50_ms": "p50 ms to the consumer",
    "delivery_p99_ms": "p99 ms to the consumer",
    "broker_cpu_us_per_record": "broker CPU µs/record",
    "broker_resident_mb": "broker resident MB",
    "seconds": "s",
    "idle_mb": "MB idle",
    "idle_percent_of_core": "% of a core, idle",
    "after_one_record_batches_mb": "MB after batches of one record",
    "after_large_batches_mb": "MB after batches of 216 KB",
    "warm_seconds": "s, warm cache",
    "cold_seconds": "s, cold cache",
}
_ALWAYS: Final = ("p50_ms", "p99_ms", "broker_cpu_us_per_record")
_LIFE: Final = {
    "start_empty": ("start to first acknowledged produce, empty", {"seconds": 0.5}),
    "start_1000": ("start to first acknowledged produce, 1,000 partitions", {"seconds": 1.5}),
    "memory": (
        "memory with 1,000 partitions",
        {"idle_mb": 60.0, "after_one_record_batches_mb": 150.0, "after_large_batches_mb": 150.0},
    ),
    "memory_256": ("memory with 1,000 partitions, Kafka with 256 MB of heap", {}),
    "recovery_1": ("kill -9 to first acknowledged produce, one partition of 10 GB",
                   {"warm_seconds": 3.0}),
    "recovery_1000": ("kill -9 to first acknowledged produce, 1,000 partitions of 10 MB",
                      {"warm_seconds": 3.0}),
}  # fmt: skip
_CURVES: Final = {
    "partitions": "Partitions: 4 connections x 64 in flight, one 100-byte record a batch, spread",
    "connections": "Connections: one request in flight on each, one 100-byte record a batch",
    "record_bytes": "Record size in bytes: 4 connections x 5 in flight, one record a batch",
}


def figures_page() -> str:
    """Return the page; parts that were not measured are left out."""
    parts = ["# Figures of the broker", INTRO]
    broker, life, growth = (_rows(name) for name in ("broker", "broker_life", "broker_growth"))
    if broker:
        parts += ["## Produce, fetch, latency, fsync", _machine("broker")]
        parts += ["\n".join((ROWS_HEAD, *_lines(broker))), "### What each row does", _loads(broker)]
        parts += ["### What is the limit", LIMITS]
    if life:
        parts += ["## Start, memory, recovery", "\n".join(_life_lines(life))]
        parts.append("Run: `scripts/bench broker_life`.")
    for curve, title in _CURVES.items():
        points = [row for row in growth.values() if row["curve"] == curve]
        if points:
            parts += [f"## Growth. {title}", "\n".join(_growth_lines(points))]
    if growth:
        parts.append("Nothing is synced on either side. Run: `scripts/bench broker_growth`.")
    return "\n\n".join(parts)


def _rows(name: str) -> dict[str, Any]:
    path = RESULTS / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text())["rows"] if path.exists() else {}
    return found


def _machine(name: str) -> str:
    machine = json.loads((RESULTS / f"{name}.json").read_text())["machine"]
    return (
        f"On {machine['cores']} cores, {machine['memory_gib']} GiB, Linux {machine['kernel']}, "
        f"Python {machine['python']}. Run: `scripts/bench broker --rounds 5`."
    )


def _lines(rows: dict[str, Any]) -> Iterator[str]:
    for row in rows.values():
        goals = {goal["figure"]: goal for goal in row["goals"]}
        names = [*goals, *(name for name in _ALWAYS if name not in goals and name in row["duolog"])]
        if not goals:
            names.insert(0, "requests_per_s")
        work, durability = row["work"], ", ".join(_DURABILITY[said] for said in row["durability"])
        for name in names:
            goal = goals.get(name)
            yield _line(
                work,
                durability,
                _FIGURES[name],
                _of(row["duolog"][name]),
                _of(row["kafka"][name]),
                _spread(row["ratios"].get(name)),
                f"{'≤' if goal['less'] else '≥'} {goal['ratio']}" if goal else "",
                _reached(goal, row["ratios"][name]["median"]) if goal else "",
            )
            work = durability = ""


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _reached(goal: dict[str, Any], ratio: float) -> str:
    good = ratio <= goal["ratio"] if goal["less"] else ratio >= goal["ratio"]
    return "yes" if good else "no"


def _of(found: dict[str, float]) -> str:
    return _number(found["median"])


def _spread(found: dict[str, float] | None) -> str:
    if found is None:
        return ""
    median, least, most = (_short(found[name]) for name in ("median", "min", "max"))
    return f"{median} [{least}…{most}]"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else _short(value)


def _short(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def _loads(rows: dict[str, Any]) -> str:
    lines = [
        _line("row", "work", "load", "rounds", "measured", "commit"),
        "|---|---|---|---|---|---|",
    ]
    lines += [
        _line(
            f"`{name}`",
            row["work"],
            row["load"],
            str(row["rounds"]),
            row["measured_at"][:16].replace("T", " "),
            row["commit"],
        )
        for name, row in rows.items()
    ]
    return "\n".join(lines) + "\n\nOne row alone: `scripts/bench broker --rows NAME`."


def _life_lines(rows: dict[str, Any]) -> Iterator[str]:
    yield _line("what", "figure", "Duolog", "Kafka", "goal", "reached", "rounds")
    yield "|---|---|---|---|---|---|---|"
    for name, (what, goals) in _LIFE.items():
        row = rows.get(name)
        if row is None:
            continue
        title = what
        for figure in next(row[side] for side in ("duolog", "kafka") if side in row):
            ours, theirs = (
                _spread(row[side][figure]) if side in row else "" for side in ("duolog", "kafka")
            )
            goal = goals.get(figure)
            reached = ""
            if goal is not None:
                reached = "yes" if row["duolog"][figure]["median"] <= goal else "no"
            said = f"≤ {goal:g}" if goal is not None else ""
            yield _line(title, _FIGURES[figure], ours, theirs, said, reached, str(row["rounds"]))
            title = ""


def _growth_lines(points: list[dict[str, Any]]) -> Iterator[str]:
    yield "| | requests/s Duolog | Kafka | ratio | p99 ms Duolog | Kafka |"
    yield "|---|---|---|---|---|---|"
    for row in sorted(points, key=lambda row: int(row["size"])):
        ours, theirs = row["duolog"], row["kafka"]
        yield _line(
            f"{row['size']:,}",
            _of(ours["requests_per_s"]),
            _of(theirs["requests_per_s"]),
            _spread(row["ratios"]["requests_per_s"]),
            _of(ours["p99_ms"]),
            _of(theirs["p99_ms"]),
        )
