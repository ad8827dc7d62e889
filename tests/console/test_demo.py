"""The flights demo from the first screen: a stream's rows arrive, and a table's count grows."""

import re
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from console.servers import Console
from waiting import wait_until

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

SLOW_MS = 240_000
"""A busy machine starts a JVM, and writes two thirds of a year."""
COUNTS = "SELECT CARRIER, FLIGHTS FROM BY_AIRLINE EMIT CHANGES;"


def run(page: "Page", url: str, sql: str) -> None:
    """Run one statement in the SQL screen of a new document."""
    page.goto(f"{url}/sql")
    editor = page.get_by_role("textbox", name="SQL statements")
    editor.click()
    page.keyboard.press("Control+a")
    page.keyboard.press("Backspace")
    page.keyboard.insert_text(sql)
    page.get_by_role("button", name="Run", exact=True).click()


def received(page: "Page") -> int:
    """Return the number of rows that the query has received."""
    text = page.locator("[data-count=received]").inner_text()
    return int(text.split()[0].replace(",", ""))


def flights_of(page: "Page", carrier: str) -> int:
    """Return the largest count of a carrier among the rows; 0 before there is one."""
    cells = page.locator(".sql-grid td").all_inner_texts()
    return max((int(n) for name, n in pairwise(cells) if name == carrier), default=0)


def test_a_new_user_loads_the_demo_and_sees_it_move_also_after_a_restart(
    tmp_path: Path, browser_context: "BrowserContext"
) -> None:
    browser_context.set_default_timeout(SLOW_MS)
    with Console(tmp_path) as server:
        page = browser_context.new_page()
        page.goto(server.url_with_token)
        page.locator("button:not([aria-disabled])", has_text="Load the flights demo").click()

        panel = page.get_by_role("region", name="Flights demo")
        panel.get_by_text(re.compile(r"of 336,776 flights")).wait_for()
        panel.get_by_text("Flights are arriving live").wait_for()
        page.goto(f"{server.url}/streams/FLIGHTS")
        page.get_by_role("link", name="Follow changes").click()
        page.get_by_role("button", name="Run", exact=True).click()
        page.get_by_role("cell", name="UA", exact=True).first.wait_for()
        before = received(page)
        wait_until(lambda: received(page) > before, "more flights arrive")

        run(page, server.url, COUNTS)
        page.get_by_role("cell", name="UA", exact=True).first.wait_for()
        count = flights_of(page, "UA")
        assert count > 0
        wait_until(lambda: flights_of(page, "UA") > count, "the count of UA grows")

    with Console(tmp_path) as server:
        page.goto(server.url_with_token)
        panel = page.get_by_role("region", name="Flights demo")
        panel.get_by_text("The flights demo stopped with the server").wait_for()
        panel.get_by_role("button", name="Continue the demo").click()
        panel.get_by_text("Flights are arriving live").wait_for()
        run(page, server.url, COUNTS)
        page.get_by_role("cell", name="UA", exact=True).first.wait_for()
        assert flights_of(page, "UA") > count
