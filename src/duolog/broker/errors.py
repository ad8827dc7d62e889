"""The edge of the broker: the error that a client receives."""

from duolog.core.errors import ConfigError, KafkaError, LogError
from duolog.log.errors import LogDirOffline
from duolog.protocol.error_codes import ErrorCode


class InvalidTopic(KafkaError):
    """A name that no topic can have."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code=ErrorCode.INVALID_TOPIC_EXCEPTION)


class UnknownTopic(KafkaError):
    """A topic, or a partition of it, that is not there."""

    def __init__(self, message: str, *, code: int = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) -> None:
        super().__init__(message, code=code, retriable=True)


def kafka_code(error: Exception) -> tuple[int, str | None]:
    """Return the code and the message that a client is given for `error`.

    A message is given only for operating errors: what an unexpected error says may hold
    something of another client's.
    """
    match error:
        case LogDirOffline():
            # A person reads it: clients only see that requests are refused.
            return error.code, f"{error.message}. {error.hint}"
        case KafkaError():
            return error.code, error.message
        case ConfigError():
            return ErrorCode.INVALID_CONFIG, ". ".join(filter(None, (error.message, error.hint)))
        case LogError() | OSError():
            return ErrorCode.KAFKA_STORAGE_ERROR, None
        case _:
            return ErrorCode.UNKNOWN_SERVER_ERROR, None


def hidden(error: Exception) -> Exception:
    """Return an error with the traceback of another one, and no text of it."""
    return RuntimeError(f"{type(error).__name__}: ***").with_traceback(error.__traceback__)
