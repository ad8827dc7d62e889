"""The first steps of a newcomer to Kafka: a topic, five records, the first SQL."""

import json
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from console.servers import Console

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Locator, Page, Route


def editor_of(page: "Page") -> "Locator":
    return page.get_by_role("textbox", name="SQL statements")


def write(page: "Page", text: str) -> None:
    """Replace the text of the editor by typing."""
    editor_of(page).click()
    page.keyboard.press("Control+a")
    page.keyboard.press("Backspace")
    page.keyboard.insert_text(text)


def run(page: "Page", text: str) -> None:
    write(page, text)
    page.keyboard.press("Control+Enter")


@pytest.fixture
def topic(page: "Page", console: Console) -> str:
    """A new topic; the page shows its form for records."""
    name = f"orders_{uuid.uuid4().hex[:8]}"
    console.ask("POST", "/v1/topics", {"name": name, "partitions": 1})
    page.goto(f"{console.url.rstrip('/')}/topics/{name}")
    page.get_by_role("heading", name="This topic has no records yet").wait_for()
    page.get_by_role("link", name="Produce a record").click()
    return name


def produce(page: "Page", *records: tuple[str, int]) -> None:
    for at, (customer, amount) in enumerate(records):
        page.get_by_label("Key", exact=True).fill(customer)
        value = json.dumps({"customer": customer, "amount": amount})
        page.get_by_label("Value", exact=True).fill(value)
        page.get_by_role("button", name="Produce", exact=True).click()
        page.get_by_role("link", name=f"partition 0, offset {at}").wait_for()


def problems(page: "Page", text: str) -> "Locator":
    """Return the line below the editor; the same text is also read out."""
    return page.locator("summary", has_text=text)


def test_the_number_of_records_follows_what_is_written(page: "Page", topic: str) -> None:
    page.get_by_text("1 partition, 1 replica, 0").wait_for()

    produce(page, ("alice", 3), ("bob", 5))

    page.get_by_text("1 partition, 1 replica, 2").wait_for()


def test_a_short_table_needs_no_scrollbars(page: "Page", topic: str) -> None:
    produce(page, ("alice", 3), ("bob", 5))
    page.get_by_role("link", name="Records", exact=True).click()
    alice = page.get_by_role("cell", name="alice", exact=True)
    alice.wait_for()
    table = page.locator("[data-table]")
    overflow = "e => [e.scrollWidth - e.clientWidth, e.scrollHeight - e.clientHeight]"

    assert table.evaluate(overflow) == [0, 0]

    alice.click()
    page.get_by_role("heading", name="Partition 0, offset 0").wait_for()
    assert table.evaluate(overflow) == [0, 0]


def test_a_topic_is_queried_in_sql_with_the_columns_of_its_records(
    page: "Page", topic: str
) -> None:
    produce(page, ("alice", 3), ("bob", 5))

    page.get_by_role("button", name="Query in SQL").click()

    editor_of(page).get_by_text("customer STRING KEY").wait_for()
    shown = " ".join(editor_of(page).inner_text().split())
    declared = f"CREATE STREAM {topic} ( customer STRING KEY, amount BIGINT ) WITH"
    assert declared in shown
    assert shown.endswith(f"SELECT * FROM {topic} EMIT CHANGES;")  # noqa: S608 - nothing is run
    problems(page, "No problems found.").wait_for()
    page.get_by_label("Read streams from").select_option("earliest")
    page.get_by_role("button", name="Run all").click()
    page.get_by_role("cell", name="bob", exact=True).wait_for()
    page.get_by_role("cell", name="5", exact=True).wait_for()
    page.get_by_role("button", name="Cancel").first.click()


def test_an_export_that_the_server_refuses_says_why(page: "Page", topic: str) -> None:
    def refuse(route: "Route") -> None:
        body = {"message": "Parquet needs a package", "detail": "", "hint": "pip install pyarrow"}
        route.fulfill(status=400, content_type="application/json", body=json.dumps(body))

    page.get_by_role("link", name="Records", exact=True).click()
    page.route("**/export?*", refuse)
    page.get_by_label("Format of the export").select_option("parquet")
    page.get_by_role("button", name="Export").click()

    page.get_by_role("alert").get_by_text("Parquet needs a package").wait_for()
    page.get_by_role("alert").get_by_text("pip install pyarrow").wait_for()

    page.unroute("**/export?*")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    assert download.value.suggested_filename == f"{topic}.parquet"
    page.get_by_role("alert").wait_for(state="detached")


def test_a_column_that_is_misspelt_names_the_column_that_is_meant(
    page: "Page", topic: str, console: Console
) -> None:
    console.run(
        f"CREATE STREAM {topic} (customer STRING KEY, amount INT) "
        f"WITH (KAFKA_TOPIC='{topic}', VALUE_FORMAT='JSON');"
    )
    page.goto(f"{console.url.rstrip('/')}/sql")

    write(page, f"SELECT amont FROM {topic};")  # noqa: S608 - nothing is run
    problems(page, "1 error: SELECT column 'AMONT' cannot be resolved. Did you mean").wait_for()

    write(page, f"SELECT amount FROM {topic[:-1]};")  # noqa: S608 - nothing is run
    told = f"1 error: {topic[:-1].upper()} does not exist. Did you mean {topic.upper()}?"
    problems(page, told).wait_for()

    run(page, "CREATE STREAM other (amount NUMBER) WITH (KAFKA_TOPIC='o', VALUE_FORMAT='JSON');")
    alert = page.get_by_role("alert")
    alert.get_by_text("Did you mean INT, BIGINT, DOUBLE or DECIMAL?").wait_for()


def test_a_text_is_checked_again_when_the_catalog_changes(page: "Page", topic: str) -> None:
    page.get_by_role("link", name="SQL", exact=True).click()
    write(page, f"CREATE STREAM {topic} (a INT) WITH (KAFKA_TOPIC='{topic}', FORMAT='JSON');")
    problems(page, "No problems found.").wait_for()

    page.keyboard.press("Control+Enter")

    page.get_by_text("Stream created").wait_for()

    page.locator(".cm-lintRange-warning").get_by_text(topic).wait_for()
    told = f"A stream with the same name already exists. Run DROP STREAM {topic.upper()}; first"
    problems(page, told).wait_for()


def test_a_text_that_could_not_be_checked_is_checked_again(page: "Page", topic: str) -> None:
    page.get_by_role("link", name="SQL", exact=True).click()
    problems(page, "No problems found.").wait_for()
    page.route("**/v1/check", lambda route: route.fulfill(status=503, body="{}"))
    write(page, "SELECT * FROM nowhere;")
    problems(page, "Not checked: the server does not answer.").wait_for()

    page.unroute("**/v1/check")

    problems(page, "1 error: NOWHERE does not exist.").wait_for()


def test_many_results_keep_one_row_of_tabs(page: "Page", topic: str) -> None:
    page.get_by_role("link", name="SQL", exact=True).click()
    tabs = page.get_by_role("tablist", name="Results")
    for at in range(6):
        run(page, f"DEFINE a_variable_with_a_long_name_{at} = '1';")
        shown = page.get_by_role("region", name="Result")
        shown.get_by_text(f"Variable A_VARIABLE_WITH_A_LONG_NAME_{at} is set").wait_for()
    page.set_viewport_size({"width": 400, "height": 800})

    heights = tabs.evaluate("e => [e.offsetHeight, e.firstElementChild.offsetHeight]")

    assert heights[0] < 2 * heights[1]


def test_the_demo_is_offered_after_the_first_topic_too(
    tmp_path: Path, browser_context: "BrowserContext"
) -> None:
    with Console(tmp_path) as server:
        server.ask("POST", "/v1/topics", {"name": "first", "partitions": 1})
        page = browser_context.new_page()
        page.goto(server.url_with_token)
        page.get_by_role("link", name="Topics: 1").wait_for()
        page.get_by_role("heading", name="What next?").wait_for()
        page.locator("button:not([aria-disabled])", has_text="Load the flights demo").wait_for()

        page.get_by_role("button", name="Hide these steps").click()
        page.get_by_role("heading", name="What next?").wait_for(state="detached")
        page.reload()
        page.get_by_role("link", name="Topics: 1").wait_for()
        assert page.get_by_role("heading", name="What next?").count() == 0

        page.keyboard.press("Control+k")
        page.keyboard.type("flights demo")
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="First steps").wait_for()
        page.get_by_role("button", name="Load the flights demo").wait_for()


def test_a_running_demo_links_to_what_it_computes(
    page: "Page", topic: str, console: Console
) -> None:
    state = {
        "state": "live",
        "produced": 5,
        "total": 10,
        "reason": "",
        "hint": "",
        "error": "",
        "statements": "",
    }
    page.route("**/v1/demo", lambda route: route.fulfill(json=state))
    page.goto(console.url)

    page.get_by_role("region", name="Flights demo").get_by_role(
        "link", name="flights by airline"
    ).click()

    editor_of(page).get_by_text("by_airline").wait_for()
