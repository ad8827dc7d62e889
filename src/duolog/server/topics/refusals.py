"""Errors of topics as responses, with what helps the reader.

{"@type", "error_code", "message", "detail", "hint", "position": {"line", "column", "length"}}
"""

from typing import Final

from duolog.core.errors import DuologError, KafkaError, RegistryError, SerdeError, StatementError
from duolog.runtime.browsing.errors import InvalidPredicate
from duolog.schemas.source import RegistryAwayError
from duolog.server.errors import (
    BAD_REQUEST,
    CONFLICT,
    FORBIDDEN,
    NOT_FOUND,
    NOT_READY,
    SERVER_ERROR,
    RequestRefused,
)
from duolog.server.failures import failure_of

_UNKNOWN_TOPIC: Final = 3
_EXISTS: Final = 36
_NOT_ALLOWED: Final = frozenset({29, 31, 30})
_INVALID: Final = frozenset({10, 17, 37, 38, 39, 40, 41, 42, 44, 87})
"""Codes of what a client has asked for in error: names, numbers, settings, sizes."""


class TopicRefused(RequestRefused):
    """A refused request about a topic.

    Attributes:
        position: line, column and length in a predicate; None without one.
    """

    def __init__(
        self,
        error: DuologError,
        code: int,
        position: dict[str, int] | None = None,
    ) -> None:
        super().__init__(error.message, code)
        self.detail = error.detail
        self.hint = error.hint
        self.position = position

    def body(self) -> dict[str, object]:
        """Return the body of the response."""
        more: dict[str, object] = {"detail": self.detail, "hint": self.hint}
        if self.position is not None:
            more["position"] = self.position
        return super().body() | {name: value for name, value in more.items() if value}


def refusal_of(error: DuologError) -> RequestRefused:
    """Return the response of an error."""
    match error:
        case RequestRefused():
            return error
        case InvalidPredicate():
            at = {"line": error.line, "column": error.column, "length": error.length}
            return TopicRefused(error, BAD_REQUEST, at if error.line else None)
        case KafkaError():
            return TopicRefused(error, _code(error.code))
        case RegistryAwayError():
            return TopicRefused(error, NOT_READY)
        case RegistryError() | SerdeError() | StatementError():
            return TopicRefused(error, BAD_REQUEST)
        case _:
            return failure_of(error)


def _code(code: int) -> int:
    if code == _UNKNOWN_TOPIC:
        return NOT_FOUND
    if code == _EXISTS:
        return CONFLICT
    if code in _NOT_ALLOWED:
        return FORBIDDEN
    if code in _INVALID:
        return BAD_REQUEST
    return NOT_READY if code < 0 else SERVER_ERROR
