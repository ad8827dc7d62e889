"""Sessions of browsers: log in, see who is logged in, log out.

    POST /session     with a password in the header Authorization: sets the cookie
    GET /session      the name of the user
    DELETE /session   removes the cookie

A token gets no session: it may expire or be revoked while the session lasts.
"""

from duolog.server.access.client import Login
from duolog.server.access.sessions import cookie_of, set_cookie
from duolog.server.errors import BAD_REQUEST, RequestRefused
from duolog.server.messages import JSON, Request, Response, json_response
from duolog.server.operations.context import ServerContext


async def log_in(request: Request, context: ServerContext) -> Response:
    """Begin a session.

    Raises:
        RequestRefused: there are no users, or the client did not send a password.
    """
    sessions = context.access.sessions
    if sessions is None:
        raise RequestRefused("This server has no users to log in", BAD_REQUEST)
    if request.client.login is not Login.PASSWORD:
        raise RequestRefused("A session needs a password in the header Authorization", BAD_REQUEST)
    token = sessions.begin(request.client.identity, request.client.epoch)
    cookie = set_cookie(token, context.base_path, secure=request.secure)
    return Response(b"", 204, headers=(("Set-Cookie", cookie), ("Cache-Control", "no-store")))


async def who(request: Request, _context: ServerContext) -> Response:
    """Answer with the name of the user, and how it logged in."""
    client = request.client
    return json_response({"user": client.name, "login": client.login.value}, media_type=JSON)


async def log_out(request: Request, context: ServerContext) -> Response:
    """End the session of the cookie."""
    token = cookie_of(request.headers.get("cookie"))
    if context.access.sessions is not None and token is not None:
        context.access.sessions.end(token)
    cookie = set_cookie("", context.base_path, secure=request.secure)
    return Response(b"", 204, headers=(("Set-Cookie", cookie),))
