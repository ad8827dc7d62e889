"""Schemas in a browser: list, text, difference, check and registration of a draft, level, deletion."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from console.servers import Console

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

CheckPage = Callable[["Page"], None]


def record(*fields: dict[str, Any]) -> str:
    return json.dumps({"type": "record", "name": "Order", "fields": list(fields)})


ID = {"name": "id", "type": "long"}
NOTE = {"name": "note", "type": "string", "default": ""}
AMOUNT = {"name": "amount", "type": "double"}


@pytest.fixture
def subject(console: Console, request: pytest.FixtureRequest) -> str:
    """A subject with two versions, of one test."""
    name = f"{request.node.originalname}/value"
    for schema in (record(ID), record(ID, NOTE)):
        console.ask("POST", "/v1/schemas/register", {"subject": name, "schema": schema})
    return name


def show(page: "Page", console: Console, path: str) -> "Locator":
    """Open a screen; return its heading."""
    page.goto(console.url.rstrip("/") + path)
    heading = page.get_by_role("heading", level=1)
    heading.wait_for()
    return heading


def address(subject: str, query: str = "") -> str:
    return f"/schemas/{subject.replace('/', '%2F')}{query}"


def write(page: "Page", schema: str) -> None:
    page.get_by_role("textbox", name="Draft of the schema").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(schema)


def test_a_subject_is_found_and_its_newest_version_shown(
    page: "Page", console: Console, subject: str, no_axe_violations: CheckPage
) -> None:
    show(page, console, "/schemas?offset=100")
    page.get_by_label("Search subjects").fill(subject.upper())
    # A filter begins at the first page again.
    page.get_by_role("status").get_by_text("1 found").wait_for()
    assert "offset" not in page.url
    no_axe_violations(page)
    page.get_by_role("link", name=subject).click()

    page.get_by_role("heading", name=subject, level=1).wait_for()
    text = page.get_by_role("textbox", name="Schema of version 2")
    text.get_by_text('"default": ""').wait_for()
    no_axe_violations(page)
    page.get_by_label("Version", exact=True).select_option("1")
    page.get_by_role("textbox", name="Schema of version 1").wait_for()
    assert page.url.endswith("?view=&version=1") or "version=1" in page.url
    page.go_back()
    page.get_by_role("textbox", name="Schema of version 2").wait_for()


def test_the_list_is_used_by_keyboard(page: "Page", console: Console, subject: str) -> None:
    show(page, console, f"/schemas?search={subject}")
    page.get_by_role("link", name=subject).wait_for()
    page.get_by_role("region", name="Subjects", exact=True).focus()

    page.keyboard.press("j")
    page.keyboard.press("Enter")

    page.get_by_role("heading", name=subject, level=1).wait_for()


def test_two_versions_are_compared(
    page: "Page", console: Console, subject: str, no_axe_violations: CheckPage
) -> None:
    show(page, console, address(subject, "?view=compare"))

    group = page.get_by_role("group", name="Difference from version 1 to version 2")
    group.locator(".cm-changedLine").filter(has_text="note").wait_for()
    no_axe_violations(page)
    page.get_by_role("button", name="Swap").click()
    page.get_by_role("group", name="Difference from version 2 to version 1").wait_for()
    assert "from=2&to=1" in page.url


def test_a_draft_is_checked_before_it_is_registered(
    page: "Page", console: Console, subject: str, no_axe_violations: CheckPage
) -> None:
    show(page, console, address(subject, "?view=draft"))
    register = page.get_by_role("button", name="Register")
    register.wait_for()
    assert register.get_attribute("title") == "Check this draft first."

    write(page, record(ID, NOTE, AMOUNT))
    page.get_by_role("button", name="Check", exact=True).click()
    result = page.get_by_role("region", name="Result of the check")
    result.get_by_text("not compatible").first.wait_for()
    assert result.get_by_text("READER_FIELD_MISSING_DEFAULT_VALUE").count() == 3
    assert register.get_attribute("title") == ("The draft is not compatible with earlier versions.")
    page.get_by_role("button", name="Show the impact").click()
    page.get_by_role("region", name="Impact").get_by_text("no topic is known").wait_for()
    no_axe_violations(page)

    write(page, record(ID, NOTE, {**AMOUNT, "default": 0.0}))
    page.get_by_text("The draft has changed since.").first.wait_for()
    page.get_by_role("button", name="Check", exact=True).click()
    result.locator(".badge.good").first.wait_for()
    page.locator('button:has-text("Register"):not([aria-disabled])').click()

    page.get_by_role("textbox", name="Schema of version 3").get_by_text('"amount"').wait_for()
    versions = console.ask("GET", f"/v1/schemas/versions?subject={subject}")["versions"]
    assert [one["version"] for one in versions] == [1, 2, 3]


def test_a_new_subject_gets_its_first_version(page: "Page", console: Console) -> None:
    show(page, console, "/schemas")
    page.get_by_role("button", name="New subject").click()
    page.get_by_label("Subject", exact=True).fill("brand/new-value")
    page.get_by_role("button", name="Write its schema").click()
    page.get_by_text("This subject has no versions that you can see").wait_for()
    page.get_by_role("textbox", name="Draft of the schema").wait_for()

    page.get_by_role("button", name="Check", exact=True).click()
    page.get_by_text("no versions yet").wait_for()
    page.locator('button:has-text("Register"):not([aria-disabled])').click()

    page.get_by_role("textbox", name="Schema of version 1").wait_for()


def test_the_level_of_a_subject_is_changed_and_set_back(
    page: "Page", console: Console, subject: str, no_axe_violations: CheckPage
) -> None:
    show(page, console, address(subject, "?view=level"))
    panel = page.get_by_role("region", name="Compatibility level")
    panel.get_by_text("BACKWARD, of all subjects").wait_for()
    no_axe_violations(page)
    for level, shown in (("FULL", "FULL"), ("", "BACKWARD, of all subjects")):
        page.get_by_label("Level", exact=True).select_option(level)
        page.get_by_role("button", name="Change level…").click()
        page.get_by_role("dialog").get_by_role("button", name="Change level").click()
        panel.locator(".badge", has_text=shown).wait_for()


def test_a_version_is_deleted_and_then_deleted_permanently(
    page: "Page", console: Console, subject: str, no_axe_violations: CheckPage
) -> None:
    show(page, console, address(subject, "?version=1"))
    page.get_by_role("button", name="Delete version 1…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("Consumers can still read").wait_for()
    no_axe_violations(page)
    dialog.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Delete version 2…").wait_for()
    asked = f"/v1/schemas/versions?subject={subject}"
    assert console.ask("GET", asked)["versions"] == [{"version": 2, "deleted": False}]

    show(page, console, address(subject, "?version=1&deleted=true"))
    page.get_by_role("button", name="Delete version 1 permanently…").click()
    confirm = dialog.get_by_role("button", name="Delete permanently")
    assert confirm.is_disabled()
    dialog.get_by_role("textbox").fill(subject)
    confirm.click()
    page.get_by_role("button", name="Delete version 2…").wait_for()
    assert console.ask("GET", f"{asked}&deleted=true")["versions"] == [
        {"version": 2, "deleted": False}
    ]


def test_a_hostile_name_and_text_are_shown_as_text(page: "Page", console: Console) -> None:
    name = "<img src=x onerror=alert(1)>"
    doc = "</script><script>alert(1)</script>\u202e"
    draft = {"subject": name, "schema": record({**ID, "doc": doc})}
    console.ask("POST", "/v1/schemas/register", draft)

    show(page, console, "/schemas?search=onerror")
    page.get_by_role("link", name=name).click()

    page.get_by_role("textbox", name="Schema of version 1").get_by_text("alert(1)").wait_for()
    assert page.locator("img[src=x]").count() == 0
    # CodeMirror shows the character that would turn the text round by its number.
    assert page.locator(".cm-specialChar").count() == 1
