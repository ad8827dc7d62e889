"""The page of the console, with the headers that make a browser run nothing else.

Every path of a screen has the same page: its script shows the screen of the path. The nonce, which
is another one for each response, permits the styles that the SQL editor adds; scripts are files of
this server only.
"""

import secrets
from html import escape
from typing import Final

from duolog.server.messages import Response

_NONCE_BYTES: Final = 18
HTML: Final = "text/html; charset=utf-8"
NOT_BUILT: Final = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Duolog</title>
<h1>The console is not built</h1>
<p>This installation of Duolog has no files of the console. In a clone, install Node.js 20 or later
and run <code>scripts/install</code>; otherwise install the package <code>duolog</code>.
All other interfaces of the server work.</p></html>
"""


def page(index: str, base_path: str) -> Response:
    """Return the page for a browser.

    Args:
        index: the built page with `{{base}}` and `{{nonce}}`.
        base_path: the prefix of all paths of this server.
    """
    nonce = secrets.token_urlsafe(_NONCE_BYTES)
    text = index.replace("{{base}}", escape(base_path, quote=True)).replace("{{nonce}}", nonce)
    return Response(text.encode(), 200, HTML, headers=(*_headers(nonce), _NO_CACHE))


def not_built() -> Response:
    """Return the page of an installation without the files."""
    nonce = secrets.token_urlsafe(_NONCE_BYTES)
    return Response(NOT_BUILT.encode(), 404, HTML, headers=(*_headers(nonce), _NO_CACHE))


_NO_CACHE: Final = ("Cache-Control", "no-cache")


def _headers(nonce: str) -> tuple[tuple[str, str], ...]:
    policy = (
        "default-src 'self'; script-src 'self'; "
        f"style-src 'self' 'nonce-{nonce}'; img-src 'self' data:; connect-src 'self'; "
        "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return (
        ("Content-Security-Policy", policy),
        ("X-Frame-Options", "DENY"),
        ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Permissions-Policy", "camera=(), geolocation=(), microphone=()"),
    )
