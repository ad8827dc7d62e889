"""An answered request leaves nothing for the collector of reference cycles, which stops all others."""

import gc
from collections import Counter
from collections.abc import Iterator

import pytest

from unit.server.http.test_http1 import post, run, serve
from unit.server.http.test_http2 import Client2


@pytest.fixture(autouse=True)
def no_collections() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def requests() -> int:
    """Return how many requests are in memory, in uvicorn's form and in ours."""
    kinds = Counter(type(one).__name__ for one in gc.get_objects())
    return max(kinds["Passage"], kinds["RequestResponseCycle"])


@pytest.mark.parametrize("accept", ["", "application/vnd.ksqlapi.delimited.v1"])
def test_requests_of_http1_are_freed_when_they_are_answered(accept: str) -> None:
    async def test() -> None:
        before, client = requests(), serve().client()
        for _ in range(10):
            client.send(post(b"one").replace(b"\r\n", f"\r\nAccept: {accept}\r\n".encode(), 1))
            await client.reply()

        assert requests() - before <= 1  # The last one belongs to its connection.

    run(test())


def test_requests_of_http2_are_freed_when_they_are_answered() -> None:
    async def test() -> None:
        client = Client2(serve())
        before = requests()
        for _ in range(10):
            await client.until(client.ask("POST", "/echo"))

        assert requests() - before <= 1

    run(test())
