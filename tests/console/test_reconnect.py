"""A server that goes away and returns while a page is open."""

from pathlib import Path
from typing import TYPE_CHECKING

from console.servers import Console

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext


def test_a_page_says_that_the_server_is_away_and_continues_when_it_is_back(
    tmp_path: Path, browser_context: "BrowserContext"
) -> None:
    with Console(tmp_path) as console:
        token, ports = console.token, console.process.ports()
        page = browser_context.new_page()
        page.goto(console.url_with_token)
        page.get_by_role("heading", name="Overview", level=1).wait_for()
        page.evaluate("window.sameDocument = true")

    page.get_by_text("The server cannot be reached.").wait_for()
    page.get_by_role("heading", name="Overview", level=1).wait_for()  # The page stays.

    with Console(tmp_path, ports=ports) as again:
        # The token has survived, and with it the session: no login is needed.
        assert again.token == token
        page.get_by_text("The server cannot be reached.").wait_for(state="detached")
        page.get_by_text("Connected again").wait_for()
        again.run(
            "CREATE STREAM back (id STRING KEY, n INT) WITH (KAFKA_TOPIC='back', PARTITIONS=1, VALUE_FORMAT='JSON');"
        )

        page.get_by_text("1 stream, 0 tables").wait_for()
        assert page.evaluate("window.sameDocument") is True
