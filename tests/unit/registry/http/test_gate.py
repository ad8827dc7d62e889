"""The checks of a request before the registry answers it, and its refusals."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from duolog.core.limited_log import LINES_MAX
from duolog.registry.access.authentication import (
    BASIC_CHALLENGE,
    TooManyChecks,
    Unauthenticated,
)
from duolog.registry.access.users import ANONYMOUS, User
from duolog.registry.errors import RequestError
from duolog.registry.http.gate import Call, Gate
from duolog.registry.http.hosts import AllowedHosts
from duolog.registry.http.media_types import JSON, UNVERSIONED, V1
from duolog.registry.http.messages import HttpRequest, HttpResponse
from duolog.registry.http.parameters import MalformedParameter

Handle = Callable[[Call], Awaitable[HttpResponse]]


class Authentication:
    """Accepts every request, unless the header says otherwise."""

    challenges = (BASIC_CHALLENGE,)

    async def client(self, authorization: str | None, host: str) -> User:
        assert host == "127.0.0.1"
        if authorization == "wrong":
            raise Unauthenticated
        if authorization == "busy":
            raise TooManyChecks
        return ANONYMOUS


def send(
    method: str = "GET",
    target: str = "/subjects",
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
    handle: Handle | None = None,
) -> tuple[HttpResponse, list[Call]]:
    calls: list[Call] = []

    async def ok(call: Call) -> HttpResponse:
        calls.append(call)
        return HttpResponse(200, b"[]", call.media_type)

    path, _, query = target.encode().partition(b"?")
    given = {"host": "localhost:8081"} | dict(headers or {})
    request = HttpRequest(method, path, query, given, body, "127.0.0.1:4242")
    gate = Gate(AllowedHosts(["127.0.0.1"]), Authentication(), handle or ok)
    return asyncio.run(gate.answer(request)), calls


def refusal(response: HttpResponse) -> tuple[int, Any]:
    return response.status, json.loads(response.body)


def test_a_call_has_the_decoded_path_the_parameters_and_the_body() -> None:
    response, (call,) = send(
        "POST", "/subjects/a%2Fb/versions?normalize=true", b'{"schema": "x"}', {"x-forward": "true"}
    )

    assert response.status == 200
    assert call.endpoint.operation == "register"
    assert call.path == {"subject": "a/b"}
    assert call.query.flag("normalize")
    assert call.body == {"schema": "x"}
    assert call.client is ANONYMOUS
    assert call.forwarded


@pytest.mark.parametrize(
    ("accept", "media_type"), [(None, V1), (JSON, JSON), (UNVERSIONED, UNVERSIONED)]
)
def test_the_answer_has_the_type_that_the_client_prefers(
    accept: str | None, media_type: str
) -> None:
    response, _ = send(headers={} if accept is None else {"accept": accept})

    assert response.media_type == media_type


@pytest.mark.parametrize(
    ("method", "target", "body", "headers", "status", "message"),
    [
        ("GET", "/nope", b"", {}, 404, "HTTP 404 Not Found"),
        ("GET", "/subjects//versions", b"", {}, 404, "HTTP 404 Not Found"),
        ("PATCH", "/config", b"{}", {}, 405, "HTTP 405 Method Not Allowed"),
        ("TRACE", "/subjects", b"", {}, 405, "HTTP 405 Method Not Allowed"),
        ("GET", "/subjects", b"", {"accept": "text/html"}, 406, "HTTP 406 Not Acceptable"),
        ("GET", "/subjects", b"", {"accept": "json"}, 400, "HTTP 400 Bad Request"),
        (
            "POST",
            "/subjects/a",
            b"{}",
            {"content-type": "text/plain"},
            415,
            "HTTP 415 Unsupported Media Type",
        ),
        (
            "PUT",
            "/config",
            b"",
            {"content-type": "application/x-www-form-urlencoded"},
            415,
            "HTTP 415 Unsupported Media Type",
        ),
        ("GET", "/subjects/%FF", b"", {}, 400, "HTTP 400 Bad Request"),
        ("GET", "/subjects?a=%FF", b"", {}, 400, "HTTP 400 Bad Request"),
        (
            "GET",
            "/contexts/a:b/subjects",
            b"",
            {},
            400,
            "Context name 'a:b' cannot contain a colon",
        ),
        (
            "POST",
            "/subjects/a",
            b"",
            {},
            422,
            "look_up_schema.request must not be null (was null)",
        ),
        (
            "PUT",
            "/mode",
            b" null ",
            {},
            422,
            "set_mode.request must not be null (was null)",
        ),
        ("GET", "/subjects", b"", {"authorization": "wrong"}, 401, "Unauthorized"),
        (
            "GET",
            "/subjects",
            b"",
            {"authorization": "busy"},
            429,
            "Too many passwords are being checked now",
        ),
    ],
)
def test_a_request_is_refused_with_the_registrys_words(
    method: str,
    target: str,
    body: bytes,
    *,
    headers: dict[str, str],
    status: int,
    message: str,
) -> None:
    response, calls = send(method, target, body, headers)

    assert refusal(response) == (status, {"error_code": status, "message": message})
    assert calls == []


def test_a_body_that_is_not_json_is_refused() -> None:
    response, _ = send("POST", "/subjects/a", b"{")

    assert response.status == 400
    assert json.loads(response.body)["error_code"] == 400


@pytest.mark.parametrize("headers", [{"host": "evil.example"}, {"origin": "http://evil.example"}])
@pytest.mark.parametrize("method", ["GET", "OPTIONS"])
def test_a_web_page_of_another_site_is_refused(method: str, headers: dict[str, str]) -> None:
    response, calls = send(method, headers=headers)

    assert response.status == 403
    assert calls == []


def test_a_page_of_the_registrys_own_host_is_served() -> None:
    response, _ = send(headers={"origin": "http://localhost:8081"})

    assert response.status == 200


def test_a_missing_password_is_asked_for() -> None:
    response, _ = send(headers={"authorization": "wrong"})

    assert (
        "WWW-Authenticate",
        'Basic realm="schema registry", charset="UTF-8"',
    ) in response.headers


def test_options_and_405_name_the_methods() -> None:
    options, _ = send("OPTIONS", "/config/a")
    refused, _ = send("PATCH", "/config/a")

    assert options.status == 200
    assert ("Allow", "DELETE, GET, HEAD, OPTIONS, PUT") in options.headers
    assert ("Allow", "DELETE, GET, HEAD, OPTIONS, PUT") in refused.headers


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (RequestError("Subject 'a' not found.", 40401), (404, 40401, "Subject 'a' not found.")),
        (RequestError("Leader not known.", 50004), (500, 50004, "Leader not known.")),
        (MalformedParameter(), (404, 404, "HTTP 404 Not Found")),
    ],
)
def test_errors_of_the_registry_keep_their_codes(
    error: Exception, expected: tuple[int, int, str]
) -> None:
    async def fail(_call: Call) -> HttpResponse:
        raise error

    response, _ = send(handle=fail, headers={"accept": UNVERSIONED})

    status, code, message = expected
    assert refusal(response) == (status, {"error_code": code, "message": message})
    assert response.media_type == UNVERSIONED


def test_a_defect_is_answered_without_its_details_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def fail(_call: Call) -> HttpResponse:
        raise KeyError("a secret")

    response, _ = send(handle=fail)

    expected = {"error_code": 500, "message": "Internal Server Error"}
    assert refusal(response) == (500, expected)
    # Not the text: in a process with a JVM, PySpark sets a format of its own.
    logged = [record.exc_info[1] for record in caplog.records if record.exc_info]
    assert [str(error) for error in logged] == ["'a secret'"]


@pytest.mark.parametrize(
    ("given", "kept"),
    [("a-b.1", True), ("", False), ("x" * 129, False), ("é", False), ("a\tb", False)],
)
def test_the_request_id_of_the_client_is_kept_if_it_is_harmless(given: str, *, kept: bool) -> None:
    response, _ = send(headers={"x-request-id": given})

    (request_id,) = [value for name, value in response.headers if name == "X-Request-ID"]
    assert (request_id == given) is kept
    assert request_id


def test_each_request_is_logged_without_its_password(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "duolog.registry.access")

    send("GET", "/subjects?deleted=true", headers={"authorization": "Basic c2VjcmV0"})
    send("GET", "/nope")

    first, second = [vars(record) for record in caplog.records]
    assert (first["method"], first["path"], first["status"], first["bytes"]) == (
        "GET",
        "/subjects?deleted=true",
        200,
        2,
    )
    assert second["status"] == 404
    assert "c2VjcmV0" not in str(first)


@pytest.mark.parametrize("headers", [{"authorization": "wrong"}, {"host": "evil.example"}])
def test_strangers_write_few_lines_and_users_all(
    caplog: pytest.LogCaptureFixture, headers: dict[str, str]
) -> None:
    """Each refused request wrote a line of its own, and filled the disk."""
    caplog.set_level(logging.INFO)

    async def ok(call: Call) -> HttpResponse:
        return HttpResponse(200, b"[]", call.media_type)

    gate = Gate(AllowedHosts(["127.0.0.1"]), Authentication(), ok)

    async def ask(more: dict[str, str], count: int) -> int:
        caplog.clear()
        given = {"host": "localhost:8081"} | more
        request = HttpRequest("GET", b"/subjects", b"", given, b"", "127.0.0.1:4242")
        for _ in range(count):
            await gate.answer(request)
        return len(caplog.records)

    async def scenario() -> None:
        assert await ask(headers, 5 * LINES_MAX) == LINES_MAX
        assert await ask({}, 5 * LINES_MAX) == 5 * LINES_MAX

    asyncio.run(scenario())
