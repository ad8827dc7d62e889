"""The shell of the console: navigation, palette, shortcuts, themes, sizes."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from console.servers import Console

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page, Request


def search(page: "Page", text: str) -> None:
    """Open the palette by keyboard, and search."""
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search screens").fill(text)


def themed(page: "Page", theme: str) -> None:
    """Wait for a theme; `wait_for_function` would evaluate a text, which the page forbids."""
    page.locator(f"html[data-theme={theme}]").wait_for(state="attached")


def test_the_palette_finds_by_letters_and_runs_by_keyboard(page: "Page") -> None:
    search(page, "thdk")
    page.get_by_role("option", name="Theme: dark").wait_for()
    page.keyboard.press("Enter")

    page.get_by_role("combobox", name="Search screens").wait_for(state="detached")
    themed(page, "dark")

    search(page, "create a topic")
    page.get_by_role("option", name="Create a topic").wait_for()
    page.keyboard.press("Enter")
    page.get_by_role("dialog", name="Create a topic").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")

    search(page, "no such thing zzzz")
    page.get_by_text("Nothing found.").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("combobox", name="Search screens").wait_for(state="detached")


def test_the_focus_returns_to_where_it_was_when_a_dialog_closes(page: "Page") -> None:
    button = page.get_by_role("button", name="Keyboard shortcuts")
    button.focus()
    page.keyboard.press("Enter")
    page.get_by_role("dialog", name="Keyboard shortcuts").wait_for()
    page.keyboard.press("Escape")

    page.get_by_role("dialog").wait_for(state="detached")
    assert button.evaluate("element => element === document.activeElement")


def test_letters_are_shortcuts_until_they_are_switched_off(page: "Page") -> None:
    page.keyboard.press("?")
    sheet = page.get_by_role("dialog", name="Keyboard shortcuts")
    sheet.get_by_text("Go to Overview").wait_for()
    sheet.get_by_label("Use single letters as shortcuts").uncheck()
    page.keyboard.press("Escape")
    sheet.wait_for(state="detached")

    page.keyboard.press("?")
    search(page, "shortcuts")  # Another dialog: the sheet would have been open by now.
    page.get_by_role("option", name="Show keyboard shortcuts").wait_for()
    assert sheet.count() == 0


def test_a_shortcut_of_two_letters_goes_to_a_screen_and_back_returns(
    page: "Page", console: Console
) -> None:
    page.goto(f"{console.url}/no-such-screen?x=1")
    page.get_by_role("heading", name="This page does not exist").wait_for()
    page.keyboard.press("g")
    page.keyboard.press("h")

    page.get_by_role("heading", name="Overview", level=1).wait_for()
    assert page.url == console.url
    page.go_back()
    page.get_by_role("heading", name="This page does not exist").wait_for()
    assert page.url == f"{console.url}/no-such-screen?x=1"
    page.go_forward()
    page.get_by_role("heading", name="Overview", level=1).wait_for()


def test_a_deep_link_opens_its_screen_after_the_login_and_keeps_its_state(
    browser_context: "BrowserContext", console: Console
) -> None:
    page = browser_context.new_page()
    page.goto(f"{console.url}/no-such-screen?a=b%20c#token={console.token}")

    page.get_by_role("heading", name="This page does not exist").wait_for()
    assert page.url == f"{console.url}/no-such-screen?a=b%20c"


def test_without_the_token_nothing_is_shown_and_a_wrong_one_is_refused(
    browser_context: "BrowserContext", console: Console
) -> None:
    page = browser_context.new_page()
    page.goto(f"{console.url}#token=wrong")
    page.get_by_role("heading", name="Open the console").wait_for()
    assert "wrong" not in page.url
    assert page.get_by_role("navigation").count() == 0

    page.get_by_label("Token").fill("also wrong")
    page.get_by_role("button", name="Open").click()
    page.get_by_role("alert").get_by_text("This is not the token of this server").wait_for()
    page.get_by_label("Token").fill(f"  {console.token} ")
    page.keyboard.press("Enter")

    page.get_by_role("heading", name="Overview", level=1).wait_for()


def test_axe_finds_nothing_on_the_login_the_palette_and_the_sheet(
    browser_context: "BrowserContext",
    console: Console,
    no_axe_violations: Callable[["Page"], None],
) -> None:
    page = browser_context.new_page()
    page.goto(console.url)
    page.get_by_role("heading", name="Open the console").wait_for()
    no_axe_violations(page)

    page.goto(console.url_with_token)
    page.reload()  # Only the part after # differs, which loads nothing.
    page.goto(console.url_with_token)
    page.get_by_label("Token").or_(page.get_by_role("heading", name="Overview")).first.wait_for()
    if page.get_by_label("Token").count():
        page.get_by_label("Token").fill(console.token)
        page.keyboard.press("Enter")
    page.get_by_role("heading", name="Overview", level=1).wait_for()
    search(page, "o")
    no_axe_violations(page)
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Keyboard shortcuts").wait_for()
    no_axe_violations(page)


def test_a_second_tab_shares_the_session(page: "Page", console: Console) -> None:
    second = page.context.new_page()
    second.goto(console.url)
    second.get_by_role("heading", name="Overview", level=1).wait_for()

    page.get_by_role("heading", name="Overview", level=1).wait_for()
    assert second.url == page.url == console.url


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_theme_follows_the_system_and_the_choice_outlives_a_reload(
    page: "Page", theme: str
) -> None:
    other = "dark" if theme == "light" else "light"
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    themed(page, theme)

    page.get_by_label("Theme").select_option(other)
    themed(page, other)
    page.reload()
    page.get_by_role("heading", name="Overview", level=1).wait_for()

    assert page.evaluate("document.documentElement.dataset.theme") == other
    assert page.get_by_label("Theme").input_value() == other


def test_the_time_zone_is_a_choice_that_outlives_a_reload(page: "Page") -> None:
    page.get_by_label("Time zone").select_option("Asia/Tokyo")
    page.reload()

    page.get_by_label("Time zone").wait_for()
    assert page.get_by_label("Time zone").input_value() == "Asia/Tokyo"


def test_the_palette_has_the_settings_of_the_shell(page: "Page") -> None:
    search(page, "zone tokyo")
    page.get_by_role("option", name="Time zone: Asia/Tokyo").wait_for()
    page.keyboard.press("Enter")
    assert page.get_by_label("Time zone").input_value() == "Asia/Tokyo"

    search(page, "zone utc")
    page.get_by_role("option", name="Time zone: UTC").wait_for()
    page.keyboard.press("Enter")
    assert page.get_by_label("Time zone").input_value() == "UTC"

    sheet = page.get_by_role("dialog", name="Keyboard shortcuts")
    search(page, "switch off single letters")
    page.get_by_role("option", name="Switch off single letters as shortcuts").click()
    page.get_by_role("dialog").wait_for(state="detached")
    page.keyboard.press("?")
    search(page, "switch on single letters")  # The sheet would have been open by now.
    page.get_by_role("option", name="Switch on single letters as shortcuts").wait_for()
    assert sheet.count() == 0
    page.keyboard.press("Enter")
    page.get_by_role("dialog").wait_for(state="detached")
    page.keyboard.press("?")
    sheet.wait_for()


@pytest.mark.parametrize("width", [320, 400, 1280, 3840])
def test_nothing_is_wider_than_the_window_and_a_narrow_one_has_a_menu(
    page: "Page", width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.get_by_role("heading", name="Overview", level=1).wait_for()

    assert page.evaluate("document.documentElement.scrollWidth") <= width
    menu = page.get_by_role("button", name="Menu")
    assert menu.is_visible() == (width < 760)
    if width < 760:
        assert not page.get_by_role("link", name="Overview").is_visible()
        menu.click()
        page.get_by_role("link", name="Overview").click()
        page.get_by_role("heading", name="Overview", level=1).wait_for()


def test_the_first_tab_stop_skips_to_the_content(page: "Page") -> None:
    page.reload()
    page.get_by_role("heading", name="Overview", level=1).wait_for()

    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to content")
    assert skip.evaluate("element => element === document.activeElement")
    page.keyboard.press("Enter")

    page.locator("main:focus").wait_for()


def test_the_page_loads_nothing_from_elsewhere_and_keeps_nothing_secret(
    browser: "Browser", console: Console
) -> None:
    context = browser.new_context()
    asked: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    page = context.new_page()

    page.goto(console.url_with_token)
    page.get_by_role("heading", name="Overview", level=1).wait_for()

    own = console.url.removesuffix("/console")
    assert [url for url in asked if not url.startswith((own, "data:"))] == []
    stored = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    assert console.token not in stored
    assert console.token not in page.content()
    context.close()


def test_a_frame_of_another_page_shows_nothing(page: "Page", console: Console) -> None:
    status, body, headers = console.answer("GET", "/console")
    assert (status, headers["x-frame-options"]) == (200, "DENY")
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert re.search(rb'<script type="module" nonce="[\w-]{20,}"', body)
    del page


@pytest.mark.parametrize(
    "headers",
    [{"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"}],
    ids=str,
)
@pytest.mark.parametrize("path", ["/console", "/session", "/v1/events"])
def test_a_page_of_another_site_gets_nothing(
    console: Console, path: str, headers: dict[str, str]
) -> None:
    status, body, _ = console.answer(
        "GET", path, Authorization=f"Bearer {console.token}", **headers
    )

    assert status == 403, body


def test_a_page_in_the_background_gives_its_connection_up(page: "Page", console: Console) -> None:
    """A browser opens six connections to a host: tabs in the background must not hold them."""
    hide = """hidden => {
        Object.defineProperty(document, "hidden", {value: hidden, configurable: true});
        document.dispatchEvent(new Event("visibilitychange"));
    }"""

    def is_events(request: "Request") -> bool:
        return request.url.endswith("/v1/events")

    with page.expect_request(is_events):
        page.goto(console.url)
    with page.expect_event("requestfailed", is_events):
        page.evaluate(hide, arg=True)
    with page.expect_request(is_events):
        page.evaluate(hide, arg=False)
