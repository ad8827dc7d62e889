"""Sessions of browsers: log in, see who is logged in, log out.

    POST /session     with a password in the header Authorization: sets the cookie. Without users:
                      with the token of the console, as `Bearer TOKEN`
    GET /session      the name of the user
    DELETE /session   ends the session, and removes the cookie

The token of a user gets no session: it may expire or be revoked while the session lasts.
"""

import asyncio

from duolog.server.access.client import Login
from duolog.server.access.session_cookie import SessionCookie
from duolog.server.access.sessions import LIFE_S
from duolog.server.errors import BAD_REQUEST, RequestRefused, closed
from duolog.server.messages import JSON, Request, Response, json_response
from duolog.server.operations.context import ServerContext


async def log_in(request: Request, context: ServerContext) -> Response:
    """Begin a session.

    Raises:
        RequestRefused: the client did not send a password, or the token of the console.
    """
    sessions = context.access.sessions
    if sessions is None:
        return _log_in_by_token(request, context)
    if request.client.login is not Login.PASSWORD:
        raise RequestRefused("A session needs a password in the header Authorization", BAD_REQUEST)
    return _logged_in(
        sessions.begin(request.client.identity, request.client.epoch), request, context
    )


def _log_in_by_token(request: Request, context: ServerContext) -> Response:
    token = context.access.console_token
    if token is None:
        raise RequestRefused("This server has no users to log in", BAD_REQUEST)
    if request.client.login is not Login.TOKEN:
        raise closed()
    return _logged_in(token.cookie(), request, context)


def _logged_in(session: str, request: Request, context: ServerContext) -> Response:
    cookie = _cookie(request, context).set(session, LIFE_S)
    return Response(b"", 204, headers=(("Set-Cookie", cookie), ("Cache-Control", "no-store")))


async def who(request: Request, context: ServerContext) -> Response:
    """Answer with the name of the user, how it logged in, and whether the server has users."""
    client = request.client
    users = context.access.sessions is not None
    found = {"user": client.name, "login": client.login.value, "users": users}
    return json_response(found, media_type=JSON)


async def log_out(request: Request, context: ServerContext) -> Response:
    """End the sessions of all cookies that the client has sent for this server."""
    sessions, token = context.access.sessions, context.access.console_token
    cookie = _cookie(request, context)
    for session in cookie.tokens(request.headers.get("cookie")):
        if sessions is not None:
            sessions.end(session)
        elif token is not None and token.end(session):
            await asyncio.to_thread(token.save)
    return Response(b"", 204, headers=(("Set-Cookie", cookie.removal()),))


def _cookie(request: Request, context: ServerContext) -> SessionCookie:
    return context.session_cookie(request.headers.get("host", ""), secure=request.secure)
