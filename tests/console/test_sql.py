"""The SQL screen in a browser: completion, checks, pull and push queries, links, hostile values."""

import json
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from bench.sql.page_watch import PageWatch
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from console.proxy import CutProxy
from console.servers import Console
from waiting import wait_until

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Locator, Page

BIG = 9_007_199_254_740_993
"""2^53 + 1: a double would show another number."""
HOSTILE = "<img src=x onerror=alert(1)> \x1b[31mred \u202egnp.exe\u2066"
LONG = 9_000_000
THREAD_MS_MAX = 800
"""Processor time of the page, which a busy machine changes little; it needs about a third of it."""
DECLARED = """
CREATE STREAM sql_flights (id STRING KEY, n BIGINT, note STRING)
  WITH (KAFKA_TOPIC='sql_flights', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE sql_airlines (id STRING PRIMARY KEY, name STRING, fleet BIGINT)
  WITH (KAFKA_TOPIC='sql_airlines', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE sql_hostile (id STRING PRIMARY KEY, note STRING)
  WITH (KAFKA_TOPIC='sql_hostile', VALUE_FORMAT='JSON', PARTITIONS=1);
"""


def produced(console: Console, topic: str, records: list[tuple[str, Any]]) -> None:
    """Write records: key, and value as JSON."""
    producer = Producer(
        {"bootstrap.servers": console.bootstrap_servers, "message.max.bytes": 20_000_000}
    )
    for key, value in records:
        body = value if value is None else json.dumps(value).encode()
        producer.produce(topic, body, key.encode())
        producer.poll(0)
    assert producer.flush(60) == 0


@pytest.fixture(scope="module")
def filled(console: Console) -> Console:
    """The server with streams and tables of these tests."""
    admin = AdminClient({"bootstrap.servers": console.bootstrap_servers})
    large = NewTopic("sql_hostile", 1, config={"max.message.bytes": "20000000"})
    admin.create_topics([large])["sql_hostile"].result(60)
    console.run(DECLARED)
    airlines = [(f"A{n}", {"NAME": f"Airline {n}", "FLEET": BIG + n}) for n in range(3)]
    produced(console, "sql_airlines", airlines)
    produced(
        console,
        "sql_hostile",
        [("hostile", {"NOTE": HOSTILE}), ("long", {"NOTE": "x" * LONG})],
    )
    return console


@pytest.fixture
def sql(page: "Page", filled: Console) -> "Page":
    """The SQL screen of a new profile, with an empty editor."""
    page.goto(f"{filled.url.rstrip('/')}/sql")
    editor_of(page).wait_for()
    return page


def editor_of(page: "Page") -> "Locator":
    return page.get_by_role("textbox", name="SQL statements")


def write(page: "Page", text: str) -> None:
    """Replace the text of the editor by typing; the list of candidates is closed at its end."""
    editor_of(page).click()
    page.keyboard.press("Control+a")
    page.keyboard.press("Backspace")
    page.keyboard.insert_text(text)


def cell(page: "Page", text: str) -> "Locator":
    return page.get_by_role("cell", name=text, exact=True).first


def in_state(page: "Page", state: str) -> None:
    """Wait until the shown query is in a state."""
    page.locator(".sql-figures .badge", has_text=state).wait_for()


@pytest.fixture
def running(sql: "Page") -> Iterator["Page"]:
    """A push query over flights that waits for rows."""
    write(sql, "SELECT id, n, note FROM sql_flights EMIT CHANGES;")
    sql.keyboard.press("Control+Enter")
    in_state(sql, "running")
    sql.get_by_role("region", name="Rows of").wait_for()
    yield sql
    cancel = sql.get_by_role("button", name="Cancel").first
    if cancel.get_attribute("aria-disabled") is None:
        cancel.click()


def test_the_focus_ring_of_the_editor_has_four_sides(sql: "Page") -> None:
    editor_of(sql).click()
    sql.locator(".cm-editor.cm-focused").wait_for()

    sides, is_above_the_gutter = sql.locator(".cm-editor").evaluate("""editor => {
        const ring = getComputedStyle(editor, "::after");
        const gutter = getComputedStyle(editor.querySelector(".cm-gutters"));
        const sides = ["Top", "Right", "Bottom", "Left"].map((one) => ring[`border${one}Width`]);
        return [sides, Number(ring.zIndex) > Number(gutter.zIndex)];
    }""")

    assert sides == ["2px"] * 4
    assert is_above_the_gutter


def test_a_pull_query_is_typed_and_run_and_large_numbers_are_exact(sql: "Page") -> None:
    write(sql, "SELECT * FROM sql_airlines;")

    sql.keyboard.press("Control+Enter")

    cell(sql, "Airline 2").wait_for()
    assert cell(sql, str(BIG)).is_visible()
    assert cell(sql, str(BIG + 2)).is_visible()
    assert sql.locator("[data-count=received]").inner_text() == "3 rows"


def test_rows_are_sorted_opened_and_exported(sql: "Page") -> None:
    write(sql, "SELECT * FROM sql_airlines;")
    sql.get_by_role("button", name="Run", exact=True).click()
    cell(sql, "Airline 2").wait_for()

    fleet = sql.get_by_role("button", name="FLEET")
    fleet.click()
    fleet.click()

    rows = sql.locator(".sql-grid tbody tr")
    assert rows.first.locator("td").nth(2).inner_text() == str(BIG + 2)
    with sql.expect_download() as saved:
        sql.get_by_role("button", name="JSONL").click()
    text = saved.value.path().read_text()
    assert f'"FLEET":{BIG}}}' in text
    rows.first.click()
    sql.get_by_role("dialog").get_by_text("Airline 2").wait_for()
    sql.keyboard.press("Escape")
    sql.get_by_role("dialog").wait_for(state="detached")


def test_a_broken_statement_is_underlined_at_its_place_with_the_hint(sql: "Page") -> None:
    write(sql, "SELECT id FROM sql_airlines;\nSELECT nam FROM sql_airlines;")

    marked = sql.locator(".cm-lintRange-error")
    marked.get_by_text("nam", exact=True).wait_for()
    assert marked.count() == 1
    assert marked.inner_text() == "nam"
    marked.hover()
    told = sql.locator(".cm-tooltip-lint")
    told.get_by_text("cannot be resolved").wait_for()
    problems = re.compile(r"1 error: .*cannot be resolved")
    sql.locator("summary", has_text=problems).click()
    sql.get_by_role("button", name="error at 2:8").wait_for()


def test_a_text_with_a_syntax_error_runs_in_no_part(sql: "Page", filled: Console) -> None:
    write(sql, "CREATE STREAM sql_never AS SELECT * FROM sql_flights; SELECT FROM;")

    sql.get_by_role("button", name="Run all").click()

    sql.get_by_role("alert").get_by_text("Line 1, column").wait_for()
    assert "SQL_NEVER" not in json.dumps(filled.run("SHOW STREAMS;"))


def test_completion_offers_columns_and_inserts_one(sql: "Page") -> None:
    write(sql, "SELECT  FROM sql_airlines;")
    for _ in range(len(" FROM sql_airlines;")):
        sql.keyboard.press("ArrowLeft")
    sql.keyboard.type("fle")

    offered = sql.get_by_role("listbox", name="Completions")
    option = offered.get_by_role("option", name="fleet")
    option.wait_for()
    assert "BIGINT" in option.inner_text()
    option.click()  # The editor ignores Enter for a moment after the list has appeared.
    editor_of(sql).get_by_text("fleet").wait_for()
    assert "SELECT fleet FROM sql_airlines;" in editor_of(sql).inner_text()


def test_tab_takes_the_offered_completion(sql: "Page") -> None:
    write(sql, "DESCRIBE ")
    sql.keyboard.type("sql_airl")
    sql.get_by_role("option", name="sql_airlines topic sql_airlines").wait_for()
    taken = editor_of(sql).get_by_text("DESCRIBE sql_airlines")

    def takes() -> bool:
        if taken.count() == 0:  # The editor ignores keys for a moment after the list has appeared.
            sql.keyboard.press("Tab")
        return taken.count() == 1

    wait_until(takes, "the completion")
    assert editor_of(sql).inner_text().strip() == "DESCRIBE sql_airlines"


def test_the_catalog_shows_columns_and_inserts_names(sql: "Page") -> None:
    write(sql, "SELECT ")
    sql.get_by_role("button", name="Columns of SQL_AIRLINES").click()

    sql.get_by_role("button", name="FLEET", exact=True).click()

    editor_of(sql).get_by_text("FLEET").wait_for()


def test_rows_of_a_push_query_arrive_newest_first(running: "Page", filled: Console) -> None:
    produced(filled, "sql_flights", [("a", {"N": 1}), ("b", {"N": 2})])

    cell(running, "b").wait_for()
    rows = running.locator(".sql-grid tbody tr")
    assert [rows.nth(at).locator("td").first.inner_text() for at in (0, 1)] == ["b", "a"]


def test_a_paused_query_shows_nothing_new_until_it_continues(
    running: "Page", filled: Console
) -> None:
    produced(filled, "sql_flights", [("before", {"N": 1})])
    cell(running, "before").wait_for()
    running.get_by_role("button", name="Pause").click()
    in_state(running, "paused")

    produced(filled, "sql_flights", [("after", {"N": 2})])
    running.locator("[data-count=received]").get_by_text("2 rows").wait_for()

    assert cell(running, "after").count() == 0
    running.get_by_role("button", name="Continue").click()
    cell(running, "after").wait_for()


def test_cancel_ends_the_query_on_the_server(running: "Page") -> None:
    with running.expect_request("**/close-query") as closed:
        running.get_by_role("region", name="Result").get_by_role("button", name="Cancel").click()

    in_state(running, "cancelled")
    assert json.loads(closed.value.post_data or "{}")["queryId"] != ""


def test_a_query_continues_after_a_lost_connection_without_a_missing_row(
    filled: Console, browser_context: "BrowserContext"
) -> None:
    tokens: list[str] = []
    with CutProxy(filled.url_with_token) as proxy:
        page = browser_context.new_page()
        page.goto(proxy.url)
        page.get_by_role("navigation", name="Screens").wait_for()
        page.goto(f"{proxy.url.partition('#')[0].rstrip('/')}/sql")
        write(page, "SELECT id FROM sql_flights EMIT CHANGES;")
        page.keyboard.press("Control+Enter")
        in_state(page, "running")
        produced(filled, "sql_flights", [("first", {"N": 1})])
        cell(page, "first").wait_for()
        produced(filled, "sql_flights", [("second", {"N": 2})])
        cell(page, "second").wait_for()

        page.on("request", lambda one: tokens.append(one.post_data or ""))
        proxy.cut()
        in_state(page, "reconnecting")
        produced(filled, "sql_flights", [("meanwhile", {"N": 3})])
        proxy.restore()

        cell(page, "meanwhile").wait_for()
        keys = page.locator(".sql-grid tbody tr td:first-child").all_inner_texts()
        # Rows after the last token may come again.
        assert list(dict.fromkeys(keys)) == ["meanwhile", "second", "first"]
        assert any("continuation.token" in one for one in tokens)
        page.close()


def test_a_link_has_text_and_session_and_runs_nothing(
    sql: "Page", filled: Console, browser_context: "BrowserContext"
) -> None:
    browser_context.grant_permissions(["clipboard-read", "clipboard-write"])
    write(sql, "SELECT * FROM sql_airlines; SET 'x.password' = 'hunter2';")
    sql.get_by_label("Read streams from").select_option("earliest")
    sql.get_by_role("button", name="Copy link").click()
    sql.get_by_text("Copied").wait_for()
    link = sql.evaluate("() => navigator.clipboard.readText()")
    sql.evaluate("() => localStorage.clear()")

    asked: list[str] = []
    other = browser_context.new_page()
    other.on("request", lambda request: asked.append(request.url))
    other.goto(link)

    editor_of(other).get_by_text("sql_airlines").first.wait_for()
    assert "hunter2" not in editor_of(other).inner_text()
    assert "[hidden]" in editor_of(other).inner_text()
    assert other.get_by_label("Read streams from").first.input_value() == "earliest"
    other.get_by_text("No results yet").wait_for()
    assert not [url for url in asked if url.endswith(("/ksql", "/query-stream", "/query"))]


def test_a_statement_of_another_screen_comes_after_the_own_text(
    sql: "Page", filled: Console
) -> None:
    write(sql, "-- mine")
    sql.wait_for_function("() => localStorage.getItem('duolog.sql.text') === '-- mine'")

    sql.goto(f"{filled.url.rstrip('/')}/sql?sql=SELECT%20*%20FROM%20sql_airlines%3B")
    editor_of(sql).get_by_text("sql_airlines").wait_for()

    shown = " ".join(editor_of(sql).inner_text().split())
    assert shown == "-- mine SELECT * FROM sql_airlines;"
    sql.wait_for_url(lambda url: "sql=" not in url.partition("#")[0])
    sql.get_by_text("No results yet").wait_for()
    sql.get_by_role("button", name="Run", exact=True).click()
    cell(sql, "Airline 2").wait_for()


def test_the_session_and_the_history_are_kept_without_secrets(sql: "Page") -> None:
    write(sql, "DEFINE db_password = 'hunter2';")
    sql.keyboard.press("Control+Enter")
    sql.get_by_text("Variable DB_PASSWORD is set").wait_for()
    sql.get_by_role("tab", name="Session").click()
    sql.get_by_text("DB_PASSWORD = [hidden]").wait_for()
    sql.get_by_role("tab", name="History").click()

    sql.get_by_role("button", name="DEFINE db_password = '[hidden]';").wait_for()
    assert "hunter2" not in sql.evaluate("() => JSON.stringify({ ...localStorage })")


def test_a_property_of_the_session_counts_for_the_next_query(sql: "Page", filled: Console) -> None:
    produced(filled, "sql_flights", [("old", {"N": 7})])
    write(
        sql,
        "SET 'auto.offset.reset' = 'earliest'; SELECT id FROM sql_flights EMIT CHANGES LIMIT 1;",
    )

    sql.get_by_role("button", name="Run all").click()

    in_state(sql, "done")
    assert sql.locator("[data-count=received]").inner_text() == "1 row"
    assert sql.get_by_label("Read streams from").first.input_value() == "earliest"


def test_a_plan_is_shown_as_a_graph_with_the_lineage(sql: "Page") -> None:
    write(sql, "SELECT id, n FROM sql_flights EMIT CHANGES;")

    sql.get_by_role("button", name="Explain").click()

    sql.get_by_role("region", name="Steps of the plan").wait_for()
    sql.get_by_role("region", name="Lineage of SQL_FLIGHTS").wait_for()
    sql.get_by_role("button", name="Text", exact=True).click()
    sql.get_by_text("[ StreamSource ]").wait_for()


def test_answers_of_statements_are_tables(sql: "Page") -> None:
    write(sql, "SHOW TABLES; DESCRIBE sql_airlines;")

    sql.get_by_role("button", name="Run all").click()

    sql.get_by_role("heading", name="TABLE SQL_AIRLINES").wait_for()
    assert cell(sql, "FLEET").is_visible()
    sql.get_by_role("tab", name="SHOW TABLES;").click()
    cell(sql, "SQL_HOSTILE").wait_for()


def test_hostile_values_are_only_text(sql: "Page", filled: Console) -> None:
    write(sql, "SELECT id, note FROM sql_hostile;")
    watch = PageWatch(sql)
    before_ms = watch.thread_ms()

    sql.keyboard.press("Control+Enter")

    cell(sql, "long").wait_for()
    shown = sql.locator(".sql-grid tbody").inner_text()
    assert "<img src=x onerror=alert(1)>" in shown
    assert "\\u001b[31mred \\u202egnp.exe\\u2066" in shown
    assert sql.locator(".sql-grid img").count() == 0
    assert len(shown) < 2000
    cell(sql, "long").click()
    sql.get_by_role("dialog").get_by_text("of 9,000,002 characters").wait_for()
    value = sql.get_by_role("dialog").get_by_label("Value of NOTE").inner_text()
    assert len(value) == 100_000
    sql.keyboard.press("Escape")
    assert watch.thread_ms() - before_ms < THREAD_MS_MAX


def test_escape_then_tab_leaves_the_editor(sql: "Page") -> None:
    write(sql, "SHOW STREAMS;")

    sql.keyboard.press("Tab")
    assert sql.evaluate("() => document.activeElement.closest('.cm-editor') !== null")
    sql.keyboard.press("Escape")
    sql.keyboard.press("Tab")

    assert sql.evaluate("() => document.activeElement.closest('.cm-editor') === null")


def test_axe_finds_nothing_on_the_screen(
    running: "Page", filled: Console, no_axe_violations: Callable[["Page"], None]
) -> None:
    produced(filled, "sql_flights", [("seen", {"N": 1})])
    cell(running, "seen").wait_for()

    no_axe_violations(running)
    running.get_by_role("tab", name="Session").click()
    running.get_by_role("heading", name="Properties").wait_for()
    no_axe_violations(running)
