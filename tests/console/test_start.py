"""The start screen and the shell around it, in a browser."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from console.servers import Console

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page


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


def test_the_overview_shows_what_others_declare_without_a_reload(
    page: "Page", console: Console
) -> None:
    page.get_by_role("heading", name="Overview", level=1).wait_for()
    before = console.run("SHOW STREAMS;")[0]["streams"]

    console.run(
        "CREATE STREAM overview (id STRING KEY, n INT) "
        "WITH (KAFKA_TOPIC='overview', PARTITIONS=1, VALUE_FORMAT='JSON');"
    )

    page.get_by_text(f"{len(before) + 1} streams").wait_for()
