"""The access log: one line per request, with its fields.

    INFO server.access: answered method=POST path=/ksql status=200 ms=3.1 user=alice

    WARNING   an error of the server
    INFO      all else, errors of clients included
    DEBUG     an answer without an error to what is asked again and again: checks of health, polls
              of the page, checks of a text that is being typed

No password is logged: the header Authorization is not, and a user's name only if the user was
authenticated. What follows the path in an address is not: /ws/query has a statement and tokens
there.
"""

import logging
from typing import Final

logger = logging.getLogger("duolog.server.access")

_PATH_MAX: Final = 500
_CLIENT_ERROR: Final = 400
_SERVER_ERROR: Final = 500


def log_access(
    *,
    client: str,
    method: str,
    path: bytes,
    status: int,
    seconds: float,
    user: str,
    note: str,
    is_poll: bool,
) -> None:
    """Log one answered request; `is_poll` as in `Passage`."""
    if status >= _SERVER_ERROR:
        level = logging.WARNING
    else:
        level = logging.DEBUG if is_poll and status < _CLIENT_ERROR else logging.INFO
    if not logger.isEnabledFor(level):
        return
    fields: dict[str, object] = {
        "client": client,
        "method": method,
        "path": path[:_PATH_MAX].decode("latin-1"),
        "status": status,
        "ms": round(seconds * 1000, 1),
    }
    if user:
        fields["user"] = user
    if note:
        fields["error_code"] = note
    logger.log(level, "answered", extra=fields)
