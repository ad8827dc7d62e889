"""The shared parts of the console, on a page of their own without a server: keyboard, sizes, axe."""

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

CONSOLE = Path(__file__).parents[2] / "console"
PAGE = """<!doctype html><html lang="en"><head><title>Parts</title><style>{css}</style></head>
<body><div id="app"></div></body></html>"""
ROWS = 100_000


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The parts and their page, as one script."""
    esbuild = CONSOLE / "node_modules/.bin/esbuild"
    if shutil.which("node") is None or not esbuild.exists():
        pytest.skip(
            "the packages of the console are missing: install Node.js, then run scripts/install"
        )
    out = tmp_path_factory.mktemp("parts") / "parts.js"
    words = [str(esbuild), "test/parts.tsx", "--bundle", "--format=iife", f"--outfile={out}"]
    words += ["--jsx=automatic", "--jsx-import-source=preact", "--loader:.css=empty"]
    done = subprocess.run(words, cwd=CONSOLE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture
def parts(bundle: Path, browser_context: "BrowserContext") -> Iterator["Page"]:
    styles = ("node_modules/uplot/dist/uPlot.min.css", "src/shell/theme.css", "src/parts/parts.css")
    css = "\n".join((CONSOLE / name).read_text() for name in styles)
    page = browser_context.new_page()
    page.route(
        "http://parts.example/**",
        lambda route: route.fulfill(body=PAGE.format(css=css), content_type="text/html"),
    )
    page.goto("http://parts.example/")
    page.add_script_tag(content=bundle.read_text())
    page.get_by_role("heading", name="Parts").wait_for()
    yield page
    page.unroute_all(behavior="ignoreErrors")


def log(page: "Page") -> Any:
    return page.evaluate("window.log")


def show(page: "Page", count: int, text: str = "row") -> None:
    page.evaluate("([count, text]) => window.setRows(count, text)", [count, text])


def table(page: "Page") -> Any:
    return page.get_by_role("region", name="Rows")


def current(page: "Page") -> str:
    return str(table(page).locator("tr.current td").first.inner_text())


def test_a_long_table_has_few_rows_in_the_document_and_all_in_its_count(parts: "Page") -> None:
    show(parts, ROWS)
    parts.get_by_role("cell", name="row 0", exact=True).wait_for()

    assert parts.get_by_role("table", name="Rows").get_attribute("aria-rowcount") == str(ROWS + 1)
    assert table(parts).locator("tbody tr").count() < 100
    row = (
        parts.get_by_role("row")
        .filter(has_text="row 3 ")
        .or_(parts.locator("tr", has_text="row 3"))
    )
    assert row.first.get_attribute("aria-rowindex") == "5"


def test_keys_move_open_and_copy_rows(parts: "Page") -> None:
    parts.context.grant_permissions(["clipboard-read", "clipboard-write"])
    show(parts, ROWS)
    table(parts).focus()
    for key in ("j", "j", "ArrowDown", "k"):
        parts.keyboard.press(key)
    assert current(parts) == "1"
    parts.keyboard.press("Enter")
    parts.keyboard.press("End")
    parts.get_by_role("cell", name=f"row {ROWS - 1}", exact=True).wait_for()
    assert current(parts) == str(ROWS - 1)
    parts.get_by_role("status").get_by_text(f"Row {ROWS} of {ROWS}").wait_for()
    parts.keyboard.press("Enter")
    parts.keyboard.press("j")  # There is no further row.
    assert current(parts) == str(ROWS - 1)
    parts.keyboard.press("Home")
    parts.get_by_role("cell", name="row 0", exact=True).wait_for()

    assert log(parts) == ["open 1", f"open {ROWS - 1}"]


def test_the_current_row_is_read_out_with_its_first_cells_once(parts: "Page") -> None:
    show(parts, 1000)
    spoken = table(parts).get_by_role("status")
    table(parts).focus()
    parts.keyboard.press("j")
    spoken.get_by_text("Number 0, Text row 0, State Remove 0; row 1 of 1000", exact=True).wait_for()
    parts.keyboard.press("End")  # Its row is made after the move.
    spoken.get_by_text("Number 999, Text row 999, State Remove 999; row 1000 of 1000").wait_for()

    show(parts, 1000, "x" * 500)
    parts.get_by_role("cell", name="x" * 500 + " 999").wait_for()
    assert "Text row 999" in spoken.inner_text()  # New figures are not read out.
    parts.keyboard.press("k")
    spoken.get_by_text(f"Number 998, Text {'x' * 80}…, State Remove 998").wait_for()


def test_the_focus_stays_close_to_a_row_that_goes_away(parts: "Page") -> None:
    show(parts, 3)
    for number in (1, 2):
        parts.get_by_role("button", name=f"Remove {number}").click()
        dialog = parts.get_by_role("dialog")
        dialog.get_by_text("The row goes away.").click()  # This does not open the row.
        dialog.get_by_role("button", name="Remove row").click()
        dialog.wait_for(state="detached")
        parts.get_by_role("button", name=f"Remove {number}").wait_for(state="detached")
        assert table(parts).evaluate("element => element === document.activeElement")
    assert log(parts) == []

    # Without a dialog, too; but not after a click on nothing.
    parts.get_by_role("button", name="Remove 0").focus()
    show(parts, 0)
    parts.get_by_text("No rows.").wait_for()
    assert table(parts).evaluate("element => element === document.activeElement")
    show(parts, 3)
    parts.get_by_role("button", name="Remove 0").focus()
    parts.mouse.click(2, 2)
    parts.wait_for_function("document.activeElement === document.body")
    parts.evaluate("() => new Promise((done) => setTimeout(done))")
    show(parts, 0)
    parts.get_by_text("No rows.").wait_for()
    assert parts.evaluate("document.activeElement === document.body")


def test_the_head_stays_visible_and_sorts(parts: "Page") -> None:
    show(parts, 1000)
    button = parts.get_by_role("button", name="Number")
    button.click()
    button.click()
    head = parts.get_by_role("columnheader", name="Number")
    assert head.get_attribute("aria-sort") == "descending"
    parts.get_by_role("cell", name="row 999", exact=True).wait_for()

    table(parts).evaluate("element => element.scrollTop = 9000")
    parts.get_by_role("cell", name="row 700", exact=True).wait_for()

    top = table(parts).bounding_box()["y"]
    box = head.bounding_box()
    assert box is not None
    assert abs(box["y"] - top) < 3


def test_a_width_that_was_dragged_is_kept(parts: "Page") -> None:
    show(parts, 5)
    head = parts.get_by_role("columnheader", name="Number")
    before = head.bounding_box()
    handle = head.locator(".resize").bounding_box()
    assert before is not None
    assert handle is not None
    parts.mouse.move(handle["x"] + 4, handle["y"] + 4)
    parts.mouse.down()
    parts.mouse.move(handle["x"] + 84, handle["y"] + 4)
    parts.mouse.up()

    after = head.bounding_box()
    assert after is not None
    assert abs(after["width"] - before["width"] - 80) < 3
    assert "170" in parts.evaluate("localStorage.getItem('duolog.widths.parts')")


def test_a_narrow_table_is_scrolled_sideways_before_a_column_has_no_room(parts: "Page") -> None:
    parts.set_viewport_size({"width": 280, "height": 800})
    show(parts, 5)

    box = parts.get_by_role("columnheader", name="Text").bounding_box()

    assert box is not None
    assert box["width"] >= 110
    assert table(parts).evaluate("element => element.scrollWidth > element.clientWidth")
    assert parts.evaluate("document.documentElement.scrollWidth") <= 280


def test_rows_that_are_replaced_keep_the_position(parts: "Page") -> None:
    show(parts, 1000)
    table(parts).focus()
    parts.keyboard.press("End")
    show(parts, 10, "new")

    parts.get_by_role("cell", name="new 9", exact=True).wait_for()
    parts.wait_for_function("document.querySelector('tr.current td').textContent === '9'")
    show(parts, 0)
    parts.get_by_text("No rows.").wait_for()


def test_texts_of_others_are_text_and_their_hidden_characters_are_shown(parts: "Page") -> None:
    show(parts, 1, "<img src=x onerror=alert(1)> \u202egnp.exe\u0007")

    cell = parts.get_by_role("cell", name="onerror")
    assert cell.inner_text() == "<img src=x onerror=alert(1)> \\u202egnp.exe\\u0007 0"
    assert parts.locator("img").count() == 0


def test_nodes_of_a_graph_are_reached_and_opened_by_keyboard(parts: "Page") -> None:
    graph = parts.get_by_role("region", name="Lineage")
    first = graph.get_by_role("button", name="stream ORDERS; leads to query CTAS_1")
    first.focus()
    parts.keyboard.press("ArrowRight")
    parts.keyboard.press("Enter")
    parts.keyboard.press("j")
    parts.keyboard.press("Enter")
    parts.keyboard.press("ArrowLeft")
    parts.keyboard.press("Enter")
    graph.get_by_role("button", name=re.compile("^table TOTALS")).click()

    assert log(parts) == ["node q", "node b", "node q", "node b"]
    assert graph.locator("path.edge").count() == 2  # The third leads to nothing.


def test_a_chart_is_drawn_and_has_words(parts: "Page") -> None:
    chart = parts.locator("figure.chart")

    chart.locator("canvas").wait_for()
    assert "read: now 4/s, lowest 1/s, highest 4/s" in chart.inner_text()


def test_a_button_that_cannot_be_used_names_the_reason(parts: "Page") -> None:
    button = parts.get_by_role("button", name="Act")
    button.focus()
    parts.keyboard.press("Enter")
    assert button.get_attribute("aria-disabled") == "true"
    described = button.get_attribute("aria-describedby")
    assert parts.locator(f"[id='{described}']").text_content() == "Enter a name first."
    assert log(parts) == []

    parts.get_by_label("Name").fill("x")
    parts.get_by_role("alert").get_by_text("Too short").wait_for()
    assert parts.get_by_label("Name").get_attribute("aria-invalid") == "true"
    button.click()
    assert log(parts) == ["acted"]


def test_a_dialog_keeps_the_focus_and_returns_it(parts: "Page") -> None:
    parts.get_by_role("button", name="Show").click()
    parts.get_by_role("dialog", name="Plain").wait_for()
    for _ in range(3):
        parts.keyboard.press("Tab")
        assert parts.evaluate("!document.querySelector('main > button').matches(':focus')")
    parts.keyboard.press("Escape")

    parts.get_by_role("dialog").wait_for(state="detached")
    parts.wait_for_function("document.activeElement.textContent === 'Show'")


def test_what_cannot_be_undone_needs_the_name_and_shows_its_error(parts: "Page") -> None:
    parts.get_by_role("button", name="Delete", exact=True).click()
    confirm = parts.get_by_role("button", name="Delete topic")
    assert confirm.is_disabled()
    parts.get_by_label("Type orders to confirm").fill("order")
    assert confirm.is_disabled()
    parts.get_by_label("Type orders to confirm").fill("orders")
    confirm.click()
    parts.get_by_role("alert").get_by_text("the broker refuses").wait_for()
    confirm.click()

    parts.get_by_role("dialog").wait_for(state="detached")
    assert log(parts) == ["confirmed", "confirmed"]


def test_axe_finds_nothing_on_the_parts(
    parts: "Page", no_axe_violations: Callable[["Page"], None]
) -> None:
    show(parts, 200)
    table(parts).focus()
    parts.keyboard.press("j")
    parts.keyboard.press("j")

    no_axe_violations(parts)
