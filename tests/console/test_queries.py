"""Streams, tables, queries and the lineage graph, in a browser, over queries that only count."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from console.query_server import QueryConsole
from waiting import wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Page

Axe = Callable[["Page"], None]


def open_screen(page: "Page", console: QueryConsole, path: str, heading: str) -> None:
    page.goto(console.url + path)
    page.get_by_role("heading", name=heading, level=1).wait_for()


@pytest.fixture(scope="module", autouse=True)
def _measured(query_console: QueryConsole) -> None:
    """Wait until the figures of the running queries have rates."""

    def rates() -> list[float | None]:
        found = query_console.ask("GET", "/v1/queries")["queries"]
        return [one["in"]["recordsPerSecond"] for one in found if one["state"] == "RUNNING"]

    wait_until(lambda: len(rates()) == 2 and None not in rates(), "rates are measured")


def test_the_list_of_queries_has_figures_and_is_filtered_by_its_address(
    query_page: "Page", query_console: QueryConsole, no_axe_violations: Axe
) -> None:
    page = query_page
    open_screen(page, query_console, "/queries", "Queries")

    row = page.get_by_role("row").filter(has_text="CSAS_LARGE_0")
    row.get_by_text("RUNNING").wait_for()
    assert re.search(r"\d+/s", row.inner_text())
    assert re.search(r"\d,\d{3}", row.inner_text()), "the lag in records"
    row.get_by_role("img", name=re.compile(r"Lag of CSAS_LARGE_0: .* records")).wait_for()
    no_axe_violations(page)

    page.get_by_label("State").select_option("ERROR")
    # Other tests start more queries.
    page.get_by_text(re.compile(r"^1 of \d queries$")).wait_for()
    assert page.url.endswith("/queries?state=ERROR")
    page.reload()
    page.get_by_text(re.compile(r"^1 of \d queries$")).wait_for()
    page.get_by_label("Search").fill("totals")
    page.get_by_text("No query matches").wait_for()


def test_a_query_is_opened_by_keyboard(query_page: "Page", query_console: QueryConsole) -> None:
    page = query_page
    open_screen(page, query_console, "/queries?sort=-id", "Queries")
    page.get_by_role("row").filter(has_text="CTAS_TOTALS_1").wait_for()

    table = page.get_by_role("region", name="Persistent queries")
    table.focus()
    for key in ("j", "j", "k", "Enter"):
        page.keyboard.press(key)

    page.get_by_role("heading", name="CTAS_TOTALS_1", level=1).wait_for()
    page.go_back()
    page.get_by_role("heading", name="Queries", level=1).wait_for()


def test_a_query_has_figures_charts_a_plan_and_its_statement(
    query_page: "Page", query_console: QueryConsole, no_axe_violations: Axe
) -> None:
    page = query_page
    open_screen(page, query_console, "/queries/CTAS_TOTALS_1", "CTAS_TOTALS_1")
    page.locator("figure.chart canvas").first.wait_for()
    assert page.locator("figure.chart").count() == 4
    figures = page.get_by_label("Current figures").inner_text()
    assert re.search(r"Records in\s+\d+/s", figures)
    page.get_by_role("cell", name="Records that cannot be read").wait_for()
    no_axe_violations(page)

    page.get_by_role("link", name="Plan").click()
    step = page.get_by_role("button", name=re.compile("aggregate-4 AggregateNode"))
    step.wait_for()
    step.click()
    page.get_by_role("region", name="Step aggregate-4").get_by_text("SUM(AMOUNT)").wait_for()
    no_axe_violations(page)

    page.get_by_role("link", name="Statement and settings").click()
    page.get_by_text("CREATE TABLE totals AS SELECT place").wait_for()
    page.get_by_text("default (default)").wait_for()
    no_axe_violations(page)


def test_a_failed_query_names_the_cause_and_what_to_do(
    query_page: "Page", query_console: QueryConsole, no_axe_violations: Axe
) -> None:
    open_screen(query_page, query_console, "/queries/CSAS_BROKEN_2", "CSAS_BROKEN_2")

    error = query_page.get_by_label("Error of the query")
    error.get_by_text("the state of the query is damaged").wait_for()
    assert "A file has the wrong checksum." in error.inner_text()
    assert "Run `duolog state reset" in error.inner_text()
    assert "hint:" not in error.inner_text()
    no_axe_violations(query_page)


def state_of(console: QueryConsole, query: str) -> str | None:
    found = console.ask("GET", "/v1/queries")["queries"]
    return next((one["state"] for one in found if one["id"] == query), None)


def test_a_query_is_paused_resumed_and_terminated_after_a_question(
    query_page: "Page", query_console: QueryConsole
) -> None:
    page = query_page
    query_console.run("CREATE STREAM passing AS SELECT id, place FROM orders;")
    name = next(
        one["id"]
        for one in query_console.ask("GET", "/v1/queries")["queries"]
        if one["sink"] == "PASSING"
    )
    open_screen(page, query_console, f"/queries/{name}", name)

    page.get_by_role("button", name="Pause").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    assert state_of(query_console, name) != "PAUSED"

    page.get_by_role("button", name="Pause").click()
    page.get_by_role("dialog").get_by_role("button", name="Pause the query").click()
    page.locator(".badge", has_text="PAUSED").wait_for()
    assert state_of(query_console, name) == "PAUSED"

    page.get_by_role("button", name="Resume").click()
    page.get_by_role("dialog").get_by_role("button", name="Resume the query").click()
    page.locator(".badge", has_text="RUNNING").wait_for()

    page.get_by_role("button", name="Terminate").click()
    page.get_by_role("dialog").get_by_role("button", name="Terminate the query").click()
    page.get_by_role("heading", name="Queries", level=1).wait_for()
    assert state_of(query_console, name) is None


def test_an_error_of_a_statement_is_shown_in_the_dialog(
    query_page: "Page", query_console: QueryConsole
) -> None:
    page = query_page
    query_console.run("CREATE STREAM leaving AS SELECT id, place FROM orders;")
    name = next(
        one["id"]
        for one in query_console.ask("GET", "/v1/queries")["queries"]
        if one["sink"] == "LEAVING"
    )
    open_screen(page, query_console, f"/queries/{name}", name)
    page.get_by_role("button", name="Pause").click()
    query_console.run(f"TERMINATE {name};")

    page.get_by_role("dialog").get_by_role("button", name="Pause the query").click()

    page.get_by_role("dialog").get_by_role("alert").get_by_text(name).wait_for()


def test_streams_and_tables_lead_to_their_columns_topics_and_queries(
    query_page: "Page", query_console: QueryConsole, no_axe_violations: Axe
) -> None:
    page = query_page
    open_screen(page, query_console, "/streams", "Streams and tables")
    row = page.get_by_role("row").filter(has_text="ORDERS")
    row.get_by_text(re.compile(r"^\d+$")).first.wait_for()
    # The server writes a rate of 0 as 0.0.
    row.get_by_text("0/s").wait_for()
    no_axe_violations(page)
    page.get_by_label("Search").fill("total")
    page.get_by_role("link", name="TOTALS", exact=True).wait_for()
    page.get_by_role("link", name="ORDERS", exact=True).wait_for(state="detached")
    assert page.url.endswith("/streams?q=total")

    page.get_by_role("link", name="TOTALS", exact=True).click()

    page.get_by_role("heading", name="TOTALS", level=1).wait_for()
    columns = page.get_by_role("table", name="Columns of TOTALS")
    assert "PLACE" in columns.inner_text()
    assert "DOUBLE" in columns.inner_text()
    rows = page.get_by_role("link", name="Show rows").get_attribute("href") or ""
    assert "SELECT+*+FROM+TOTALS+LIMIT+100" in rows
    no_axe_violations(page)
    page.get_by_role("link", name="CTAS_TOTALS_1").click()
    page.get_by_role("heading", name="CTAS_TOTALS_1", level=1).wait_for()
    page.go_back()
    page.get_by_role("link", name="Show rows").click()
    editor = page.locator(".cm-content")
    editor.filter(has_text="SELECT * FROM TOTALS LIMIT 100;").wait_for()


def test_the_graph_has_live_rates_and_is_walked_by_arrow_keys(
    query_page: "Page", query_console: QueryConsole, no_axe_violations: Axe
) -> None:
    page = query_page
    open_screen(page, query_console, "/lineage", "Lineage")
    node = page.get_by_role("button", name=re.compile("^query CSAS_LARGE_0 lag"))
    node.wait_for()
    # A straight line has no height: Playwright takes it for hidden.
    page.locator("path.edge.live").first.wait_for(state="attached")
    page.get_by_text(re.compile(r"^\d+(\.\d+)?/s$")).nth(3).wait_for()
    no_axe_violations(page)

    node.focus()
    page.keyboard.press("ArrowRight")
    focused = page.evaluate("document.activeElement.dataset.node")
    assert focused == "source:LARGE"
    page.keyboard.press("Enter")

    page.get_by_role("heading", name="LARGE", level=1).wait_for()
    assert page.url.endswith("/streams/LARGE")


def test_a_part_of_the_graph_is_in_the_address_and_as_a_list(
    query_page: "Page", query_console: QueryConsole, no_axe_violations: Axe
) -> None:
    page = query_page
    open_screen(page, query_console, "/lineage?around=source:TOTALS", "Lineage")
    page.get_by_role("button", name=re.compile("^table TOTALS")).wait_for()
    assert page.get_by_role("button", name=re.compile("^query CSAS_BROKEN")).count() == 0

    page.get_by_text("The graph as a list").click()
    item = page.get_by_role("listitem").filter(has_text="query CTAS_TOTALS_1").first
    assert re.search(r"leads to table TOTALS \(\d+.*/s\)", item.inner_text())
    no_axe_violations(page)

    page.get_by_label("Show what leads to and follows").select_option("")
    page.get_by_role("button", name=re.compile("^query CSAS_BROKEN")).wait_for()
    page.go_back()
    page.get_by_role("button", name=re.compile("^query CSAS_BROKEN")).wait_for(state="detached")


def test_the_graph_is_zoomed_and_fits(query_page: "Page", query_console: QueryConsole) -> None:
    page = query_page
    open_screen(page, query_console, "/lineage", "Lineage")
    page.get_by_role("button", name=re.compile("^query CSAS_LARGE_0")).wait_for()

    def width() -> float:
        return float(page.locator(".graph svg").get_attribute("width") or 0)

    page.get_by_role("button", name="Original size").click()
    original = width()
    page.get_by_role("button", name="Larger").click()
    wait_until(lambda: width() > original * 1.2, "the graph is larger")
    page.locator(".graph-scroll").focus()
    for _ in range(12):
        page.keyboard.press("-")
    wait_until(lambda: width() < original * 0.5, "the graph is smaller")
    page.set_viewport_size({"width": 400, "height": 800})
    page.get_by_role("button", name="Fit").click()
    box = page.locator(".graph-scroll").bounding_box()
    assert box is not None
    wait_until(lambda: 0 < width() <= box["width"], "the whole graph is visible")
