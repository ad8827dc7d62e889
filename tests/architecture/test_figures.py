"""The figures in README.md and docs/reference/performance.md are those in bench/results."""

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def result(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / "bench" / "results" / f"{name}.json").read_text())
    return found


def figures() -> str:
    return (ROOT / "docs/reference/performance.md").read_text()


def reasons() -> str:
    """Return the README's reasons to use Duolog as one line."""
    readme = (ROOT / "README.md").read_text()
    return " ".join(readme.split("## Why Duolog", 1)[1].split("\n## ", 1)[0].split())


def test_the_rate_and_its_ratio_are_those_of_the_last_measurement() -> None:
    kept = result("throughput")
    rates = sorted(int(run["events_per_second"]) for run in kept["duolog"])

    assert f"{round(rates[len(rates) // 2], -3):,} events/s" in figures()
    assert f"{kept['ratio_median']} times Kafka Streams" in figures()
    assert f"{kept['events']:,} flights" in figures()


def test_latency_and_stall_are_those_of_the_last_measurement() -> None:
    kept = result("latency")

    assert f"p50 {kept['all']['p50_ms']:.0f} ms, p99 {kept['all']['p99_ms']:.0f} ms" in figures()
    assert f"| {max(kept['longest_stall_ms'], kept['all']['max_ms']) / 1000:.1f} s |" in figures()
    assert f"{kept['rate']:.0f} events/s, epochs of {kept['epoch_s']} s" in figures()


def test_start_and_memory_are_those_of_the_last_measurement() -> None:
    kept = result("start")
    demos = kept["demo_warm"]
    first_row_s = max(demo["seconds_to_first_row"] for demo in demos)
    broker_mb = max(demo["resident_mb_max_by_process"]["broker"] for demo in demos)
    whole_gb = max(demo["resident_mb_max"] for demo in demos) / 1000

    assert f"| {first_row_s:.0f} s, on" in figures()
    assert f"| {result('cold_start')['seconds_to_first_row']:.0f} s, on" in figures()
    assert f"{kept['broker_first_acknowledged_produce_s']['median']:.2f} s" in figures()
    assert f"{broker_mb} MB, {whole_gb:.1f} GB" in figures()


def test_the_comparison_with_kafka_is_the_latest_measurement() -> None:
    rows = result("broker")["rows"]
    life = result("broker_life")["rows"]["memory"]
    java, large, deep, usual, synced = (
        rows[name]["ratios"][figure]["median"]
        for name, figure in (
            ("java_none", "records_per_s"),
            ("java_large_none", "records_per_s"),
            ("raw_4x64", "requests_per_s"),
            ("raw_4x5", "requests_per_s"),
            ("fsync_1x1", "requests_per_s"),
        )
    )
    paced = rows["paced"]
    ours, theirs = (life[side]["idle_mb"]["median"] for side in ("duolog", "kafka"))

    assert f"{java:.2f} and {large:.2f} times Kafka |" in figures()
    assert f"{deep:.1f} and {usual:.1f} times Kafka |" in figures()
    assert f"{synced:.2f} times Kafka |" in figures()
    delivered_ms = paced["duolog"]["delivery_p99_ms"]["median"]
    slower = paced["ratios"]["delivery_p99_ms"]["median"]
    assert f"{delivered_ms:.2f} ms, {slower:.2f} times Kafka's" in figures()
    assert f"{ours:.0f} MB, Kafka {theirs:.0f} MB" in figures()


def test_the_readme_gives_the_last_figures_of_speed_and_size() -> None:
    fsync = result("broker")["rows"]["fsync_1x1"]["ratios"]["requests_per_s"]["median"]
    memory = result("broker_life")["rows"]["memory"]
    ours, theirs = (memory[side]["idle_mb"]["median"] for side in ("duolog", "kafka"))
    start_s = result("start")["broker_first_acknowledged_produce_s"]["median"]

    assert f"[{fsync:.2f} times the requests]" in reasons()
    assert f"[{result('throughput')['ratio_median']} times the rate]" in reasons()
    assert f"after {result('latency')['all']['p50_ms']:.0f} ms (p50)" in reasons()
    assert f"starts in [{start_s:.2f} s]" in reasons()
    assert f"takes {ours:.0f} MB with 1,000 idle partitions" in reasons()
    assert f"Kafka takes {theirs:.0f} MB" in reasons()


def test_the_readme_counts_the_kills_of_exactly_once_campaigns() -> None:
    campaigns = [
        campaign
        for campaign in result("kills")["campaigns"]
        if campaign["guarantee"] == "exactly_once_v2"
    ]

    assert f"[{sum(sum(c['kills'].values()) for c in campaigns)} kills]" in reasons()
    assert [c["anomalies"] for c in campaigns if c["anomalies"]] == []


def test_the_readme_counts_the_tests_of_clients() -> None:
    page = (ROOT / "docs/reference/compatibility.md").read_text()
    clients, _, _ = page.partition("## Projects")
    rows = re.findall(
        r"^\| .+ \| (\d+) \| (\d+)(?: \(\d+ expected\))? \| \d+ \| `", clients, re.MULTILINE
    )
    passed, failed = (sum(int(row[place]) for row in rows) for place in (0, 1))

    assert f"[{passed} tests of seven clients pass]" in reasons()
    assert len(rows) == 7
    assert f"each of the {failed} that fail is explained" in reasons()


def test_the_broker_for_tests_is_the_latest_measurement() -> None:
    kept = result("pytest_plugin")["duolog"]
    start_s, memory_mb = kept["broker_start_s"]["median"], kept["broker_resident_mb"]

    assert f"| {start_s:.2f} s, {memory_mb:.0f} MB | `scripts/bench pytest_plugin`" in figures()
    assert f"| {kept['isolated_tests_s']:.0f} s; {kept['round_trips_s']:.0f} s |" in figures()


def test_the_first_load_of_the_console_is_the_latest_measurement() -> None:
    kept = result("console")["first"]
    paint, ready = (kept[name]["median"] for name in ("paint_ms", "interactive_ms"))

    row = f"| {paint} ms; {ready} ms; {kept['received_kib']:.0f} KiB | `scripts/bench console` |"
    assert row in figures()


def test_the_console_under_load_is_the_latest_measurement() -> None:
    kept = result("console_load")
    sql, topic = kept["sql"], kept["topic"]
    spent = " and ".join(f"{one['thread_percent']} %" for one in (sql, topic))
    heap = " and ".join(f"{one['heap_mb'][1]} to {one['heap_mb'][2]} MB" for one in (sql, topic))
    longest = " and ".join(str(max(one["long_tasks_ms"], default=0)) for one in (sql, topic))
    big_ms = kept["hostile"]["big, all"]["thread_ms"]

    assert f"| {spent} of a core; {heap} | `scripts/bench console_load` |" in figures()
    assert f"| {longest} ms; {big_ms} ms | `scripts/bench console_load` |" in figures()
