"""Lines of the delimited form, without a connection; see `test_http1` and `test_http2` for those."""

import asyncio
from typing import Any

import pytest

from duolog.server.http.lines import by_line
from duolog.server.queries.row_forms import DELIMITED


@pytest.mark.parametrize(("is_open", "added"), [(True, [b"[1]\n", b"[2]\n"]), (False, [])])
def test_nothing_is_added_to_the_stream_of_a_client_that_has_gone(
    *, is_open: bool, added: list[bytes]
) -> None:
    sent: list[Any] = []
    found: list[bytes] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def test() -> None:
        wrapped = by_line(send, found.append, lambda: is_open)
        headers = [(b"content-type", DELIMITED.encode())]
        await wrapped({"type": "http.response.start", "headers": headers})
        await wrapped({"type": "http.response.body", "body": b"[1]\n[2]\n[3]\n"})

    asyncio.run(test())
    assert found == added
    assert b"".join([*found, sent[1]["body"]]) == b"[1]\n[2]\n[3]\n"
