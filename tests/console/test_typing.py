"""An unfinished text is not an error while it is being typed: the browser logs nothing."""

from typing import TYPE_CHECKING

import pytest

from console.servers import Console

if TYPE_CHECKING:
    from playwright.sync_api import ConsoleMessage, Page, Response

STREAM = (
    "CREATE STREAM typed (id STRING KEY, n INT) "
    "WITH (KAFKA_TOPIC='typed', VALUE_FORMAT='JSON', PARTITIONS=1);"
)
PIECES = (
    *("SEL", "ECT n FROM ty", "ped WHERE n > 1e", "3 AND id = 'a", "' EMIT CH", "ANGES; "),
    *("SET 'auto.off", "set.reset' = 'earl", "iest'; PRINT no", "pe"),
)


@pytest.fixture
def logged(page: "Page") -> list[str]:
    """The messages that the browser has logged, and refused requests."""
    found: list[str] = []

    def note(message: "ConsoleMessage") -> None:
        found.append(f"{message.type}: {message.text}")

    def answered(response: "Response") -> None:
        if response.status >= 400:
            found.append(f"{response.status} {response.url}")

    page.on("console", note)
    page.on("response", answered)
    return found


def _typed(page: "Page", piece: str) -> None:
    """Type a piece, and wait until the server has checked the text with it."""
    with page.expect_response(
        lambda one: one.url.endswith("/v1/check") and piece in (one.request.post_data or "")
    ):
        page.keyboard.type(piece)
    page.keyboard.press("Escape")


@pytest.mark.parametrize("properties", [{}, {"auto.offset.reset": "earl"}])
def test_the_browser_logs_nothing_while_a_statement_is_typed(
    page: "Page", console: Console, logged: list[str], properties: dict[str, str]
) -> None:
    console.run(f"DROP STREAM IF EXISTS typed DELETE TOPIC; {STREAM}")
    page.get_by_role("link", name="SQL", exact=True).click()
    editor = page.get_by_role("textbox", name="SQL statements")
    editor.wait_for()
    for name, value in properties.items():
        page.get_by_role("tab", name="Session").click()
        page.get_by_label("Name of a property").fill(name)
        page.get_by_label("Value of the property").fill(value)
        page.get_by_role("button", name="Set the property").click()
        page.get_by_text(f"{name} = {value}").wait_for()
    editor.click()
    page.keyboard.press("Control+a")

    for piece in PIECES:
        _typed(page, piece)

    page.get_by_label("Read streams from").first.wait_for()
    assert logged == []


def test_the_browser_logs_nothing_while_a_predicate_of_a_topic_is_typed(
    page: "Page", console: Console, logged: list[str]
) -> None:
    console.run(f"DROP STREAM IF EXISTS typed DELETE TOPIC; {STREAM}")
    page.goto(f"{console.url.rstrip('/')}/topics/typed?tab=records")
    field = page.get_by_label("Where (SQL)")
    field.click()
    field.press_sequentially("key LIKE 'a%' AND value->n > 1e")
    page.get_by_label("Search text").press_sequentially("(")

    page.get_by_role("button", name="Read again").click()

    page.get_by_text("This topic has no records yet").wait_for()
    assert logged == []
