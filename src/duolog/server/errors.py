"""Errors that clients of the server get, with ksqlDB's codes.

The status of HTTP is the first three digits of the code. The body is
`{"@type": "generic_error", "error_code": CODE, "message": TEXT}`.

Source: the documentation of ksqlDB's REST API, section Errors.
"""

from typing import Final

from duolog.core.errors import ServerError

BAD_REQUEST: Final = 40000
UNAUTHORIZED: Final = 40100
FORBIDDEN: Final = 40300
NOT_FOUND: Final = 40400
METHOD_NOT_ALLOWED: Final = 40500
REQUEST_TIMEOUT: Final = 40800
CONFLICT: Final = 40900
BODY_TOO_LARGE: Final = 41300
UNSUPPORTED_MEDIA_TYPE: Final = 41500
UPGRADE_REQUIRED: Final = 42600
TOO_MANY_REQUESTS: Final = 42900
HEADERS_TOO_LARGE: Final = 43100
SERVER_ERROR: Final = 50000
BAD_GATEWAY: Final = 50200
OVERLOADED: Final = 50300
NOT_READY: Final = 50302
SHUTTING_DOWN: Final = 50303
SHUT_DOWN: Final = 50304


class RequestRefused(ServerError):
    """A request that the server refuses.

    Attributes:
        code: ksqlDB's number of the error; its first three digits are the status of HTTP.
        kind: the value of `@type` in the body.
    """

    def __init__(self, message: str, code: int = BAD_REQUEST, *, kind: str = "generic_error"):
        super().__init__(message)
        self.code = code
        self.kind = kind

    @property
    def status(self) -> int:
        """The status of HTTP."""
        return self.code // 100

    def body(self) -> dict[str, object]:
        """Return the body of the response."""
        return {"@type": self.kind, "error_code": self.code, "message": self.message}


def forbidden() -> RequestRefused:
    """Return the error of a client without the right: the same for all resources."""
    return RequestRefused("You are forbidden from using this cluster.", FORBIDDEN)


def closed() -> RequestRefused:
    """Return the error of a client without the token of the console, of a server without users."""
    return RequestRefused(
        "This needs the token of the console. Open the address that the server printed when it "
        "started, or send the header Authorization: Bearer TOKEN with the token in the file "
        "console-token of its data directory.",
        UNAUTHORIZED,
    )
