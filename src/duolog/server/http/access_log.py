"""The access log: one line per request, with its fields.

    INFO server.access: answered method=POST path=/ksql status=200 ms=3.1 user=alice

No password is logged: the header Authorization is not, and a user's name only if the user was
authenticated. What follows the path in an address is not: /ws/query has a statement and tokens
there.
"""

import logging
from typing import Final

logger = logging.getLogger("duolog.server.access")

_PATH_MAX: Final = 500


def log_access(
    *, client: str, method: str, path: bytes, status: int, seconds: float, user: str, note: str
) -> None:
    """Log one answered request: errors of the server as warnings, all else as information."""
    level = logging.WARNING if status >= 500 else logging.INFO
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
