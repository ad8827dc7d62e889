"""The flights demo, which the console offers on a server without anything.

    GET  /v1/demo     whether the flights are being written, and the statements of the demo
    POST /v1/demo     starts to write them: {"state": "loading", "statements": "CREATE …", …}

The flights are written with the login of the server, so that a user needs the right to alter the
cluster. The statements are for `POST /ksql`, with the login of the user.
"""

from importlib import resources

from duolog.server.errors import CONFLICT, NOT_READY, RequestRefused
from duolog.server.messages import JSON, Request, Response, json_response
from duolog.server.operations.context import ServerContext


async def demo(_request: Request, context: ServerContext) -> Response:
    """Answer with the state of the demo.

    Raises:
        RequestRefused: the server has no SQL service.
    """
    return _answer(context)


async def start_demo(_request: Request, context: ServerContext) -> Response:
    """Start to write the flights, unless they are being written.

    Raises:
        RequestRefused: the data set is not installed, or the server has no SQL service.
    """
    flights = context.flights
    if flights is None:
        raise RequestRefused("The server has no SQL service", NOT_READY)
    reason, hint = flights.missing()
    if reason:
        raise RequestRefused(f"{reason} {hint}", CONFLICT)
    await context.workers.run(flights.start)
    return _answer(context)


def statements() -> str:
    """Return the statements of the demo; they change nothing when they run again.

    Properties are left out: a client sends them with the statements.
    """
    text = resources.files("duolog.cli.demo").joinpath("flights.sql").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith(("--", "SET "))]
    found = "\n".join(lines).strip()
    for kind in ("STREAM", "TABLE"):
        found = found.replace(f"CREATE {kind} ", f"CREATE {kind} IF NOT EXISTS ")
    return found


def _answer(context: ServerContext) -> Response:
    if context.flights is None:
        raise RequestRefused("The server has no SQL service", NOT_READY)
    reason, hint = context.flights.missing()
    found = {**context.flights.status(), "reason": reason, "hint": hint, "statements": statements()}
    return json_response(found, media_type=JSON)
