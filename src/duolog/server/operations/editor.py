"""Help for editors of statements: completion and checks. Nothing is run.

    POST /v1/completion   {"sql": …, "offset": …}       what is possible at a place
    POST /v1/check        {"sql": …}                    statements with kinds, and diagnostics

Both take `properties` and `sessionVariables` as /query-stream does. Offsets and columns are UTF-16
code units, as in JavaScript and in the Language Server Protocol; offsets count from 0, lines and
columns from 1. What a client may not describe is neither offered nor known.

An editor asks while a text is being typed, so that no text is a bad request: what is wrong with it,
or with the properties of the session, is in the answer, whose status is 200.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from duolog.core.errors import DuologError
from duolog.core.units import KIB
from duolog.server.access.guarded_session import Trial
from duolog.server.errors import (
    BAD_REQUEST,
    BODY_TOO_LARGE,
    FORBIDDEN,
    NOT_READY,
    REQUEST_TIMEOUT,
    RequestRefused,
)
from duolog.server.failures import bad_request, failure_of
from duolog.server.ksql.requests import StatementRequest, json_object, stream_request
from duolog.server.messages import JSON, Request, Response, json_response
from duolog.server.operations.context import ServerContext
from duolog.server.operations.ksql import checks_of, endpoints_of

TEXT_MAX: Final = 256 * KIB
"""Characters of a text. Larger ones are scripts, which are run and not edited."""
CHECK_S: Final = 3.0
"""Statements that are not checked by then are left out."""
_ANSWER_S: Final = 15.0
"""A registry that does not answer could keep a check."""
_OF_PROPERTIES: Final = frozenset({BAD_REQUEST, FORBIDDEN})
"""Codes of refused properties: unknown, invalid, or not the client's to set."""


async def completion(request: Request, context: ServerContext) -> Response:
    """Answer with what is possible at a place in a text.

    Raises:
        RequestRefused: the request cannot be read, or is too large.
    """
    asked = _asked(request, context)
    offset = json_object(request.body).get("offset")
    if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
        raise bad_request("offset must be a whole number of UTF-16 code units")

    def found(trial: Trial, topics: frozenset[str], _problem: str) -> dict[str, Any]:
        from duolog.server.editor.offered import offered  # noqa: PLC0415 - loads the functions

        return offered(asked.sql, offset, trial, topics)

    return await _answer(request, context, asked, found)


async def check(request: Request, context: ServerContext) -> Response:
    """Answer with the statements of a text, and with what is wrong with them.

    Raises:
        RequestRefused: the request cannot be read, or is too large.
    """
    asked = _asked(request, context)

    def found(trial: Trial, topics: frozenset[str], problem: str) -> dict[str, Any]:
        from duolog.server.editor.text_check import TextCheck  # noqa: PLC0415 - loads the planner

        partitions = trial.state.catalog.partitions
        for topic in partitions.keys() - topics:
            del partitions[topic]
        # Not from the start of the request: on a busy machine, the planner takes seconds to load.
        checked = TextCheck(trial, time.monotonic() + CHECK_S).run(asked.sql)
        if problem:
            checked.note_session(problem)
        return checked.json(asked.sql)

    return await _answer(request, context, asked, found)


def _asked(request: Request, context: ServerContext) -> StatementRequest:
    if context.ksql is None:
        raise RequestRefused("The server has no SQL service", NOT_READY)
    asked = stream_request(request.body)
    if len(asked.sql) > TEXT_MAX:
        raise RequestRefused(
            f"A text of more than {TEXT_MAX} characters is not checked: run it in parts",
            BODY_TOO_LARGE,
        )
    return asked


async def _answer(
    request: Request,
    context: ServerContext,
    asked: StatementRequest,
    find: Callable[[Trial, frozenset[str], str], dict[str, Any]],
) -> Response:
    """Run a function on a thread: a copy of the state of now, the visible topics, a problem.

    The problem is that of the properties of the session, which are then left out; usually empty.

    Raises:
        RequestRefused: it takes too long, or the service has ended.
    """
    endpoints, checks = endpoints_of(context), checks_of(request)

    def run() -> dict[str, Any]:
        try:
            return find(*endpoints.trial(asked, checks), "")
        except RequestRefused as error:
            if not asked.properties or error.code not in _OF_PROPERTIES:
                raise
            plain = replace(asked, properties={})
            return find(*endpoints.trial(plain, checks), str(error))

    try:
        async with asyncio.timeout(_ANSWER_S):
            found = await context.workers.run(run)
    except TimeoutError as error:
        raise RequestRefused("The check takes too long", REQUEST_TIMEOUT) from error
    except DuologError as error:
        raise failure_of(error) from error
    return json_response(found, media_type=JSON)
