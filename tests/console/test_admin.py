"""Users, rules and settings in a browser: with a server without users, and with one that has them."""

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from console.servers import Console

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CheckPage = Callable[["Page"], None]
PASSWORD = "correct-horse-battery"  # noqa: S105 - of a test
TIMEOUT_MS = 60_000


class Team:
    """A server with users, and pages of its users."""

    def __init__(self, console: Console, browser: "Browser", password: str) -> None:
        self.console = console
        self.password = password
        self._browser = browser

    def page(self, user: str, password: str) -> "Page":
        """Return a page on which a user has logged in."""
        # The certificate is of an authority that the test has made.
        context = self._browser.new_context(
            viewport={"width": 1280, "height": 800}, ignore_https_errors=True
        )
        context.set_default_timeout(TIMEOUT_MS)
        page = context.new_page()
        page.goto(self.console.url)
        page.get_by_label("User").fill(user)
        page.get_by_label("Password").fill(password)
        page.get_by_role("button", name="Log in").click()
        page.get_by_role("navigation", name="Screens").wait_for()
        return page

    def show(self, page: "Page", path: str) -> None:
        """Open a screen."""
        page.goto(self.console.url.rstrip("/") + path)
        page.get_by_role("heading", level=1).wait_for()


@pytest.fixture(scope="module")
def team_console(tmp_path_factory: pytest.TempPathFactory, chromium: str) -> Iterator[Console]:
    """A server with users, for all tests of this file; none without a browser."""
    assert chromium
    with Console(tmp_path_factory.mktemp("team"), "--profile", "team") as console:
        yield console


@pytest.fixture
def team(team_console: Console, browser: "Browser") -> Team:
    password = (team_console.process.data / "admin.password").read_text().strip()
    return Team(team_console, browser, password)


def show(page: "Page", console: Console, path: str) -> None:
    page.goto(console.url.rstrip("/") + path)
    page.get_by_role("heading", level=1).wait_for()


def add_user(page: "Page", name: str) -> None:
    page.get_by_role("button", name="New user").click()
    page.get_by_label("User", exact=True).fill(name)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Password again").fill(PASSWORD)
    page.get_by_role("dialog").get_by_role("button", name="Add user").click()
    page.get_by_role("region", name="Users", exact=True).get_by_role(
        "cell", name=name, exact=True
    ).wait_for()


def test_users_are_added_and_removed(
    page: "Page", console: Console, no_axe_violations: CheckPage
) -> None:
    show(page, console, "/users")
    page.get_by_role("button", name="New user").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("User", exact=True).fill("eve")
    dialog.get_by_label("Password", exact=True).fill("short")
    dialog.get_by_text("3 more characters are needed.").wait_for()
    dialog.get_by_label("Password again").fill("other")
    dialog.get_by_text("The two passwords are different.").wait_for()
    assert dialog.get_by_role("button", name="Add user").is_disabled()
    no_axe_violations(page)
    page.keyboard.press("Escape")
    dialog.wait_for(state="hidden")

    add_user(page, "eve")
    no_axe_violations(page)
    page.get_by_role("button", name="Remove… eve").click()
    dialog.get_by_role("textbox").fill("eve")
    dialog.get_by_role("button", name="Remove user").click()
    page.get_by_text("There are no users with passwords").wait_for()
    assert console.ask("GET", "/v1/users")["users"] == []


def test_without_an_authorizer_the_page_says_why_there_are_no_rules(
    page: "Page", console: Console, no_axe_violations: CheckPage
) -> None:
    show(page, console, "/users?view=rules")

    page.get_by_role("heading", name="The cluster has no access control").wait_for()
    add = page.get_by_role("button", name="Add rules")
    assert add.get_attribute("aria-disabled") == "true"
    assert "no authorizer" in (add.get_attribute("title") or "")
    no_axe_violations(page)


def test_a_setting_is_explained_changed_and_set_back(
    page: "Page", console: Console, no_axe_violations: CheckPage
) -> None:
    show(page, console, "/settings?search=log.cleaner.backoff")
    row = page.get_by_role("row").filter(has_text="log.cleaner.backoff.ms")
    row.get_by_text("default").wait_for()
    no_axe_violations(page)
    row.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("long", exact=True).wait_for()
    assert "setting=log.cleaner.backoff.ms" in page.url
    no_axe_violations(page)
    dialog.get_by_label("New value").fill("20000")
    dialog.get_by_text("20 s").wait_for()
    dialog.get_by_role("button", name="Change").click()
    row.locator(".badge", has_text="broker").wait_for()
    row.get_by_role("cell", name="20000").wait_for()

    row.click()
    dialog.get_by_label("New value").fill("soon")
    dialog.get_by_role("button", name="Change").click()
    dialog.get_by_role("alert").get_by_text("log.cleaner.backoff.ms").wait_for()
    dialog.get_by_role("button", name="Reset to the default").click()
    row.get_by_text("default").wait_for()


def test_only_what_is_not_default_is_shown(page: "Page", console: Console) -> None:
    show(page, console, "/settings")
    page.get_by_text("found. Open one").wait_for()

    page.get_by_label("Only values that are not the default").check()

    page.get_by_role("region", name="Settings", exact=True).get_by_text("log.dirs").wait_for()
    assert (
        page.get_by_role("region", name="Settings", exact=True)
        .get_by_text("num.partitions")
        .count()
        == 0
    )
    page.get_by_label("Settings of").select_option("server")
    page.get_by_role("region", name="Settings", exact=True).get_by_text(
        "ksql.schema.registry.url"
    ).wait_for()
    assert "of=server" in page.url


def test_settings_of_a_topic_show_what_the_topic_has_set(page: "Page", console: Console) -> None:
    console.run(
        "CREATE STREAM of_settings (id INT) WITH "
        "(KAFKA_TOPIC='of-settings', VALUE_FORMAT='JSON', PARTITIONS=1, RETENTION_MS=12345000);"
    )
    show(page, console, "/settings?of=topic")
    page.get_by_label("Topic").fill("of-settings")
    page.get_by_role("button", name="Show", exact=True).click()

    row = page.get_by_role("row").filter(has_text=re.compile(r"^retention\.ms"))
    row.locator(".badge", has_text="topic").wait_for()
    row.get_by_role("cell", name="12345000").wait_for()


def test_an_administrator_gives_a_user_what_it_needs(
    team: Team, no_axe_violations: CheckPage
) -> None:
    page = team.page("admin", team.password)
    team.show(page, "/users")
    page.get_by_text("administrators").wait_for()
    add_user(page, "ann")  # The administrator's own session lasts.
    no_axe_violations(page)
    page.get_by_role("link", name="Rules of ann").click()
    page.get_by_text("No rule matches").wait_for()

    page.get_by_role("button", name="Add rules").click()
    dialog = page.get_by_role("dialog")
    assert dialog.get_by_label("Principal").input_value() == "User:ann"
    dialog.get_by_label("Topic").fill("orders-")
    dialog.get_by_label("Group").fill("billing")
    dialog.get_by_label("The names are prefixes").check()
    dialog.get_by_text("User:ann may READ every topic whose name starts with orders-").wait_for()
    no_axe_violations(page)
    dialog.get_by_role("button", name="Add 3 rules").click()

    rules = page.get_by_role("region", name="Rules", exact=True)
    rules.get_by_role("row").nth(3).wait_for()
    no_axe_violations(page)
    page.get_by_role("button", name=re.compile("Remove… User:ann may READ every group")).click()
    dialog.get_by_role("button", name="Remove rule").click()
    rules.get_by_role("row").nth(3).wait_for(state="hidden")
    assert rules.get_by_role("row").count() == 3
    page.context.close()


def test_a_user_without_rights_sees_why_buttons_are_off(
    team: Team, no_axe_violations: CheckPage
) -> None:
    admin = team.page("admin", team.password)
    team.show(admin, "/users")
    add_user(admin, "carl")
    admin.context.close()
    page = team.page("carl", PASSWORD)

    team.show(page, "/users")
    page.get_by_role("alert").get_by_text("Your rights do not include this").wait_for()
    off = page.get_by_role("button", name="New user")
    assert off.get_attribute("aria-disabled") == "true"
    team.show(page, "/schemas")
    page.get_by_role("heading", name="No schema is registered").wait_for()
    page.get_by_text("What your rights do not include is not shown.").wait_for()
    button = page.get_by_role("button", name="New subject")
    assert button.get_attribute("aria-disabled") == "true"
    described = button.get_attribute("aria-describedby")
    assert page.locator(f"#{described}").inner_text() == "You have no right to register schemas."
    no_axe_violations(page)
    team.show(page, "/settings")
    page.get_by_label("Settings of").wait_for()
    assert page.get_by_label("Settings of").input_value() == "server"
    page.context.close()


def test_the_last_administrator_is_removed_only_after_a_warning(team: Team) -> None:
    page = team.page("admin", team.password)
    team.show(page, "/users")

    page.get_by_role("button", name="Remove… admin").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox").fill("admin")
    dialog.get_by_role("button", name="Remove user").click()

    dialog.get_by_role("alert").get_by_text("last administrator").wait_for()
    dialog.get_by_label("Remove the last administrator").wait_for()
    dialog.get_by_role("button", name="Cancel").click()
    page.get_by_role("cell", name="admin", exact=True).wait_for()
    page.context.close()
