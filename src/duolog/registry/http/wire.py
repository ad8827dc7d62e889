"""Responses as bytes, and the body of an error."""

import json
import time
from functools import lru_cache
from http import HTTPStatus
from typing import Final

from duolog.registry.http.messages import HttpResponse

_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = (
    *("Jan", "Feb", "Mar", "Apr", "May", "Jun"),
    *("Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
)
CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"


def error_response(
    status: int,
    message: str,
    *,
    code: int | None = None,
    media_type: str = "application/json",
    headers: tuple[tuple[str, str], ...] = (),
) -> HttpResponse:
    """Return an error in the registry's form; the code is the status unless given."""
    body = json.dumps(
        {"error_code": status if code is None else code, "message": message},
        separators=(",", ":"),
    )
    return HttpResponse(
        status, body.encode(), media_type, headers, note="" if code is None else str(code)
    )


def encode(response: HttpResponse, *, method: str, keep_alive: bool) -> bytes:
    """Return a response as bytes; without its body if the method is HEAD."""
    lines = [
        _status_line(response.status),
        f"Date: {_date(int(time.time()))}",
        "X-Content-Type-Options: nosniff",
    ]
    if response.body or response.status not in {204, 304}:
        lines.append(f"Content-Length: {len(response.body)}")
    if response.body:
        lines.append(f"Content-Type: {response.media_type}")
    lines.extend(f"{name}: {value}" for name, value in response.headers)
    if not keep_alive:
        lines.append("Connection: close")
    head = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"
    return head if method == "HEAD" else head + response.body


@lru_cache(maxsize=128)
def _status_line(status: int) -> str:
    phrases = {422: "Unprocessable entity"}  # As the registry's clients know it from Jetty.
    return f"HTTP/1.1 {status} {phrases.get(status) or HTTPStatus(status).phrase}"


@lru_cache(maxsize=1)
def _date(second: int) -> str:
    # Not by strftime, whose names of days and months depend on the locale.
    year, month, day, hour, minute, seconds, weekday, *_ = time.gmtime(second)
    date = f"{_DAYS[weekday]}, {day:02} {_MONTHS[month - 1]} {year}"
    return f"{date} {hour:02}:{minute:02}:{seconds:02} GMT"
