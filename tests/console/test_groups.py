"""Groups and clients in a browser: found, shown with their lag, reset, deleted."""

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from playwright.sync_api import expect

from console.servers import Console
from duolog.testing import Client
from waiting import wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Page

expect.set_options(timeout=60_000)
Check = Callable[["Page"], None]
TOPIC = "of-groups"
HOSTILE = "<img src=x onerror=alert(1)>/\u202etext"


@pytest.fixture(scope="module")
def topic(console: Console) -> str:
    """A topic with five records in each of two partitions."""
    Client(console.bootstrap_servers).create_topic(TOPIC, 2)
    producer = Producer(
        {
            "bootstrap.servers": console.bootstrap_servers,
            "client.id": "shop-1",
            "enable.idempotence": True,
            "log_level": 0,
        }
    )
    for number in range(10):
        producer.produce(TOPIC, b"x", partition=number % 2)
    producer.flush()
    return TOPIC


def commit(console: Console, group: str, topic: str, *offsets: int) -> None:
    """Commit offsets for a group without members."""
    consumer = Consumer(
        {"bootstrap.servers": console.bootstrap_servers, "group.id": group, "log_level": 0}
    )
    places = [TopicPartition(topic, number, offset) for number, offset in enumerate(offsets)]
    consumer.commit(offsets=places, asynchronous=False)
    consumer.close()


def committed(console: Console, group: str) -> list[str | None]:
    found = console.ask("GET", f"/v1/groups/{quote(group, safe='')}")
    return [one["committed"] for one in found["partitions"]]


@pytest.fixture
def member(console: Console, topic: str) -> Iterator[str]:
    """A group with a member, and the name of the group."""
    consumer = Consumer(
        {
            "bootstrap.servers": console.bootstrap_servers,
            "group.id": "busy",
            "client.id": "busy-app",
            "log_level": 0,
        }
    )
    consumer.subscribe([topic])
    wait_until(lambda: consumer.poll(0) is None and consumer.assignment(), "an assignment")
    consumer.commit(offsets=[TopicPartition(topic, 0, 1)], asynchronous=False)
    yield "busy"
    consumer.close()


def show(page: "Page", console: Console, path: str) -> None:
    page.goto(console.url.rstrip("/") + path)


def test_groups_are_searched_and_opened_by_keyboard(
    page: "Page", console: Console, topic: str, no_axe_violations: Check
) -> None:
    commit(console, "team-billing", topic, 4, 2)
    commit(console, "team-audit", topic, 5, 5)
    show(page, console, "/groups")
    row = page.get_by_role("row").filter(has_text="team-billing")
    expect(row).to_contain_text("Empty")
    expect(row.locator("td").nth(4)).to_contain_text("4")
    no_axe_violations(page)

    page.keyboard.press("/")
    expect(page.get_by_label("Search", exact=True)).to_be_focused()
    page.keyboard.type("team-b")
    expect(page.get_by_role("status").filter(has_text="1 of")).to_be_visible()
    expect(page).to_have_url(re.compile(r"q=team-b"))
    expect(page.get_by_role("link", name="team-audit")).to_have_count(0)
    page.get_by_role("region", name="Groups of consumers").focus()
    page.keyboard.press("j")
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", name="team-billing", level=1)).to_be_visible()
    page.go_back()
    expect(page.get_by_label("Search", exact=True)).to_have_value("team-b")


def test_a_reset_is_seen_before_it_is_made(
    page: "Page", console: Console, topic: str, no_axe_violations: Check
) -> None:
    commit(console, "to-reset", topic, 4, 4)
    show(page, console, "/groups/to-reset")
    page.get_by_role("button", name="Reset offsets…").click()
    dialog = page.get_by_role("dialog", name="Reset offsets of to-reset")
    expect(page).to_have_url(re.compile(r"dialog=reset"))

    dialog.get_by_label("Topics").select_option(topic)
    dialog.get_by_label("Continue at").select_option("shift")
    dialog.get_by_role("button", name="Preview").click()
    expect(dialog.get_by_role("alert")).to_contain_text("Give a number of records")
    dialog.get_by_label("Records").fill("-3")
    dialog.get_by_label("Records").press("Enter")
    rows = dialog.get_by_role("row").filter(has_text=topic)
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("4")
    expect(dialog).to_contain_text("--topic of-groups --shift-by -3")
    assert committed(console, "to-reset") == ["4", "4"]
    no_axe_violations(page)

    dialog.get_by_role("button", name="Reset 2 partitions").click()

    expect(page.get_by_text("Reset the offsets of group to-reset in 2 partitions")).to_be_visible()
    expect(dialog).to_have_count(0)
    assert committed(console, "to-reset") == ["1", "1"]
    expect(page.get_by_role("row").filter(has_text=topic).first).to_contain_text("4")


def test_a_preview_is_gone_after_a_change_of_the_form(
    page: "Page", console: Console, topic: str
) -> None:
    commit(console, "to-change", topic, 4, 4)
    show(page, console, "/groups/to-change?dialog=reset")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Preview").click()
    expect(dialog.get_by_role("button", name="Reset 2 partitions")).to_be_visible()

    dialog.get_by_label("Continue at").select_option("latest")

    expect(dialog.get_by_role("button", name="Reset 2 partitions")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def test_a_group_with_members_is_not_changed_and_says_why(
    page: "Page", console: Console, member: str, no_axe_violations: Check
) -> None:
    show(page, console, f"/groups/{member}")
    reset = page.get_by_role("button", name="Reset offsets…")
    expect(reset).to_have_attribute("aria-disabled", "true")
    expect(reset).to_have_accessible_description(re.compile("busy-app on 127.0.0.1"))
    reset.click(force=True)
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("button", name="Delete group…")).to_have_accessible_description(
        re.compile("has members")
    )

    page.get_by_role("button", name="Members (1)").click()

    expect(page.get_by_role("row").filter(has_text="busy-app")).to_contain_text("of-groups-0")
    expect(page).to_have_url(re.compile(r"tab=members"))
    no_axe_violations(page)


def test_a_group_with_a_hostile_name_is_text_and_is_deleted_after_it_was_typed(
    page: "Page", console: Console, topic: str
) -> None:
    commit(console, HOSTILE, topic, 1)
    show(page, console, "/groups?q=onerror")
    link = page.get_by_role("link", name="<img src=x onerror=alert(1)>/\\u202etext")
    link.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(
        "<img src=x onerror=alert(1)>/\\u202etext"
    )

    page.get_by_role("button", name="Delete group…").click()
    dialog = page.get_by_role("dialog")
    button = dialog.get_by_role("button", name="Delete the group")
    expect(button).to_be_disabled()
    dialog.get_by_role("textbox").fill(HOSTILE)
    button.click()

    expect(page).to_have_url(re.compile(r"/groups$"))
    assert console.ask("GET", "/v1/groups?search=onerror")["groups"] == []


def test_offsets_of_a_topic_are_deleted(page: "Page", console: Console, topic: str) -> None:
    commit(console, "to-forget", topic, 3, 3)
    show(page, console, "/groups/to-forget")
    page.get_by_role("button", name="Delete offsets…").click()
    page.get_by_role("dialog").get_by_role("button", name=f"Delete offsets of {topic}").click()

    expect(page.get_by_text(f"Deleted the offsets of {topic}")).to_be_visible()
    # Without members and offsets, the group has ended.
    expect(page.get_by_role("alert")).to_contain_text("does not exist")
    expect(page.get_by_role("row").filter(has_text=topic)).to_have_count(0)


def test_a_missing_group_is_reported_in_its_place(page: "Page", console: Console) -> None:
    show(page, console, "/groups/never-was")

    expect(page.get_by_role("alert")).to_contain_text('Group "never-was" does not exist')


def test_clients_are_found_and_shown_with_what_they_do(
    page: "Page", console: Console, member: str, no_axe_violations: Check
) -> None:
    show(page, console, "/clients?q=busy-app")
    row = page.get_by_role("row").filter(has_text="busy-app").filter(has_text="consumer").first
    expect(row).to_contain_text("confluent-kafka-python")
    # A rate needs two reports.
    expect(row.locator("td").nth(2)).to_contain_text("/s")
    no_axe_violations(page)

    clients = page.get_by_role("region", name="Clients of the cluster")
    clients.focus()
    page.keyboard.press("j")
    expect(clients.get_by_role("status")).to_contain_text(re.compile("^busy-app, Role consumer, "))
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="busy-app")
    expect(dialog).to_contain_text("no login")
    page.keyboard.press("Escape")
    expect(clients).to_be_focused()
    row.locator("td").nth(2).click()
    # From a link, there is no place to return to: the content is the next one.
    page.reload()
    expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("main")).to_be_focused()
    row.locator("td").nth(2).click()
    dialog.get_by_role("link", name=member).click()
    expect(page.get_by_role("heading", name=member, level=1)).to_be_visible()


def test_producers_that_have_gone_are_shown_on_request(
    page: "Page", console: Console, topic: str
) -> None:
    show(page, console, "/clients")
    producers = page.get_by_role("region", name="Idempotent and transactional producers")
    expect(producers.get_by_role("row").filter(has_text=topic)).to_have_count(1)

    page.get_by_label("Role").select_option("producer")
    page.get_by_label("Include disconnected clients").check()

    expect(page.get_by_role("row").filter(has_text="shop-1").first).to_contain_text(topic)
    expect(page).to_have_url(re.compile(r"role=producer&closed=true"))
