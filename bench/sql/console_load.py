"""Long tasks and memory of the console while records arrive at a high rate, in Chromium.

The same records arrive in two screens, one after the other: the rows of a push query in the SQL
screen, and the live records of a topic. `heap_mb` is the heap after a garbage collection: before
the first record, after a sixth of the time, and at the end. `long_tasks_ms` lists the tasks of more
than 50 ms, in wall time: they grow with the `load_average` of the machine. `thread_percent` is the
processor time of the page's main thread as a part of the time. Goals: no task of 100 ms or more; a
heap and a number of DOM nodes that stop growing.

`hostile` has the cost of each step over values that are large or made to deceive
(`hostile_topic.py`).

Run: scripts/bench console_load [--seconds 60] [--per-second 10000]
"""

import argparse
import json
import os
import re
import shutil
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bench.common.results_file import write_result
from bench.sql import hostile_topic
from bench.sql.page_watch import Flood, PageWatch
from playwright.sync_api import sync_playwright

from duolog.runtime.start_process import StartProcess
from duolog.testing import Client

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

TOPIC: Final = "load"
DECLARED: Final = f"""
CREATE STREAM load (id STRING KEY, n BIGINT, note STRING)
  WITH (KAFKA_TOPIC='{TOPIC}', VALUE_FORMAT='JSON', PARTITIONS=1);
"""
_HOSTILE: Final = "hostile"
_TIMEOUT_MS: Final = 120_000
_RECEIVED: Final = "[data-count=received]"
_COUNT: Final = re.compile(r"^([\d,]+) (?:rows|read)")
_MEGA: Final = 1_000_000


def open_query(page: "Page", url: str) -> None:
    """Show the rows of a push query in the SQL screen."""
    page.goto(f"{url}/console/sql")
    page.get_by_role("textbox", name="SQL statements").click()
    page.keyboard.insert_text("SELECT id, n, note FROM load EMIT CHANGES;")
    page.keyboard.press("Control+Enter")
    page.locator(".sql-figures .badge", has_text="running").wait_for()


def open_topic(page: "Page", url: str) -> None:
    """Show the records of the topic as they arrive."""
    page.goto(f"{url}/console/topics/{TOPIC}?live=true")
    page.locator(".badge", has_text="live").wait_for()


SCREENS: Final[dict[str, Callable[["Page", str], None]]] = {
    "sql": open_query,
    "topic": open_topic,
}


def received(page: "Page") -> int:
    """Return the number of rows that the screen has received."""
    found = _COUNT.match(page.locator(_RECEIVED).first.inner_text())
    return int(found[1].replace(",", "")) if found else 0


def measure(page: "Page", bootstrap: str, seconds: int, per_s: int) -> dict[str, Any]:
    """Return the figures of an open screen while records arrive."""
    watch = PageWatch(page)
    memory, thread_ms = [watch.memory()], watch.thread_ms()
    flood = Flood(bootstrap, TOPIC, seconds=seconds, per_s=per_s)
    began = time.monotonic()
    flood.start()
    try:
        page.wait_for_timeout(seconds * 1000 / 6)
        memory.append(watch.memory())
        while flood.is_alive():
            page.wait_for_timeout(500)
        at_end = received(page)
        while received(page) < flood.written and time.monotonic() - began < seconds + 60:
            page.wait_for_timeout(100)
        behind_s = time.monotonic() - began - seconds
    finally:
        flood.stop()
    spent_ms = watch.thread_ms() - thread_ms
    memory.append(watch.memory())
    return {
        "written": flood.written,
        "received_at_end": at_end,
        "received": received(page),
        "behind_s": round(behind_s, 1),
        "late_s": round(flood.late_s, 2),
        "load_average": round(os.getloadavg()[0], 1),
        "thread_percent": round(spent_ms / (10 * seconds), 1),
        "long_tasks_ms": sorted(watch.long_tasks_ms(), reverse=True),
        "heap_mb": [round(one.heap_bytes / _MEGA, 1) for one in memory],
        "nodes": [one.nodes for one in memory],
    }


def prepare(server: StartProcess, token: str) -> None:
    """Create the stream of the load, and the topic and table with hostile values."""
    bytes_max = {"max.message.bytes": str(hostile_topic.MESSAGE_BYTES_MAX)}
    for name, records in (
        (_HOSTILE, hostile_topic.RECORDS),
        (hostile_topic.TABLE, hostile_topic.ROWS),
    ):
        Client(server.bootstrap_servers).create_topic(name, configs=bytes_max)
        hostile_topic.write(server.bootstrap_servers, name, records)
    statements = DECLARED + hostile_topic.DECLARED
    body = json.dumps({"ksql": statements, "streamsProperties": {}}).encode()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{server.url}/ksql", body, headers)  # noqa: S310 - loopback
    urllib.request.urlopen(request, timeout=60).close()  # noqa: S310 - loopback


def measure_hostile(page: "Page", url: str) -> dict[str, Any]:
    """Return the cost of each step over hostile values."""
    page.goto(f"{url}/console/topics/{_HOSTILE}")
    page.get_by_role("table").get_by_text("big", exact=True).wait_for()
    found = hostile_topic.walk(page, PageWatch(page), hostile_topic.topic_steps(page))
    page.goto(f"{url}/console/sql")
    page.get_by_role("textbox", name="SQL statements").click()
    page.keyboard.insert_text(hostile_topic.QUERY)
    found |= hostile_topic.walk(page, PageWatch(page), hostile_topic.table_steps(page))
    return {name: cost._asdict() for name, cost in found.items()}


def measure_all(
    browser: "Browser", server: StartProcess, token: str, seconds: int, per_s: int
) -> dict[str, Any]:
    """Return the figures of all screens, each in a new profile."""
    figures: dict[str, Any] = {}
    for name in (*SCREENS, "hostile"):
        page = browser.new_page()
        page.set_default_timeout(_TIMEOUT_MS)
        page.goto(f"{server.url}/console#token={token}")
        page.get_by_role("navigation", name="Screens").wait_for()
        if name == "hostile":
            figures["hostile"] = measure_hostile(page, server.url)
        else:
            SCREENS[name](page, server.url)
            figures[name] = measure(page, server.bootstrap_servers, seconds, per_s)
        page.close()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--per-second", type=int, default=10_000)
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        StartProcess(Path(folder) / "data") as server,
        sync_playwright() as playwright,
    ):
        token = (server.data_dir / "server/console-token").read_text().strip()
        prepare(server, token)
        chromium = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        version = browser.version
        figures = measure_all(browser, server, token, given.seconds, given.per_second)
        browser.close()
    write_result(
        "console_load",
        {"seconds": given.seconds, "per_second": given.per_second, "chromium": version, **figures},
    )


if __name__ == "__main__":
    main()
