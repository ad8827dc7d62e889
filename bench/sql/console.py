"""Time until the console is painted and can be used, with a new profile and with a full cache.

`paint_ms` is the first contentful paint. `interactive_ms` is the time until the overview has its
figures and its buttons answer: from the start of the navigation, without the login. Both are
measured in Chromium on the machine of the server. `first_load_kib` is what the browser receives.

Run: scripts/bench console [--rounds 10]
"""

import argparse
import json
import shutil
import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bench.common.results_file import write_result
from playwright.sync_api import sync_playwright

from duolog.runtime.start_process import StartProcess

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext

_READY: Final = "main section h2, main .numbers .big"
"""The first steps, or the figures of the overview."""
_MEASURE: Final = """() => {
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  const files = performance.getEntriesByType("resource").filter(
    (one) => one.name.includes("/console/"));
  const [page] = performance.getEntriesByType("navigation");
  return {
    paint_ms: paint.startTime,
    bytes: page.transferSize + files.reduce((sum, one) => sum + one.transferSize, 0),
    long_tasks_ms: window.longTasks,
  };
}"""
_WATCH: Final = """
window.longTasks = [];
new PerformanceObserver((list) => {
  for (const one of list.getEntries()) window.longTasks.push(Math.round(one.duration));
}).observe({ type: "longtask", buffered: true });
new MutationObserver((_, observer) => {
  if (!document.querySelector(SELECTOR)) return;
  document.documentElement.dataset.readyAt = performance.now();
  observer.disconnect();
}).observe(document, { childList: true, subtree: true });
"""


def opened(context: "BrowserContext", url: str) -> dict[str, Any]:
    """Open a tab; return the figures of its load."""
    page = context.new_page()
    page.add_init_script(_WATCH.replace("SELECTOR", json.dumps(_READY)))
    page.goto(url)
    # Not `wait_for_function`, which evaluates texts: the policy of the page forbids that.
    page.locator("html[data-ready-at]").wait_for(state="attached")
    found: dict[str, Any] = page.evaluate(_MEASURE)
    found["interactive_ms"] = float(page.locator("html").get_attribute("data-ready-at") or "nan")
    page.close()
    return found


def measure(browser: "Browser", url: str, token: str, rounds: int) -> dict[str, Any]:
    """Return the figures of loads with an empty cache, and of second loads."""
    runs: dict[str, list[dict[str, Any]]] = {"first": [], "second": []}
    for _ in range(rounds):
        context = browser.new_context()
        # The cookie without the page, so that no file of it is in the cache.
        login = context.request.post(
            f"{url}/session", headers={"Authorization": f"Bearer {token}", "Origin": url}
        )
        assert login.ok, login.status
        for found in runs.values():
            found.append(opened(context, f"{url}/console"))
        context.close()
    return {name: summary(found) for name, found in runs.items()}


def summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return medians and maxima of some loads."""
    times = {
        name: {
            "median": round(statistics.median(run[name] for run in runs)),
            "max": round(max(run[name] for run in runs)),
        }
        for name in ("paint_ms", "interactive_ms")
    }
    return {
        **times,
        "received_kib": round(max(run["bytes"] for run in runs) / 1024, 1),
        "longest_task_ms": max((task for run in runs for task in run["long_tasks_ms"]), default=0),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args().rounds
    with (
        tempfile.TemporaryDirectory() as folder,
        StartProcess(Path(folder) / "data") as server,
        sync_playwright() as playwright,
    ):
        token = (server.data_dir / "server/console-token").read_text().strip()
        chromium = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        version = browser.version
        figures = measure(browser, server.url, token, rounds)
        browser.close()
    write_result("console", {"rounds": rounds, "chromium": version, **figures})


if __name__ == "__main__":
    main()
