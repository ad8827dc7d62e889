"""The console: its page for every path of a screen, and its files.

    GET /console, /console/topics/…     the page: not cached, with a policy for its content
    GET /console/assets/NAME-HASH.js    a file: cached for ever, as its name has its digest

They are public: they are the same for all clients and have nothing of this server in them. All that
the page shows comes from routes that need a login.
"""

import functools
from typing import Final

from duolog.server.console.bundle import Bundle, find_bundle
from duolog.server.console.page import not_built
from duolog.server.console.page import page as page_of
from duolog.server.errors import NOT_FOUND, RequestRefused
from duolog.server.messages import Request, Response
from duolog.server.operations.context import ServerContext

_FOR_EVER: Final = ("Cache-Control", "public, max-age=31536000, immutable")


async def page(_request: Request, context: ServerContext) -> Response:
    """Answer with the page."""
    bundle = _bundle()
    return not_built() if bundle is None else page_of(bundle.index, context.base_path)


async def asset(request: Request, _context: ServerContext) -> Response:
    """Answer with a file, compressed if the client accepts that.

    Raises:
        RequestRefused: there is no such file.
    """
    bundle = _bundle()
    accepted = request.headers.get("accept-encoding", "")
    found = None if bundle is None else bundle.asset(request.path["name"], accepted)
    if found is None:
        raise RequestRefused("HTTP 404 Not Found", NOT_FOUND)
    headers = [
        _FOR_EVER,
        ("Vary", "Accept-Encoding"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
    ]
    if found.encoding:
        headers.append(("Content-Encoding", found.encoding))
    return Response(found.content, 200, found.media_type, headers=tuple(headers))


def build_of_console() -> str:
    """Return the name of the script of this build; a page of another one must load again."""
    bundle = _bundle()
    return "" if bundle is None else bundle.main


@functools.cache
def _bundle() -> Bundle | None:
    return find_bundle()
