"""A topic and a table with values that are large, wide, or made to deceive, and a walk over them.

The records have elements and a script (html), escape sequences of terminals (ansi), marks that
reverse the direction of text (rtl), bytes that are not a text (invalid UTF-8), an object with 1,000
fields (wide), and one string of 10 MB (big): its beginning, all of it, as text and as bytes. One
column of the table has 9 MB (sql big).
"""

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from bench.sql.page_watch import PageWatch
from confluent_kafka import Producer

if TYPE_CHECKING:
    from playwright.sync_api import Page

Step = tuple[str, Callable[[], object]]
MESSAGE_BYTES_MAX: Final = 20_000_000
Records = list[tuple[str | bytes, str | bytes]]
RECORDS: Final[Records] = [
    ("html", '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'),
    ("\u202ertl", "\u202egnp.exe\u2066"),
    ("ansi", "\x1b[31m red \x1b]0;title\x07"),
    (b"\xff\xfe", b"\xc3\x28 not UTF-8 \x00"),
    ("wide", json.dumps({f"column_{at}": at for at in range(1_000)})),
    ("big", json.dumps({"text": "x" * 10_000_000})),
]
TABLE: Final = "hostile_table"
QUERY: Final = "SELECT id, note FROM hostile_table;"
DECLARED: Final = """
CREATE TABLE hostile_table (id STRING PRIMARY KEY, note STRING)
  WITH (KAFKA_TOPIC='hostile_table', VALUE_FORMAT='JSON', PARTITIONS=1);
"""
ROWS: Final[Records] = [
    ("hostile", json.dumps({"NOTE": "<img src=x onerror=alert(1)> \x1b[31mred \u202egnp.exe"})),
    ("long", json.dumps({"NOTE": "x" * 9_000_000})),
]


def write(bootstrap: str, topic: str, records: Records) -> None:
    """Write the records to a topic that permits 20 MB."""
    producer = Producer(
        {"bootstrap.servers": bootstrap, "message.max.bytes": MESSAGE_BYTES_MAX, "log_level": 0}
    )
    for key, value in records:
        producer.produce(topic, value, key, partition=0, headers=[("trace", b"x\x1b")])
    assert producer.flush(60) == 0


class Cost(NamedTuple):
    """The cost of a step: its long tasks, and the processor time of the page's main thread."""

    long_tasks_ms: list[int]
    thread_ms: int


def walk(page: "Page", watch: PageWatch, steps: list[Step]) -> dict[str, Cost]:
    """Do each step until its result is shown; return the cost of each."""
    found: dict[str, Cost] = {}
    seen, spent_ms = len(watch.long_tasks_ms()), watch.thread_ms()
    for name, step in steps:
        step()
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        tasks, until_ms = watch.long_tasks_ms(), watch.thread_ms()
        found[name] = Cost(tasks[seen:], round(until_ms - spent_ms))
        seen, spent_ms = len(tasks), until_ms
    return found


def topic_steps(page: "Page") -> list[Step]:
    """Return the steps over the records of the topic, whose screen is open."""
    table = page.get_by_role("table")
    value = page.get_by_role("region", name="Record").get_by_role("region", name="Value")

    def opened(key: str, shown: str) -> Callable[[], None]:
        def step() -> None:
            table.get_by_text(key, exact=True).click()
            value.get_by_text(shown).first.wait_for()

        return step

    def pressed(button: str | re.Pattern[str], shown: str) -> Callable[[], None]:
        def step() -> None:
            value.get_by_role("button", name=button).first.click()
            value.get_by_text(shown).first.wait_for()

        return step

    return [
        ("html", opened("html", "<script>window.hacked=1</script>")),
        ("rtl", opened("\\u202ertl", "\\u202egnp.exe\\u2066")),
        ("ansi", opened("ansi", "\\u001b[31m red \\u001b]0;title\\u0007")),
        ("invalid UTF-8", opened("fffe", "c3 28 20 6e 6f 74")),
        ("wide", opened("wide", "{1,000 fields}")),
        ("wide, 400 fields", pressed("Show more: 800 left", "Show more: 600 left")),
        ("wide, 600 fields", pressed("Show more: 600 left", "Show more: 400 left")),
        ("big", opened("big", "These are the first 65,536 characters of 9.5 MiB.")),
        ("big, all", pressed("Load all 9.5 MiB", "All 9.5 MiB are loaded.")),
        ("big, more", pressed(re.compile("Show more"), "characters left")),
        ("big, bytes", pressed("Hex", "00000000  7b 22 74 65")),
        ("after big", opened("ansi", "\\u001b[31m red")),
    ]


def table_steps(page: "Page") -> list[Step]:
    """Return the steps over the rows of a pull query that is ready to run in the SQL screen."""
    cell = page.get_by_role("cell", name="long", exact=True).first
    dialog = page.get_by_role("dialog")

    def run() -> None:
        page.keyboard.press("Control+Enter")
        cell.wait_for()

    def opened() -> None:
        cell.click()
        dialog.get_by_text("of 9,000,002 characters").wait_for()

    def closed() -> None:
        page.keyboard.press("Escape")
        dialog.wait_for(state="detached")

    return [("sql big", run), ("sql big, open", opened), ("sql big, closed", closed)]
