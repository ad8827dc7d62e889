"""The access log: one line per request, with its fields.

    INFO registry.access: answered method=GET path=/subjects status=200 bytes=14 ms=0.4 user=alice

A password is never logged: the header Authorization is not, and a user's name only if the user was
authenticated. Requests that are refused before it are logged up to a limit, and then counted: else
a stranger could fill the disk.
"""

import logging
from typing import Final

from duolog.core.limited_log import LimitedLog
from duolog.registry.http.messages import HttpRequest, HttpResponse

logger = logging.getLogger("duolog.registry.access")

_PATH_MAX: Final = 500


def log_access(
    request: HttpRequest,
    response: HttpResponse,
    *,
    seconds: float,
    user: str,
    strangers: LimitedLog | None = None,
) -> None:
    """Log one answered request: errors of the server as warnings, all else as information.

    `strangers` is the log of requests that were refused before their user was known.
    """
    level = logging.WARNING if response.status >= 500 else logging.INFO
    if not logger.isEnabledFor(level):
        return
    target = request.path + (b"?" + request.query if request.query else b"")
    fields = {
        "client": request.client,
        "method": request.method,
        "path": target[:_PATH_MAX].decode("latin-1"),
        "status": response.status,
        "bytes": len(response.body),
        "ms": round(seconds * 1000, 1),
    }
    if user:
        fields["user"] = user
    if response.note:
        fields["error_code"] = response.note
    if strangers is None:
        logger.log(level, "answered", extra=fields)
    else:
        strangers.log(logger, level, "answered", fields)
