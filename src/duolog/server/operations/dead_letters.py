"""Dead letters: list, show and replay them; see `server.dead_letters`.

    GET   /v1/dead-letters                                      topics, with counts
    GET   /v1/dead-letters/{topic}                              letters
    GET   /v1/dead-letters/{topic}/{partition}/{offset}/{part}  all bytes of the key or the value
    POST  /v1/dead-letters/{topic}/replay                       at most 10,000 letters in 30 seconds

`next` of the last two is for the `continue` of the next request: see `dead_letters.requests`.
Kafka's names of topics have no slash. Bytes are sent in a form that browsers do not run.
"""

import asyncio
import time
from typing import TYPE_CHECKING, Final, TypeVar

from duolog.core.errors import DuologError, KafkaError, StatementError
from duolog.runtime.dead_letters.errors import ReadingStopped, ReplayConflict, ReplayRefused
from duolog.server.access.checks import Checks
from duolog.server.access.visible_service import ensure_runs
from duolog.server.dead_letters.requests import read_count, read_replay, read_selection
from duolog.server.errors import (
    BAD_REQUEST,
    CONFLICT,
    NOT_FOUND,
    NOT_READY,
    REQUEST_TIMEOUT,
    RequestRefused,
)
from duolog.server.failures import failure_of, message_of
from duolog.server.messages import JSON, Request, Response, json_response
from duolog.server.operations.context import ServerContext

if TYPE_CHECKING:
    from collections.abc import Callable

    from duolog.server.dead_letters.letters import DeadLetters

_NEWEST: Final = 10_000
_NEWEST_MAX: Final = 100_000
_ANSWER_S: Final = 30.0
"""Letters that are not read or replayed by then are left to another request."""
_UNKNOWN_TOPIC: Final = 3
_BYTES: Final = "application/octet-stream"
_DOWNLOAD: Final = (
    ("Content-Disposition", "attachment"),
    ("Content-Security-Policy", "sandbox"),
)
T = TypeVar("T")


async def dead_letter_topics(request: Request, context: ServerContext) -> Response:
    """Answer with the topics that have dead letters."""
    newest = read_count(request.query, "newest", _NEWEST, _NEWEST_MAX)
    return await _json(request, context, lambda letters: letters.topics(newest))


async def dead_letters(request: Request, context: ServerContext) -> Response:
    """Answer with letters of a topic."""
    asked = read_selection(request.query)

    def found(letters: "DeadLetters") -> object:
        from duolog.server.dead_letters.guesses import guess_of  # noqa: PLC0415

        return letters.letters(
            request.path["topic"], asked, guess_of(letters.service, letters.checks)
        )

    return await _json(request, context, found)


async def dead_letter_bytes(request: Request, context: ServerContext) -> Response:
    """Answer with all bytes of the key or value of a letter; 204 if it is null.

    Raises:
        RequestRefused: there is no such letter.
    """
    _ensure_service(context)
    numbers = [request.path["partition"], request.path["offset"]]
    part = request.path["part"]
    if part not in ("key", "value") or not all(map(_is_number, numbers)):
        raise RequestRefused("HTTP 404 Not Found", NOT_FOUND)
    partition, offset = map(int, numbers)
    data = await _run(
        request,
        context,
        lambda letters: letters.data(request.path["topic"], partition, offset, part),
    )
    return Response(data or b"", 204 if data is None else 200, _BYTES, _DOWNLOAD)


async def replay_dead_letters(request: Request, context: ServerContext) -> Response:
    """Replay letters of a topic, or show what would be replayed."""
    asked = read_replay(request.body)
    topic = request.path["topic"]
    return await _json(request, context, lambda letters: letters.replay(topic, asked))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < _DIGITS_MAX


_DIGITS_MAX: Final = 19


async def _json(
    request: Request, context: ServerContext, call: "Callable[[DeadLetters], object]"
) -> Response:
    return json_response(await _run(request, context, call), media_type=JSON)


async def _run(request: Request, context: ServerContext, call: "Callable[[DeadLetters], T]") -> T:
    """Run a call on a thread, and translate its errors.

    Raises:
        RequestRefused: it has failed.
    """
    _ensure_service(context)
    checks = Checks(request.client, asyncio.get_running_loop())
    deadline = time.monotonic() + _ANSWER_S

    def stopped() -> bool:
        return context.stopping.is_set() or time.monotonic() > deadline

    def run() -> T:
        from duolog.server.dead_letters.letters import DeadLetters  # noqa: PLC0415

        return call(DeadLetters(context.sql, checks, stopped))

    try:
        return await context.workers.run(run)
    except DuologError as error:
        raise _refused(error) from error


def _ensure_service(context: ServerContext) -> None:
    if context.sql is None:
        raise RequestRefused("The server has no SQL service", NOT_READY)
    ensure_runs(context.sql)


def _refused(error: DuologError) -> RequestRefused:
    match error:
        case KafkaError() if error.code == _UNKNOWN_TOPIC:
            return RequestRefused(error.message, NOT_FOUND)
        case ReadingStopped():
            return RequestRefused(message_of(error), REQUEST_TIMEOUT)
        case ReplayConflict():
            return RequestRefused(message_of(error), CONFLICT)
        case ReplayRefused() | StatementError():
            return RequestRefused(message_of(error), BAD_REQUEST)
        case _:
            return failure_of(error)
