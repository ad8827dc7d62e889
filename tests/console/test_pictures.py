"""Six screens look as they did: pictures of a server with known records, light and dark."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer

from console.pictures import PIXELS_MAX, Pictures, covered, difference, taken
from console.servers import Console
from duolog.testing import Client

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

AT_MS = 1_788_000_000_000
FIELDS = [{"name": "id", "type": "long"}, {"name": "note", "type": "string", "default": ""}]
STATEMENTS = """
CREATE STREAM flights (id STRING KEY, origin STRING, passengers BIGINT, delay DOUBLE)
  WITH (KAFKA_TOPIC='flights', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE airports (code STRING PRIMARY KEY, name STRING, runways INT)
  WITH (KAFKA_TOPIC='airports', VALUE_FORMAT='JSON', PARTITIONS=1);
"""
AIRPORTS = {
    "BSL": {"NAME": "Basel \u202eMulhouse", "RUNWAYS": 2},
    "GVA": {"NAME": "Genève", "RUNWAYS": None},
    "ZRH": {"NAME": "Zürich", "RUNWAYS": 3},
}


@pytest.fixture(scope="module")
def known(console: Console, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """A server of its own: what other tests create would be in the pictures."""
    with Console(tmp_path_factory.mktemp("known")) as server:
        Client(server.bootstrap_servers).create_topic("flights")
        Client(server.bootstrap_servers).create_topic("airports")
        server.run(STATEMENTS)
        producer = Producer({"bootstrap.servers": server.bootstrap_servers, "log_level": 0})
        flights = [
            (f"LX{at}", {"ORIGIN": "ZRH", "PASSENGERS": 2**53 + at, "DELAY": at / 4})
            for at in range(8)
        ]
        for topic, records in (("flights", flights), ("airports", list(AIRPORTS.items()))):
            for number, (key, value) in enumerate(records):
                at_ms = AT_MS + 1000 * number
                producer.produce(topic, json.dumps(value), key, timestamp=at_ms)
                # One record batch for each: the size of the topic is part of a picture.
                assert producer.flush(60) == 0
        for count in (1, 2):
            schema = {"type": "record", "name": "Flight", "fields": FIELDS[:count]}
            body = {"subject": "flights-value", "schema": json.dumps(schema)}
            server.ask("POST", "/v1/schemas/register", body)
        yield server


@pytest.fixture
def picture(browser: "Browser", known: Console) -> Iterator["Page"]:
    """A page of the size and the time zone of the pictures."""
    context = browser.new_context(
        viewport={"width": 1000, "height": 640}, locale="en-GB", timezone_id="UTC"
    )
    context.set_default_timeout(20_000)
    page = context.new_page()
    page.goto(known.url_with_token)
    page.get_by_role("navigation", name="Screens").wait_for()
    yield page
    context.close()


@pytest.fixture
def pictures(browser: "Browser", tmp_path: Path, request: pytest.FixtureRequest) -> Pictures:
    update = bool(request.config.getoption("--update-pictures"))
    return Pictures(browser.new_page, tmp_path, update=update)


def hide(locator: "Locator") -> None:
    """Keep the place of an element free."""
    locator.evaluate("element => element.style.visibility = 'hidden'")


def topics(page: "Page") -> None:
    page.get_by_role("cell", name="JSON", exact=True).nth(1).wait_for()


def create_topic(page: "Page") -> None:
    dialog = page.get_by_role("dialog", name="Create a topic")
    dialog.get_by_label("Name").fill("no/slash")
    dialog.get_by_text("Use letters, digits").wait_for()
    page.get_by_role("cell", name="JSON", exact=True).nth(1).wait_for()


def record(page: "Page") -> None:
    page.set_viewport_size({"width": 1300, "height": 760})
    page.get_by_role("region", name="Value").get_by_text("9007199254740994").wait_for()


def query(page: "Page") -> None:
    page.get_by_role("button", name="Columns of AIRPORTS").wait_for()
    page.get_by_role("textbox", name="SQL statements").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text("-- all of them\nSELECT code, name, runways FROM airports;")
    page.keyboard.press("Control+Enter")
    page.get_by_role("cell", name="Zürich", exact=True).wait_for()
    start = page.get_by_label("Read streams from")
    start.locator("option", has_text="default: latest").wait_for(state="attached")
    page.set_viewport_size({"width": 1000, "height": 800})
    page.get_by_role("button", name="CODE").click()  # Rows have no order of their own.
    page.get_by_role("heading", name="SQL", level=1).click()  # The cursor blinks.
    hide(page.locator(".sql-counts"))  # Durations differ.


def versions(page: "Page") -> None:
    page.get_by_text('"default"').first.wait_for()


def settings(page: "Page") -> None:
    page.get_by_text("log.retention.bytes").first.wait_for()
    hide(page.get_by_label("Settings of"))  # It has the port of the broker.


SCREENS = {
    "topics": ("/topics", topics),
    "create-topic": ("/topics?create=true", create_topic),
    "record": ("/topics/flights?at=0-2", record),
    "query": ("/sql", query),
    "versions": ("/schemas/flights-value?view=compare", versions),
    "settings": ("/settings?search=log.retention", settings),
}


@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_looks_as_in_its_picture(
    picture: "Page", known: Console, pictures: Pictures, name: str
) -> None:
    path, ready = SCREENS[name]
    picture.goto(known.url + path)
    ready(picture)
    picture.locator("[aria-busy=true], .waiting").first.wait_for(state="detached")

    if reason := pictures.check(picture, name):
        pytest.skip(reason)


STYLES = {
    "a missing column": "tbody td:nth-child(3), thead th:nth-child(3) { display: none }",
    "a header over rows": "thead { position: relative; top: 24px; z-index: 3 }",
    "a wrong colour": ":root[data-theme] { --text-soft: #7a4b00 }",
    "a shift by a pixel": "h1 { margin-left: 1px }",
}


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
def test_a_change_of_a_screen_is_seen(
    picture: "Page", known: Console, browser: "Browser", style: str
) -> None:
    picture.goto(known.url + "/topics")
    topics(picture)
    before = taken(picture)
    empty = browser.new_page()

    # `evaluate` is the debugger's: the policy of the page does not apply to it.
    picture.evaluate(
        "(text) => { const sheet = new CSSStyleSheet(); sheet.replaceSync(text);"
        " document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet]; }",
        style,
    )

    assert difference(empty, before, before).pixels == 0
    assert difference(empty, before, taken(picture)).pixels > 2 * PIXELS_MAX
    assert (covered(picture) != []) == ("thead {" in style)
    empty.close()
