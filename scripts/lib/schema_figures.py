"""Generate the sections about schemas of the page of figures, from `bench/results/`."""

import json
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

RESULTS: Final = Path(__file__).parents[2] / "bench/results"

FORMATS: Final = """\
The same orders of eight columns go through one topology in each format, and in Avro also through
Kafka Streams 4.1.2, in turns. Confluent's serializers are not available to this benchmark: Kafka
Streams uses a serde on Apache Avro that writes the same bytes. The results of all runs are decoded
and compared with those of plain Python. Rates are those of all micro-batches but the first. A ratio
is of two rates of one round; the table shows median [minimum…maximum]. The aggregate misses its
goals relative to JSON: an order takes 3.8 µs in JSON and 3.4 µs in Avro, and most of that is state
and results. The goal needs a difference of 0.9 µs, but reading and writing orders in the first
topology differ by 0.8 µs together."""
REGISTRY: Final = """\
The registry runs on one core; its broker, with fsync, and the client on another one. A client has
one request in flight. Karapace was not run: it cannot be installed next to this benchmark."""
_TOPOLOGIES: Final = {
    "stateless": "filter, all columns and a computed one",
    "aggregate": "count and two sums by key, 100,000 keys",
}
_SIZES: Final = {"equal": "values of one size", "varied": "values of any size"}
_LOOK_UPS: Final = {
    "by_id": "look-ups by id",
    "by_version": "look-ups of the latest version",
    "by_schema": "look-ups by schema",
}


def schema_sections() -> list[str]:
    """Return the sections, without the parts that were not measured."""
    parts: list[str] = []
    formats = [line for row in _TOPOLOGIES for line in _formats(row)]
    if formats:
        head = (
            "| topology | values | orders/s | bytes an order | ratio to JSON | goal | reached |\n"
            "|---|---|---|---|---|---|---|"
        )
        parts += ["## Formats with schemas", FORMATS, "\n".join((head, *formats))]
        parts.append("Run: `scripts/bench schema_formats`.")
    registry = [*_registry(), *_checks(), *_impact()]
    if registry:
        head = "| what | figure | result | goal | reached |\n|---|---|---|---|---|"
        parts += ["## Schema registry", REGISTRY, "\n".join((head, *registry))]
        parts.append(
            "Run: `scripts/bench registry`, `scripts/bench schema_checks` and "
            "`scripts/bench schema_impact`."
        )
    return parts


def _kept(name: str) -> dict[str, Any] | None:
    path = RESULTS / f"{name}.json"
    found: dict[str, Any] | None = json.loads(path.read_text()) if path.exists() else None
    return found


def _formats(row: str) -> Iterator[str]:
    kept = _kept(f"schema_formats_{row}")
    if kept is None:
        return
    title = _TOPOLOGIES[row]
    for name, runs in kept["runs"].items():
        beside = kept["beside_json"].get(name)
        goal = kept["goals_beside_json"].get(name)
        yield _line(
            title,
            name if name in kept["bytes_per_order"] else "AVRO in Kafka Streams",
            _rate(statistics.median(run["events_per_second"] for run in runs)),
            str(kept["bytes_per_order"].get(name, kept["bytes_per_order"].get("AVRO", ""))),
            _ratio(beside),
            f"≥ {goal}" if goal else "",
            _reached(at_least=goal, found=beside["ratio_median"]) if goal and beside else "",
        )
        title = ""
    beside = kept["avro_beside_kafka_streams"]
    if beside is not None:
        goal = kept["goal_beside_kafka_streams"]
        reached = _reached(at_least=goal, found=beside["ratio_median"])
        yield _line(
            "", "AVRO, Duolog / Kafka Streams", "", "", _ratio(beside), f"≥ {goal}", reached
        )


def _registry() -> Iterator[str]:
    kept = _kept("registry")
    if kept is None:
        return
    goals, start, loading = kept["goals"], kept["start"], kept["loading"]
    subjects = f"{kept['subjects']:,} subjects"
    yield _most("start to first answer", "s", start["seconds_median"], goals["start_s"])
    yield _most("resident memory, idle", "MB", start["resident_mb_max"], goals["idle_mb"])
    yield _most(
        f"start to first answer, {subjects}", "s", loading["seconds_median"], goals["loading_s"]
    )
    yield _most(
        f"resident memory, {subjects}", "MB", loading["resident_mb_max"], goals["loaded_mb"]
    )
    for clients in (1, 50):
        said = f"{clients} client{'s' if clients > 1 else ''}"
        for kind, title in _LOOK_UPS.items():
            yield _load(f"{title}, {said}", kept[f"look_ups_{clients}"][kind])
        yield _load(f"registrations of new schemas, {said}", kept[f"registrations_{clients}"])
    races = kept["one_id"]
    what = f"{races['clients']} clients register one schema, {races['races']} times"
    yield _line(what, "ids for each schema", "1", "1", "yes")


def _checks() -> Iterator[str]:
    kept = _kept("schema_checks")
    for row in kept["rows"] if kept else ():
        assert kept is not None
        goal, ratio = kept["goal_ratio"], row["ratio"]
        sizes = _SIZES[row["sizes"]]
        yield _line(
            f"produce with checked schema ids, compression {row['codec']}, {sizes}",
            "ratio to unchecked",
            f"{ratio:.2f} [{row['ratio_min']:.2f}…{row['ratio_max']:.2f}]",
            f"≥ {goal}",
            _reached(at_least=goal, found=ratio),
        )


def _impact() -> Iterator[str]:
    kept = _kept("schema_impact")
    if kept is None:
        return
    what = f"impact of a schema, {kept['subjects']:,} subjects"
    yield _most(f"{what}, by HTTP", "s", kept["median_s"], kept["goal_s"])
    yield _line(f"{what}, first answer", "s", f"{kept['first_s']:.3g}", "", "")
    yield _most(
        f"`duolog schema impact`, {kept['subjects']:,} subjects",
        "s",
        kept["command_median_s"],
        kept["goal_s"],
    )


def _load(what: str, found: dict[str, float]) -> str:
    rate = _rate(found["requests_per_s"])
    shown = f"{rate}; {found['p50_ms']:.3g} ms; {found['p99_ms']:.3g} ms"
    return _line(what, "requests/s; p50; p99", shown, "", "")


def _most(what: str, unit: str, found: float, goal: float) -> str:
    return _line(what, unit, f"{found:.3g}", f"≤ {goal:g}", "yes" if found <= goal else "no")


def _reached(*, at_least: float, found: float) -> str:
    return "yes" if found >= at_least else "no"


def _ratio(found: dict[str, Any] | None) -> str:
    if found is None:
        return ""
    low, high = found["ratio_min_max"]
    return f"{found['ratio_median']:.2f} [{low:.2f}…{high:.2f}]"


def _rate(value: float) -> str:
    return f"{value:,.0f}"


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
