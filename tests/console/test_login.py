"""The login of a server with users: `duolog start --profile team`."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from console.servers import Console

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


def test_a_user_logs_in_by_a_form_and_out_again_in_all_tabs(
    tmp_path: Path, browser: "Browser", no_axe_violations: Callable[["Page"], None]
) -> None:
    with Console(tmp_path, "--profile", "team") as team:
        assert "#token" not in team.url_with_token
        password = (team.process.data / "admin.password").read_text().strip()
        context = browser.new_context(ignore_https_errors=True)
        page = context.new_page()
        page.goto(f"{team.url}/no-such-screen")
        page.get_by_role("heading", name="Log in to Duolog").wait_for()
        assert page.title() == "Log in · Duolog"
        no_axe_violations(page)
        second = context.new_page()
        second.goto(f"{team.url}/no-such-screen")
        second.get_by_role("heading", name="Log in to Duolog").wait_for()
        second.evaluate("window.sameDocument = true")

        page.get_by_label("User").fill("admin")
        page.get_by_label("Password").fill("wrong")
        page.keyboard.press("Enter")
        page.get_by_role("alert").get_by_text("User or password is wrong").wait_for()
        page.get_by_label("Password").fill(password)
        page.get_by_role("button", name="Log in").click()

        page.get_by_role("heading", name="This page does not exist").wait_for()
        assert page.get_by_role("main").evaluate("one => one === document.activeElement")
        assert page.get_by_role("main").get_attribute("aria-label") == "No such screen"
        second.get_by_role("heading", name="This page does not exist").wait_for()
        (cookie,) = context.cookies()
        assert cookie["secure"]
        assert cookie["httpOnly"]
        page.get_by_role("button", name="Go to the start").click()
        page.get_by_role("heading", name="Overview", level=1).wait_for()
        page.get_by_role("button", name="Log out admin").click()
        page.get_by_role("heading", name="Log in to Duolog").wait_for()
        second.get_by_role("heading", name="Log in to Duolog").wait_for()
        assert second.evaluate("window.sameDocument") is True
        page.reload()
        page.get_by_role("heading", name="Log in to Duolog").wait_for()
        context.close()
