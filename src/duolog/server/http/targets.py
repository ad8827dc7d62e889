"""Targets of requests: absolute ones are reduced to their path.

    POST http://db.example/ksql HTTP/1.1   is   POST /ksql HTTP/1.1 with Host: db.example

Clients of a proxy send such targets, and hyper, the library of PyPI's `ksql`, does so always.
Source: RFC 9112, section 3.2.2.
"""

import re
from collections.abc import MutableMapping
from typing import Any, Final
from urllib.parse import unquote

_ABSOLUTE: Final = re.compile(rb"https?://([^/?#@]+)(/.*)?", re.IGNORECASE | re.DOTALL)


def use_origin_form(scope: MutableMapping[str, Any]) -> None:
    """Reduce an absolute target in place, with its host in place of the header Host.

    A target of another form is left as it is. A repeated header stays repeated, so that the request
    is refused.

    Example:
        >>> scope = {"raw_path": b"http://a:1/in%66o", "path": "", "headers": [(b"host", b"b")]}
        >>> use_origin_form(scope)
        >>> scope["path"], scope["headers"]
        ('/info', [(b'host', b'a:1')])
    """
    if scope["raw_path"].startswith(b"/"):
        return
    found = _ABSOLUTE.fullmatch(scope["raw_path"])
    if found is None:
        return
    host, path = found[1], found[2] or b"/"
    scope["raw_path"] = path
    scope["path"] = unquote(path.decode("ascii"))
    scope["headers"] = [
        (name, host if name == b"host" else value) for name, value in scope["headers"]
    ]
