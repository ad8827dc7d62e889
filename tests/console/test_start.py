"""The start screen and the shell around it, in a browser."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from console.servers import Console

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page, Route


def test_the_printed_address_opens_the_console_and_its_token_leaves_the_address(
    page: "Page", console: Console, browser_context: "BrowserContext"
) -> None:
    page.get_by_role("heading", name="Overview", level=1).wait_for()

    assert page.url == console.url
    (cookie,) = browser_context.cookies()
    assert cookie["name"].startswith("duolog_session_")
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert console.token not in cookie["value"]


def test_the_consoles_of_two_servers_of_one_host_are_open_in_one_browser(
    page: "Page", query_page: "Page", browser_context: "BrowserContext"
) -> None:
    for opened in (page, query_page):
        opened.reload()
        opened.get_by_role("heading", name="Overview", level=1).wait_for()
    assert len(browser_context.cookies()) == 2

    query_page.get_by_role("button", name="Log out").click()

    query_page.get_by_role("heading", name="Open the console").wait_for()
    page.reload()
    page.get_by_role("heading", name="Overview", level=1).wait_for()
    assert len(browser_context.cookies()) == 1


def test_axe_finds_nothing_on_the_start_screen(
    page: "Page", no_axe_violations: Callable[["Page"], None]
) -> None:
    page.get_by_role("heading", name="Overview", level=1).wait_for()

    no_axe_violations(page)


def test_a_new_user_has_three_first_steps(
    tmp_path: Path, browser_context: "BrowserContext"
) -> None:
    with Console(tmp_path) as server:
        page = browser_context.new_page()
        page.goto(server.url_with_token)
        page.get_by_role("heading", name="There is nothing here yet.").wait_for()

        page.locator("button:not([aria-disabled])", has_text="Load the flights demo").wait_for()
        page.get_by_role("button", name="Open the SQL editor").wait_for()
        page.get_by_role("button", name="Create a topic").click()
        page.get_by_role("dialog").get_by_label("Name").fill("first-steps")
        page.get_by_role("dialog").get_by_role("button", name="Create").click()
        page.get_by_role("heading", name="first-steps").wait_for()
        page.get_by_role("link", name="Overview").click()

        # The server has reported the new topic to the page.
        page.get_by_role("link", name="Topics: 1").wait_for()


def test_a_demo_that_has_stopped_says_so_and_continues(page: "Page", console: Console) -> None:
    demo = {"state": "stopped", "reason": "", "hint": "", "produced": 1200, "total": 336776}
    demo |= {"error": "", "statements": "SHOW STREAMS;"}

    def answer(route: "Route") -> None:
        if route.request.method == "POST":
            demo["state"] = "live"
        route.fulfill(json=demo)

    page.route("**/v1/demo", answer)
    console.run(
        "CREATE STREAM IF NOT EXISTS demo_runs (id STRING KEY) "
        "WITH (KAFKA_TOPIC='demo_runs', PARTITIONS=1, VALUE_FORMAT='JSON');"
    )
    page.reload()
    panel = page.get_by_role("region", name="Flights demo")
    panel.get_by_text("The flights demo stopped with the server").wait_for()
    panel.get_by_text("1,200 of 336,776 flights have arrived.").wait_for()
    panel.get_by_role("button", name="Continue the demo").click()
    panel.get_by_text("Flights are arriving live").wait_for()

    demo |= {"state": "failed", "error": "no broker answers"}
    panel.get_by_role("alert").get_by_text("no broker answers").wait_for()
    panel.get_by_role("button", name="Try again").click()
    panel.get_by_text("Flights are arriving live").wait_for()

    demo |= {"state": "done", "produced": 336776}
    panel.get_by_text("All 336,776 flights of the year have arrived.").wait_for()
    panel.get_by_role("button", name="Hide this").click()
    panel.wait_for(state="detached")
    with page.expect_response("**/v1/demo"):
        page.reload()
    page.get_by_role("heading", name="Overview", level=1).wait_for()
    page.get_by_role("link", name="Topics:").wait_for()
    assert panel.count() == 0
    # Another stop is shown again.
    demo |= {"state": "stopped", "produced": 1300}
    panel.get_by_text("1,300 of 336,776 flights").wait_for()
    page.unroute_all(behavior="ignoreErrors")


def test_the_overview_shows_what_others_declare_without_a_reload(
    page: "Page", console: Console
) -> None:
    page.get_by_role("heading", name="Overview", level=1).wait_for()
    before = console.run("SHOW STREAMS;")[0]["streams"]

    console.run(
        "CREATE STREAM overview (id STRING KEY, n INT) "
        "WITH (KAFKA_TOPIC='overview', PARTITIONS=1, VALUE_FORMAT='JSON');"
    )

    page.get_by_text(re.compile(rf"^{len(before) + 1} streams?, ")).wait_for()
