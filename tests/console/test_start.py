"""The start screen and the shell around it, in a browser."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from console.servers import Console

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page


def test_the_printed_address_opens_the_console_and_its_token_leaves_the_address(
    page: "Page", console: Console, browser_context: "BrowserContext"
) -> None:
    page.get_by_role("heading", name="Overview", level=1).wait_for()

    assert page.url == console.url
    (cookie,) = browser_context.cookies()
    assert (cookie["name"], cookie["httpOnly"], cookie["sameSite"]) == (
        "duolog_session",
        True,
        "Strict",
    )
    assert console.token not in cookie["value"]


def test_axe_finds_nothing_on_the_start_screen(
    page: "Page", no_axe_violations: Callable[["Page"], None]
) -> None:
    page.get_by_role("heading", name="Overview", level=1).wait_for()

    no_axe_violations(page)
