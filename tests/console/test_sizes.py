"""Every screen with data on a phone, a small laptop and a very wide screen."""

from typing import TYPE_CHECKING

import pytest

from console.query_server import QueryConsole
from console.servers import Console
from duolog.testing import Client

if TYPE_CHECKING:
    from playwright.sync_api import Page

WIDTHS = (400, 1024, 3840)
NAME_PX_MIN = 90
"""The first column has the name or the number that distinguishes rows."""
SCHEMA = '{"type": "record", "name": "Size", "fields": [{"name": "n", "type": "long"}]}'


def assert_fits(page: "Page", url: str, width: int) -> None:
    """Open a screen, wait for what it loads, and measure it."""
    page.goto(url)
    page.locator("main h1").first.wait_for()
    page.locator("main .waiting").first.wait_for(state="detached")

    assert page.evaluate("document.documentElement.scrollWidth") <= width, url
    heads = page.locator("main [data-table]").evaluate_all("""tables => tables.map((one) =>
        [...one.querySelectorAll("th")].map((head) => head.offsetWidth).find((width) => width > 0))
    """)
    assert [one for one in heads if one < NAME_PX_MIN] == [], url


@pytest.mark.parametrize("width", WIDTHS)
def test_screens_of_queries_fit(
    query_page: "Page", query_console: QueryConsole, width: int
) -> None:
    query_page.set_viewport_size({"width": width, "height": 900})

    for path in (
        "",
        "/sql?sql=SELECT%20*%20FROM%20orders%3B",
        "/streams",
        "/streams/ORDERS",
        "/queries",
        "/queries/CTAS_TOTALS_1",
        "/queries/CTAS_TOTALS_1?tab=plan",
        "/queries/CSAS_BROKEN_2",
        "/lineage",
        "/dead-letters",
        "/dead-letters/wrong-orders?letter=0:0",
    ):
        assert_fits(query_page, query_console.url + path, width)


@pytest.mark.parametrize("width", WIDTHS)
def test_screens_of_the_cluster_fit(page: "Page", console: Console, width: int) -> None:
    client, topic = Client(console.bootstrap_servers), f"of-width-{width}"
    client.create_topic(topic)
    client.produce(topic, "a key", '{"text": "' + "long " * 200 + '"}')
    name = f"{topic}-value"
    console.ask("POST", "/v1/schemas/register", {"subject": name, "schema": SCHEMA})
    page.set_viewport_size({"width": width, "height": 900})

    for path in (
        "/topics",
        f"/topics/{topic}",
        f"/topics/{topic}?at=0-0",
        f"/topics/{topic}?tab=partitions",
        f"/topics/{topic}?tab=settings",
        f"/topics/{topic}?tab=produce",
        "/schemas",
        f"/schemas/{name}",
        f"/schemas/{name}?view=draft",
        "/groups",
        "/clients",
        "/users",
        "/users?view=rules",
        "/settings",
    ):
        assert_fits(page, console.url + path, width)
