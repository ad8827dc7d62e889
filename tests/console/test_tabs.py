"""Two tabs at once: what one changes, the other shows without a reload."""

from typing import TYPE_CHECKING

from console.query_server import QueryConsole
from console.servers import Console

if TYPE_CHECKING:
    from playwright.sync_api import Page


def second_tab(page: "Page", url: str) -> "Page":
    """Return another tab of the same browser; `sameDocument` is gone after a reload."""
    opened = page.context.new_page()
    opened.goto(url)
    opened.evaluate("window.sameDocument = true")
    return opened


def test_a_topic_that_one_tab_creates_and_deletes_appears_and_disappears_in_the_other(
    page: "Page", console: Console
) -> None:
    other = second_tab(page, f"{console.url}/topics?q=of-two-tabs")
    other.get_by_text("No topic matches “of-two-tabs”").wait_for()

    page.goto(f"{console.url}/topics?create=true")
    dialog = page.get_by_role("dialog", name="Create a topic")
    dialog.get_by_label("Name").fill("of-two-tabs")
    dialog.get_by_role("button", name="Create topic").click()
    page.get_by_role("heading", name="of-two-tabs", level=1).wait_for()

    other.get_by_role("link", name="of-two-tabs").click()
    other.get_by_role("heading", name="of-two-tabs", level=1).wait_for()
    page.get_by_role("button", name="Delete topic").click()
    confirm = page.get_by_role("dialog", name="Delete topic of-two-tabs")
    confirm.get_by_label("Type of-two-tabs to confirm").fill("of-two-tabs")
    confirm.get_by_role("button", name="Delete the topic").click()
    page.get_by_role("heading", name="Topics", level=1).wait_for()

    other.get_by_role("alert").get_by_text("does not exist").wait_for()
    assert other.evaluate("window.sameDocument") is True


def test_a_query_that_one_tab_pauses_and_terminates_changes_in_the_other(
    query_page: "Page", query_console: QueryConsole
) -> None:
    page = query_page
    query_console.run("CREATE STREAM of_two_tabs AS SELECT id, place FROM orders;")
    found = query_console.ask("GET", "/v1/queries")["queries"]
    name = next(one["id"] for one in found if one["sink"] == "OF_TWO_TABS")
    other = second_tab(page, f"{query_console.url}/queries/{name}")
    other.get_by_role("heading", name=name, level=1).wait_for()
    page.goto(f"{query_console.url}/queries?q={name}")

    page.get_by_role("button", name=f"Pause {name}").click()
    page.get_by_role("dialog").get_by_role("button", name="Pause the query").click()
    other.get_by_role("button", name=f"Resume {name}").wait_for()
    page.get_by_role("button", name=f"Terminate {name}").click()
    page.get_by_role("dialog").get_by_role("button", name="Terminate the query").click()

    other.get_by_role("alert").get_by_text(name).wait_for()
    page.get_by_text("No query matches the filters.").wait_for()
    # The dialog and its row are gone: the keyboard continues at the list.
    page.locator("main [data-table]:focus").wait_for()
    assert other.evaluate("window.sameDocument") is True
