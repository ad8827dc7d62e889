"""Dead letters in a browser: look, correct, replay."""

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from console.query_server import QueryConsole
from console.test_queries import open_screen
from duolog.testing import Client

if TYPE_CHECKING:
    from playwright.sync_api import Dialog, Page, Route

Axe = Callable[["Page"], None]
TOPIC = "wrong-orders"


def written(console: QueryConsole, key: str) -> list[bytes | None]:
    """Return the values of a key in the source topic of the letters."""
    found = Client(console.bootstrap_servers).read("orders")
    return [one.value for one in found if one.key_text == key]


def open_letter(page: "Page", console: QueryConsole, message: str) -> None:
    open_screen(page, console, f"/dead-letters/{TOPIC}", f"Dead letters in {TOPIC}")
    page.get_by_role("row").filter(has_text=message).first.click()
    page.get_by_role("heading", name=re.compile("^Letter 0:")).wait_for()


def test_topics_with_letters_lead_to_the_letters(
    query_page: "Page", query_console: QueryConsole, no_axe_violations: Axe
) -> None:
    page = query_page
    open_screen(page, query_console, "/dead-letters", "Dead letters")
    row = page.get_by_role("row").filter(has_text=TOPIC)
    row.get_by_text("SerializationException").wait_for()
    assert "CSAS_LARGE_0" in row.inner_text()
    no_axe_violations(page)

    page.get_by_role("link", name=TOPIC).click()

    page.get_by_role("heading", name=f"Dead letters in {TOPIC}").wait_for()
    page.get_by_role("row").filter(has_text="is a text of another form").wait_for()
    page.get_by_label("Error contains").fill("UTF-8")
    page.get_by_text("1 letter shown").wait_for()
    assert page.url.endswith(f"/dead-letters/{TOPIC}?reason=UTF-8")


def test_a_letter_shows_its_reason_and_its_bytes_and_runs_nothing(
    query_page: "Page", query_console: QueryConsole, no_axe_violations: Axe
) -> None:
    page = query_page
    shown: list[str] = []

    def note(dialog: "Dialog") -> None:
        shown.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", note)
    open_letter(page, query_console, "its value is not UTF-8")

    letter = page.get_by_role("region", name=re.compile("^Letter"))
    assert "SerializationException" in letter.inner_text()
    assert "partition 0, offset 1" in letter.inner_text()
    assert "ff003c736372697074" in page.get_by_label("Value of the letter").inner_text()
    page.get_by_text("Stack trace").click()
    page.get_by_text("org.example.Reader.read").wait_for()
    no_axe_violations(page)
    assert shown == []
    # The letter is in the address.
    page.reload()
    page.get_by_role("heading", name="Letter 0:1").wait_for()


def test_a_letter_is_opened_and_closed_by_keyboard(
    query_page: "Page", query_console: QueryConsole
) -> None:
    page = query_page
    open_screen(page, query_console, f"/dead-letters/{TOPIC}", f"Dead letters in {TOPIC}")
    table = page.get_by_role("region", name=f"Dead letters in {TOPIC}")
    table.get_by_role("row").filter(has_text="is not UTF-8").wait_for()
    table.focus()
    page.keyboard.press("j")
    table.get_by_role("status").get_by_text(re.compile("^Place 0:0, Time .*; row 1 of ")).wait_for()
    page.keyboard.press("Enter")
    page.locator("h2:focus", has_text="Letter 0:0").wait_for()

    page.keyboard.press("Escape")
    page.get_by_role("heading", name="Letter 0:0").wait_for(state="detached")
    assert table.evaluate("element => element === document.activeElement")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Close the letter").click()
    page.get_by_role("heading", name="Letter 0:0").wait_for(state="detached")
    assert table.evaluate("element => element === document.activeElement")
    page.get_by_role("button", name="Replay these letters").click()
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    page.locator("button:focus", has_text="Replay these letters").wait_for()


def test_a_value_is_corrected_as_json_and_replayed_once(
    query_page: "Page", query_console: QueryConsole, no_axe_violations: Axe
) -> None:
    page = query_page
    query_console.add_letters((b"json", b'{"amount": EUR 7}', "case of json"))
    open_letter(page, query_console, "case of json")
    page.get_by_label("New value").select_option("json")
    editor = page.get_by_label("Value, JSON")
    assert editor.input_value() == '{"amount": EUR 7}'

    page.get_by_role("button", name="Replay this letter").click()
    page.get_by_text("This is not JSON").wait_for()
    assert written(query_console, "json") == []
    editor.fill('{"amount": 12345678901234567.10}')
    page.get_by_role("button", name="Preview").click()
    page.get_by_text("1 letter would be written, 1 corrected").wait_for()
    assert written(query_console, "json") == []
    no_axe_violations(page)
    page.get_by_role("button", name="Replay this letter").click()
    page.get_by_text("1 letter written, 1 corrected").wait_for()

    assert written(query_console, "json") == [b'{"amount": 12345678901234567.10}']
    # The letter is replayed now: without a choice, it is not replayed again.
    again = page.get_by_role("checkbox", name="Replay it again")
    again.wait_for()
    page.get_by_role("button", name="Replay this letter").click(force=True)
    assert len(written(query_console, "json")) == 1
    again.check()
    page.get_by_role("button", name="Replay this letter").click()
    page.get_by_text("1 letter written").wait_for()
    assert len(written(query_console, "json")) == 2


def test_bytes_that_are_no_text_are_corrected_as_digits(
    query_page: "Page", query_console: QueryConsole
) -> None:
    page = query_page
    query_console.add_letters((b"hex", b"\xff\x00A", "case of hex"))
    open_letter(page, query_console, "case of hex")

    page.get_by_label("New value").select_option("text")
    page.get_by_text("These bytes are not a text in UTF-8").wait_for()
    editor = page.get_by_label("Value, hexadecimal digits")
    assert editor.input_value() == "ff 00 41"
    editor.fill("ff 00 4")
    page.get_by_role("button", name="Replay this letter").click()
    page.get_by_text("one is missing").wait_for()
    editor.fill("fe 00 42")
    page.get_by_role("button", name="Replay this letter").click()
    page.get_by_text("1 letter written, 1 corrected").wait_for()

    assert written(query_console, "hex") == [b"\xfe\x00B"]


def test_all_letters_of_a_filter_are_corrected_and_replayed(
    query_page: "Page", query_console: QueryConsole, no_axe_violations: Axe
) -> None:
    page = query_page
    query_console.add_letters(
        *((b"many", f"EUR {number}".encode(), "case of many") for number in range(5))
    )
    open_screen(
        page,
        query_console,
        f"/dead-letters/{TOPIC}?reason=case+of+many",
        f"Dead letters in {TOPIC}",
    )
    page.get_by_text("5 letters shown").wait_for()
    asked: list[Any] = []

    def two_at_once(route: "Route") -> None:
        asked.append(route.request.post_data_json)
        route.continue_(post_data=json.dumps({**asked[-1], "max": 2}))

    page.route("**/replay", two_at_once)

    page.get_by_role("button", name="Replay these letters").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("New value, an SQL expression").fill("REPLACE(VALUE, 'EUR ', ''")
    dialog.get_by_role("button", name="Preview").click()
    dialog.get_by_role("alert").wait_for()
    dialog.get_by_label("New value, an SQL expression").fill("REPLACE(VALUE, 'EUR ', '')")
    dialog.get_by_role("button", name="Preview").click()
    dialog.get_by_text("5 letters would be written, 5 corrected").wait_for()
    assert written(query_console, "many") == []
    no_axe_violations(page)
    dialog.get_by_role("button", name="Replay 5 letters").click()
    dialog.get_by_text("5 letters written, 5 corrected").wait_for()
    dialog.get_by_role("button", name="Close").click()
    # A failed preview, three requests for the preview, and three for the replay.
    assert ["continue" in one for one in asked] == [False, False, True, True, False, True, True]

    page.get_by_text("No open letter matches").wait_for()
    assert written(query_console, "many") == [str(number).encode() for number in range(5)]
    page.get_by_label("State").select_option("replayed")
    page.get_by_text("5 letters shown").wait_for()
