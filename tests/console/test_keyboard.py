"""A reader who uses only the keyboard, with a screen reader: focus, names, what is read out.

Names and what has the focus come from the browser's accessibility tree, as a screen reader gets
them.
"""

import re
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer
from playwright.sync_api import expect

from console.servers import Console

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

TOPIC = "by-keyboard"
EVERYTHING = "SELECT * FROM by_keyboard EMIT CHANGES;"
STOPS_MAX = 120
# The part of an element that is seen; 0 if the head of the page or of a list covers all of it.
SEEN = """() => {
  const one = document.activeElement;
  if (one === document.body) return null;
  const { left, top, right, bottom } = one.getBoundingClientRect();
  const places = [0.1, 0.5, 0.9].flatMap((x) => [0.1, 0.5, 0.9].map((y) => [x, y]));
  const seen = places.filter(([x, y]) => {
    const hit = document.elementFromPoint(left + (right - left) * x, top + (bottom - top) * y);
    return hit !== null && one.contains(hit);
  });
  return [one.textContent.trim().slice(0, 60) || one.id, seen.length];
}"""


@pytest.fixture(scope="module")
def topic(console: Console) -> str:
    """A topic with 60 records."""
    console.ask("POST", "/v1/topics", {"name": TOPIC, "partitions": 2})
    producer = Producer({"bootstrap.servers": console.bootstrap_servers})
    for number in range(60):
        producer.produce(TOPIC, f'{{"n": {number}}}'.encode(), b"k")
    assert producer.flush(60) == 0
    return TOPIC


@pytest.fixture(scope="module")
def stream(console: Console, topic: str) -> None:
    """A stream over the topic."""
    console.run(
        f"CREATE STREAM by_keyboard (n INT) WITH (KAFKA_TOPIC='{topic}', VALUE_FORMAT='JSON');"
    )


@pytest.fixture
def narrow(page: "Page") -> "Page":
    """A window of 400 pixels."""
    page.set_viewport_size({"width": 400, "height": 700})
    return page


def show(page: "Page", console: Console, path: str) -> None:
    page.goto(console.url.rstrip("/") + path)


def spoken(page: "Page") -> tuple[str, str, str]:
    """Return role, name and description of what has the focus."""
    session = page.context.new_cdp_session(page)
    nodes: list[dict[str, Any]] = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    focused = [
        node
        for node in nodes
        if any(
            one["name"] == "focused" and one["value"].get("value")
            for one in node.get("properties", [])
        )
    ]
    node = focused[-1]
    texts = [node.get(part, {}).get("value", "") for part in ("role", "name", "description")]
    return texts[0], texts[1], texts[2]


def focused(page: "Page") -> "Locator":
    return page.locator(":focus")


def test_the_new_screen_is_named_where_the_focus_goes(
    page: "Page", console: Console, topic: str
) -> None:
    page.keyboard.press("g")
    page.keyboard.press("t")
    page.get_by_role("heading", name="Topics", level=1).wait_for()

    assert spoken(page)[:2] == ("main", "Topics")
    page.get_by_role("link", name=topic).focus()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name=topic, level=1).wait_for()
    assert spoken(page)[:2] == ("main", f"{topic} · Topic")


@pytest.mark.parametrize("path", ["/settings", f"/topics/{TOPIC}?tab=settings", "/groups"])
def test_what_has_the_focus_is_not_below_a_head(
    page: "Page", console: Console, topic: str, path: str
) -> None:
    page.set_viewport_size({"width": 640, "height": 400})  # 1280 pixels at a zoom of 200 %.
    show(page, console, path)
    page.get_by_role("region").first.wait_for()
    page.evaluate("() => scrollTo(0, document.body.scrollHeight)")

    found = []
    for _ in range(STOPS_MAX):
        page.keyboard.press("Shift+Tab")
        one = page.evaluate(SEEN)
        if one is None:
            break
        found.append(one)

    assert len(found) > 8
    assert [name for name, seen in found if seen == 0] == []


def test_states_are_seen_with_colours_that_the_system_forces(
    page: "Page", console: Console, topic: str
) -> None:
    page.emulate_media(forced_colors="active")
    show(page, console, f"/topics/{topic}")
    page.get_by_role("cell", name="59", exact=False).first.wait_for()
    page.keyboard.press("j")
    row = page.locator("tr.current")
    expect(row).to_have_css("outline-style", "solid")

    primary = page.get_by_role("button", name="Read", exact=True)
    shown = page.get_by_role("link", name="Records", exact=True)
    page.keyboard.press("Control+k")
    options = page.get_by_role("listbox", name="Found").get_by_role("option")
    chosen, other = options.nth(0), options.nth(1)
    chosen.wait_for()

    def colours(one: "Locator") -> list[str]:
        return list(
            one.evaluate(
                "one => [getComputedStyle(one).backgroundColor, getComputedStyle(one).color]"
            )
        )

    assert colours(chosen)[0] != colours(other)[0]
    assert all(back != text for back, text in map(colours, (primary, shown, chosen)))
    assert colours(shown) == colours(chosen) == colours(primary)


def test_the_menu_gets_the_focus_and_closes_when_it_goes(narrow: "Page") -> None:
    menu = narrow.get_by_role("button", name="Menu")
    first = narrow.get_by_role("link", name="Overview", exact=True)
    menu.focus()
    narrow.keyboard.press("Enter")
    expect(first).to_be_focused()

    narrow.keyboard.press("Escape")
    expect(menu).to_be_focused()
    expect(first).to_be_hidden()

    narrow.keyboard.press("Enter")
    expect(first).to_be_focused()
    narrow.get_by_label("Time zone").focus()
    narrow.keyboard.press("Tab")
    expect(first).to_be_hidden()
    expect(menu).to_have_attribute("aria-expanded", "false")


def test_the_first_j_and_the_arrow_of_a_search_go_to_the_first_row(
    page: "Page", console: Console, topic: str
) -> None:
    show(page, console, "/topics")
    page.get_by_role("link", name=topic).wait_for()
    page.keyboard.press("j")
    row = page.locator("tr.current")
    expect(row).to_have_attribute("aria-rowindex", "2")

    page.keyboard.press("/")
    page.keyboard.type(topic)
    expect(page.get_by_role("row")).to_have_count(2)
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("region", name="Topics")).to_be_focused()
    expect(row).to_contain_text(topic)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name=topic, level=1).wait_for()


def test_columns_are_reached_and_widened_by_keys(
    page: "Page", console: Console, topic: str
) -> None:
    show(page, console, f"/topics/{topic}")
    page.get_by_role("region", name=f"Records of {topic}").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    expect(focused(page)).to_have_text("Partition")
    page.keyboard.press("ArrowLeft")
    expect(focused(page)).to_have_text("Time")

    column = page.get_by_role("columnheader", name="Time")
    before = column.evaluate("one => one.offsetWidth")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    expect(column).to_have_js_property("offsetWidth", before + 40)
    page.keyboard.press("Shift+ArrowLeft")
    expect(column).to_have_js_property("offsetWidth", before + 20)


def test_the_sheet_is_read_from_its_title(page: "Page") -> None:
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Keyboard shortcuts").wait_for()

    assert spoken(page)[:2] == ("heading", "Keyboard shortcuts")


@pytest.mark.usefixtures("stream")
def test_messages_are_read_out_although_a_dialog_is_open(page: "Page", console: Console) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    show(page, console, "/sql")
    editor = page.get_by_role("textbox", name="SQL statements")
    editor.focus()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(
        f"SET 'auto.offset.reset'='earliest'; {EVERYTHING.removesuffix(';')} LIMIT 3;"
    )
    page.keyboard.press("Control+Shift+Enter")
    rows = page.get_by_role("region", name="Rows of")
    rows.get_by_role("cell").first.wait_for()
    rows.focus()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    dialog.wait_for()
    assert spoken(page)[0] == "heading"

    dialog.get_by_role("button", name="Copy as JSON").focus()
    page.keyboard.press("Enter")

    message = page.get_by_text("Copied", exact=True)
    expect(message).to_have_count(1)
    expect(dialog.get_by_role("log").get_by_text("Copied", exact=True)).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(message).to_be_visible()


@pytest.mark.usefixtures("stream")
def test_the_editor_is_reached_and_left_with_an_open_list(page: "Page", console: Console) -> None:
    show(page, console, "/sql")
    editor = page.get_by_role("textbox", name="SQL statements")
    editor.wait_for()
    page.locator("#main").focus()
    page.keyboard.press("Tab")
    expect(focused(page)).to_have_text("Skip to the editor")
    page.keyboard.press("Enter")
    expect(editor).to_be_focused()
    page.keyboard.press("Control+a")
    page.keyboard.type("DESCRIBE by_keyb")
    option = page.get_by_role("option", name=re.compile("^by_keyboard ", re.IGNORECASE))
    option.wait_for()
    page.keyboard.press("Escape")
    expect(option).to_have_count(0)
    page.keyboard.press("Tab")
    role, name, _ = spoken(page)
    assert role == "DisclosureTriangle"
    assert name != ""


def test_the_end_of_a_statement_is_read_out(page: "Page", console: Console) -> None:
    show(page, console, "/sql")
    page.get_by_role("textbox", name="SQL statements").focus()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text("SHOW TOPICS;")
    page.keyboard.press("Control+Enter")

    page.get_by_role("status").get_by_text("Done: the answer is below.").wait_for()


def test_the_tabs_of_the_sql_screen_are_one_stop_with_arrows(
    page: "Page", console: Console
) -> None:
    show(page, console, "/sql")
    page.get_by_role("tab", name="Catalog").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Session")).to_be_focused()
    expect(page.get_by_role("tabpanel", name="Session")).to_contain_text("Properties")
    page.keyboard.press("End")
    expect(page.get_by_role("tab", name="Saved")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Catalog")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("searchbox", name="Search streams and tables")).to_be_focused()


@pytest.mark.usefixtures("stream")
def test_the_focus_stays_at_a_query_that_is_paused_and_cancelled(
    page: "Page", console: Console
) -> None:
    show(page, console, "/sql")
    page.get_by_role("textbox", name="SQL statements").focus()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(EVERYTHING)
    page.keyboard.press("Control+Enter")
    result = page.get_by_role("region", name="Result")
    result.get_by_role("button", name="Pause").focus()
    page.keyboard.press("Enter")
    expect(result.get_by_role("button", name="Continue")).to_be_focused()
    page.keyboard.press("Enter")
    expect(result.get_by_role("button", name="Pause")).to_be_focused()

    result.get_by_role("button", name="Cancel").focus()
    page.keyboard.press("Enter")

    page.locator(".sql-figures .badge", has_text="cancelled").wait_for()
    expect(result).to_be_focused()


def test_a_node_of_a_graph_names_what_follows_it(query_page: "Page", query_console: Any) -> None:
    show(query_page, query_console, "/lineage")
    node = query_page.get_by_role("button", name=re.compile("^topic orders"))
    expect(node).to_have_accessible_name(re.compile("leads to stream ORDERS$"))


def test_a_question_is_read_out_with_its_consequences(
    query_page: "Page", query_console: Any
) -> None:
    show(query_page, query_console, "/queries")
    query_page.get_by_role("button", name="Terminate CTAS_TOTALS").focus()
    query_page.keyboard.press("Enter")

    dialog = query_page.get_by_role("dialog")
    expect(dialog).to_have_accessible_description(re.compile("its state is deleted"))
    query_page.keyboard.press("Escape")
    expect(query_page.get_by_role("button", name="Terminate CTAS_TOTALS")).to_be_focused()
