"""Everything that a request passes before the registry answers it.

    Host, Origin        403   a web page must not use a registry on loopback
    authentication      401   429 if too many passwords are being checked
    path, query         400   not UTF-8
    route               404, 405; OPTIONS is answered with the methods of the path
    type of the body    415
    accepted types      406, 400
    body                400 not JSON, 422 missing

The order of the last five is that of JAX-RS. Errors are objects `{"error_code", "message"}` with
the texts of Confluent's registry. All errors that an answer may raise end here.
"""

import asyncio
import logging
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from duolog.core.limited_log import LimitedLog
from duolog.registry.access.authentication import Authentication, TooManyChecks, Unauthenticated
from duolog.registry.access.client import Client
from duolog.registry.errors import RequestError
from duolog.registry.http.access_log import log_access
from duolog.registry.http.bodies import MalformedBody, read_json
from duolog.registry.http.hosts import AllowedHosts
from duolog.registry.http.media_types import (
    JSON,
    MalformedAccept,
    NotAcceptable,
    is_consumed,
    produced_for,
)
from duolog.registry.http.messages import HttpRequest, HttpResponse
from duolog.registry.http.parameters import MalformedParameter, MalformedQuery, Parameters
from duolog.registry.http.paths import MalformedPath, segments, without_context
from duolog.registry.http.routes import (
    Endpoint,
    Kind,
    MethodNotAllowed,
    PathNotFound,
    allowed_methods,
    find,
)
from duolog.registry.http.wire import error_response
from duolog.registry.json_text import Json

logger = logging.getLogger(__name__)

_REQUEST_ID: Final = "x-request-id"
_REQUEST_ID_MAX: Final = 128
_FORWARDED: Final = "x-forward"


@dataclass(frozen=True, slots=True)
class Call:
    """A request to an endpoint, by a known client, with a readable body.

    Attributes:
        path: the parameters of the path.
        media_type: the type of the answer.
        forwarded: whether another registry sent the request on, so that this one must not.
    """

    endpoint: Endpoint
    path: Mapping[str, str]
    query: Parameters
    body: Json
    client: Client
    media_type: str
    forwarded: bool
    request: HttpRequest


Handle = Callable[[Call], Awaitable[HttpResponse]]


class Gate:
    """Turns requests into calls, and every error into a response."""

    def __init__(self, hosts: AllowedHosts, authentication: Authentication, handle: Handle) -> None:
        self._hosts = hosts
        self._authentication = authentication
        self._handle = handle
        self._strangers = LimitedLog(_on_loop, time.monotonic)

    async def answer(self, request: HttpRequest) -> HttpResponse:
        """Answer one request; never raises an error of the request."""
        start = time.perf_counter()
        user = ""
        strangers: LimitedLog | None = self._strangers
        try:
            self._ensure_same_site(request)
            host = request.client.rpartition(":")[0]
            authorization = request.headers.get("authorization")
            found = await self._authentication.client(authorization, host)
            user, strangers = found.name, None
            response = await self._answer(request, found)
        except _Refusal as refusal:
            response = refusal.response
        except Unauthenticated:
            challenges = (("WWW-Authenticate", each) for each in self._authentication.challenges)
            response = error_response(401, "Unauthorized", headers=tuple(challenges))
        except TooManyChecks:
            response = error_response(429, "Too many passwords are being checked now")
        response = _with_request_id(response, request)
        seconds = time.perf_counter() - start
        log_access(request, response, seconds=seconds, user=user, strangers=strangers)
        return response

    def _ensure_same_site(self, request: HttpRequest) -> None:
        host = request.headers.get("host")
        if not self._hosts.allows_host(host):
            raise _Refusal(
                error_response(
                    403,
                    f"The host '{(host or '')[:100]}' is not allowed here. "
                    "Start the registry with --allow-host to allow it.",
                )
            )
        origin = request.headers.get("origin")
        if origin != f"http://{host}" and not self._hosts.allows_origin(origin):
            raise _Refusal(
                error_response(403, f"The origin '{(origin or '')[:100]}' is not allowed")
            )

    async def _answer(self, request: HttpRequest, client: Client) -> HttpResponse:
        endpoint, path, query = _route(request)
        media_type = _negotiated(request)
        try:
            call = Call(
                endpoint,
                path,
                query,
                _body(request) if _needs_body(endpoint) else None,
                client,
                media_type,
                _FORWARDED in request.headers,
                request,
            )
            return await self._handle(call)
        except _MissingBody:
            message = f"{endpoint.operation}.request must not be null (was null)"
            return error_response(422, message, code=422, media_type=media_type)
        except MalformedBody as error:
            return error_response(400, str(error), media_type=media_type)
        except MalformedParameter:
            return error_response(404, "HTTP 404 Not Found", media_type=media_type)
        except RequestError as error:
            return error_response(
                error.status, error.message, code=error.code, media_type=media_type
            )
        except Exception:  # noqa: BLE001  The edge of the request.
            fields = {"operation": endpoint.operation}
            self._strangers.log(logger, logging.ERROR, "request failed", fields, exc_info=True)
            return error_response(500, "Internal Server Error", media_type=media_type)


def _on_loop(seconds: float, call: Callable[[], None]) -> None:
    asyncio.get_running_loop().call_later(seconds, call)


class _Refusal(Exception):
    """A request that gets no further, with its response."""

    def __init__(self, response: HttpResponse) -> None:
        super().__init__()
        self.response = response


class _MissingBody(Exception):
    """A request without the body that it must have."""


def _route(request: HttpRequest) -> tuple[Endpoint, Mapping[str, str], Parameters]:
    try:
        path, query = without_context(
            segments(request.path), request.method, Parameters.read(request.query)
        )
        if request.method == "OPTIONS":
            allow = ("Allow", ", ".join(allowed_methods(path)))
            raise _Refusal(HttpResponse(200, headers=(allow,)))
        endpoint, values = find(request.method, path)
    except (MalformedPath, MalformedQuery) as error:
        message = str(error) or "HTTP 400 Bad Request"
        raise _Refusal(error_response(400, message)) from error
    except PathNotFound as error:
        raise _Refusal(error_response(404, "HTTP 404 Not Found")) from error
    except MethodNotAllowed as error:
        allow = ("Allow", ", ".join(error.allowed))
        response = error_response(405, "HTTP 405 Method Not Allowed", headers=(allow,))
        raise _Refusal(response) from error
    return endpoint, values, query


def _negotiated(request: HttpRequest) -> str:
    headers = request.headers
    if (request.body or request.method in {"POST", "PUT"}) and not is_consumed(
        headers.get("content-type")
    ):
        raise _Refusal(error_response(415, "HTTP 415 Unsupported Media Type", media_type=JSON))
    try:
        return produced_for(headers.get("accept"))
    except NotAcceptable as error:
        raise _Refusal(error_response(406, "HTTP 406 Not Acceptable")) from error
    except MalformedAccept as error:
        raise _Refusal(error_response(400, "HTTP 400 Bad Request")) from error


def _needs_body(endpoint: Endpoint) -> bool:
    return endpoint.method in {"POST", "PUT"} and endpoint.kind is not Kind.SERVER


def _body(request: HttpRequest) -> Json:
    if not request.body.strip():
        raise _MissingBody
    body = read_json(request.body)
    if body is None:
        raise _MissingBody
    return body


def _with_request_id(response: HttpResponse, request: HttpRequest) -> HttpResponse:
    given = request.headers.get(_REQUEST_ID, "").strip()
    usable = 0 < len(given) <= _REQUEST_ID_MAX and given.isascii() and given.isprintable()
    request_id = given if usable else str(uuid.uuid4())
    return HttpResponse(
        response.status,
        response.body,
        response.media_type,
        (*response.headers, ("X-Request-ID", request_id)),
        response.note,
    )
