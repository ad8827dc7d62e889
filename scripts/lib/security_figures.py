"""Generate the sections about encryption, quotas and rules of the page of figures."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

RESULTS: Final = Path(__file__).parents[2] / "bench/results"

ENCRYPTION: Final = """\
One librdkafka client on the same machine writes and reads records of 10 KiB. Both brokers run in
turns. Figures are medians, and a ratio is the median of the ratios of all rounds. The rate of
handshakes is bound by the one client, so the goal is for a second of the broker's processor
time."""
_ROWS: Final = {
    "produce_mb_per_s": "produce, MB/s",
    "fetch_mb_per_s": "fetch, MB/s",
    "produce_cpu_ms_per_mb": "produce, broker's CPU ms per MB",
    "fetch_cpu_ms_per_mb": "fetch, broker's CPU ms per MB",
    "handshakes_per_s": "handshakes/s",
    "handshakes_per_cpu_s": "handshakes per CPU second of the broker",
}
_GOALS_BESIDE_KAFKA: Final = {"produce_mb_per_s": 0.9, "fetch_mb_per_s": 0.7}
_GOALS: Final = {"handshakes_per_cpu_s": 1000}


COST: Final = """\
A librdkafka client writes and reads records of 10 KiB, and writes records of 100 bytes with a
request for each. Three brokers run in turns: without quotas, with a quota of each kind that
throttles no client, and with access rules as well. Ratios are medians of those of the rounds."""
_COSTS: Final = {
    "produce_mb_per_s": "produce, MB/s",
    "fetch_mb_per_s": "fetch, MB/s",
    "small_requests_per_s": "small requests/s",
    "small_cpu_us_per_request": "broker's CPU µs per small request",
}


def cost_section() -> list[str]:
    """Return the section about quotas and rules, or nothing if they were not measured."""
    path = RESULTS / "quotas.json"
    if not path.exists():
        return []
    kept: dict[str, Any] = json.loads(path.read_text())
    goal = kept["goal_ratio"]
    head = (
        "| what | neither | quotas | quotas and rules | ratio of quotas | ratio of both | goal "
        "| reached |\n|---|---|---|---|---|---|---|---|"
    )
    lines = [head]
    for name, what in _COSTS.items():
        figures = [kept[f"{side}_{name}"] for side in ("neither", "quotas", "quotas_and_rules")]
        ratios = [kept[f"ratio_{side}_{name}"] for side in ("quotas", "quotas_and_rules")]
        judged = ("", "")
        if name.endswith("_per_s"):
            judged = (f"≥ {goal}", "yes" if min(ratios) >= goal else "no")
        cells = [*map(_number, (*figures, *ratios)), *judged]
        lines.append(f"| {what} | {' | '.join(cells)} |")
    told = f"{kept['rounds']} rounds. Run: `{kept['command']}`."
    return ["## Quotas and access rules", COST, "\n".join(lines), told]


def encryption_section() -> list[str]:
    """Return the section, or nothing if TLS was not measured."""
    path = RESULTS / "tls.json"
    if not path.exists():
        return []
    kept: dict[str, Any] = json.loads(path.read_text())
    head = (
        "| what | Duolog, plaintext | Kafka, plaintext | Duolog, TLS | Kafka, TLS | ratio with TLS "
        "| goal | reached |\n|---|---|---|---|---|---|---|---|"
    )
    return [
        "## Encryption",
        ENCRYPTION,
        "\n".join((head, *_lines(kept))),
        f"{kept['rounds']} rounds of {kept['mebibytes']} MiB. Run: `{kept['command']}`.",
    ]


def _lines(kept: dict[str, Any]) -> Iterator[str]:
    for name, what in _ROWS.items():
        cells = [
            kept.get(f"{side}_{name}")
            for side in ("duolog_plaintext", "kafka_plaintext", "duolog_tls", "kafka_tls")
        ]
        ratio = kept.get(f"tls_ratio_{name}")
        goal, found = _goal(name, kept, ratio)
        reached = "" if goal is None else "yes" if found >= goal else "no"
        shown = [*map(_number, cells), _number(ratio), f"≥ {goal:,}" if goal else "", reached]
        yield f"| {what} | {' | '.join(shown)} |"


def _goal(name: str, kept: dict[str, Any], ratio: float | None) -> tuple[float | None, float]:
    if name in _GOALS_BESIDE_KAFKA:
        assert ratio is not None
        return _GOALS_BESIDE_KAFKA[name], ratio
    return _GOALS.get(name), kept[f"duolog_tls_{name}"]


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
