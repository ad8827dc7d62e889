"""Levels of the access log: polls do not flood it, and failures stay."""

import asyncio
import logging

import pytest

from duolog.server.errors import NOT_READY, RequestRefused
from duolog.server.http.routes import ENDPOINTS, Endpoint, Polled
from duolog.server.messages import Request, Response, json_response
from duolog.server.operations.context import ServerContext
from unit.server.memory import MemoryServer, context

PAGE = {"X-Requested-With": "duolog-console"}


async def _answered(request: Request, _context: ServerContext) -> Response:
    match request.query.get("as"):
        case "unavailable":
            raise RequestRefused("no broker answers", NOT_READY)
        case "invalid":
            raise RequestRefused("this is not valid")
        case _:
            return json_response({})


ROWS = (
    Endpoint("GET", "/poll", _answered, polled=Polled.PAGE),
    Endpoint("GET", "/health", _answered, polled=Polled.MONITORS),
    Endpoint("GET", "/other", _answered),
)


def levels(caplog: pytest.LogCaptureFixture, target: str, **headers: str) -> list[str]:
    async def run() -> None:
        server = MemoryServer(context(), endpoints=ROWS)
        await server.client().ask("GET", target, b"", **headers)

    caplog.clear()
    with caplog.at_level(logging.DEBUG, "duolog.server.access"):
        asyncio.run(run())
    return [one.levelname for one in caplog.records if one.name == "duolog.server.access"]


@pytest.mark.parametrize(
    ("target", "headers", "level"),
    [
        ("/poll", PAGE, "DEBUG"),
        ("/poll", {}, "INFO"),
        ("/poll?as=invalid", PAGE, "INFO"),
        ("/poll?as=unavailable", PAGE, "WARNING"),
        ("/health", {}, "DEBUG"),
        ("/health?as=unavailable", {}, "WARNING"),
        ("/other", PAGE, "INFO"),
        ("/missing", PAGE, "INFO"),
    ],
)
def test_what_is_asked_again_and_again_is_logged_for_developers_unless_it_fails(
    target: str, headers: dict[str, str], level: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert levels(caplog, target, **headers) == [level]


def test_no_change_and_no_content_of_a_topic_is_left_out_of_the_log() -> None:
    quiet = [row for row in ENDPOINTS if row.polled is not Polled.NO]

    assert not [row.path for row in quiet if row.changes]
    assert {row.path for row in quiet if row.method != "GET"} == {"/v1/check", "/v1/completion"}
    for part in ("records", "}/live", "export", "{part}", "/v1/users", "/v1/acls", "/v1/settings"):
        assert not [row.path for row in quiet if part in row.path]
    monitors = {row.path for row in quiet if row.polled is Polled.MONITORS}
    assert monitors == {"/chc/live", "/chc/ready", "/healthcheck", "/metrics"}
