"""Browser tests of the console: one server and one browser for a test run.

The server is started as a user starts it, with `duolog start` on loopback and free ports; only
`test_demo` needs a JVM. The browser is the system's Chromium. All tests of this folder run in one
process (`tests/side_by_side.py`), so that there is one of each. Without Chromium they are skipped.
"""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from console.query_server import QueryConsole
from console.servers import Console
from waiting import wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

ROOT = Path(__file__).parents[2]
AXE = ROOT / "console/node_modules/axe-core/axe.min.js"
TIMEOUT_MS = 60_000
Theme = Literal["light", "dark"]
# Contrast, labels, names, roles: everything of WCAG 2.2 A and AA.
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# The rules whose result depends on colours, and so on the theme.
COLOURS = ["color-contrast", "link-in-text-block"]


def _missing() -> str:
    """Return why a browser cannot be started; empty if it can."""
    if shutil.which("chromium") is None:
        return "no chromium: run scripts/install --browser"
    if not AXE.is_file():
        return "the packages of the console are missing: install Node.js, then run scripts/install"
    return ""


@pytest.fixture(scope="session")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """One server with topics, registry and SQL, for all tests."""
    if reason := _missing():
        pytest.skip(reason)
    with Console(tmp_path_factory.mktemp("console")) as started:
        yield started


@pytest.fixture(scope="session")
def query_console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QueryConsole]:
    """A server whose persistent queries only count: no JVM."""
    if reason := _missing():
        pytest.skip(reason)
    with QueryConsole(tmp_path_factory.mktemp("queries")) as started:
        yield started


@pytest.fixture
def query_page(browser_context: "BrowserContext", query_console: QueryConsole) -> "Page":
    """A page that is logged in to `query_console`."""
    opened = browser_context.new_page()
    opened.goto(query_console.url_with_token)
    opened.get_by_role("navigation", name="Screens").wait_for()
    return opened


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a browser that runs for all tests."""
    if reason := _missing():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("chromium")
    log = folder / "log"
    words = ["--headless=new", "--remote-debugging-port=0", f"--user-data-dir={folder / 'profile'}"]
    # Chromium's own sandbox does not run as root, nor in most containers.
    words += ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    with log.open("wb") as opened:
        process = subprocess.Popen(
            ["chromium", *words], stdout=opened, stderr=opened, start_new_session=True
        )
    try:
        pattern = re.compile(r"DevTools listening on (ws://\S+)")
        yield wait_until(lambda: pattern.findall(log.read_text(errors="replace")), log.read_text)[0]
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator["Browser"]:
    """A connection to the browser, for the tests of a file.

    Each connection starts a process, which takes longer than most tests. Playwright's loop runs as
    long as it is open, so that it must not outlive these tests: `asyncio.run` of another test in
    this process would fail.
    """
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - not needed when skipped

    with sync_playwright() as playwright:
        connected = playwright.chromium.connect_over_cdp(chromium)
        yield connected
        connected.close()


class Errors(list[str]):
    """Reports of a page that there should not be: exceptions, and violations of its policy."""

    def follow(self, page: "Page") -> None:
        page.on("pageerror", lambda error: self.append(f"exception: {error}"))
        page.on("console", self._note)

    def _note(self, message: Any) -> None:
        if "Content Security Policy" in message.text or "[Report Only]" in message.text:
            self.append(f"policy: {message.text}")


@pytest.fixture
def errors() -> Errors:
    return Errors()


@pytest.fixture
def browser_context(browser: "Browser", errors: Errors) -> Iterator["BrowserContext"]:
    """A new profile: no cookies, nothing stored."""
    made = browser.new_context(viewport={"width": 1280, "height": 800}, locale="en-GB")
    made.set_default_timeout(TIMEOUT_MS)
    made.on("page", errors.follow)
    yield made
    made.close()
    assert errors == []


@pytest.fixture
def page(browser_context: "BrowserContext", console: Console) -> "Page":
    """A page that is logged in and shows the start screen."""
    opened = browser_context.new_page()
    opened.goto(console.url_with_token)
    opened.get_by_role("navigation", name="Screens").wait_for()
    return opened


@pytest.fixture(scope="session")
def no_axe_violations() -> Callable[["Page"], None]:
    """Return a function that fails if axe finds something on a page, in light and in dark."""
    script = AXE.read_text()

    def check(page: "Page") -> None:
        # `evaluate` is the debugger's: the policy of the page does not apply to it.
        if not page.evaluate("() => 'axe' in window"):
            page.evaluate(script)
        themes: list[tuple[Theme, list[str]]] = [("light", RULES), ("dark", COLOURS)]
        for theme, only in themes:
            page.emulate_media(color_scheme=theme)
            page.evaluate("() => new Promise((done) => requestAnimationFrame(() => done()))")
            found = page.evaluate(
                "(only) => axe.run(document, { runOnly: only, resultTypes: ['violations'] })", only
            )
            problems = [
                f"{one['id']}: {one['help']}\n"
                + "\n".join(
                    f"    {node['html']}\n    {node['failureSummary']}" for node in one["nodes"]
                )
                for one in found["violations"]
            ]
            assert problems == [], f"axe, {theme}:\n" + "\n".join(problems)
        page.emulate_media(color_scheme=None)

    return check
