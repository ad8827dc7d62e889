"""Errors of dead letters."""

from typing import Final

from duolog.core.errors import DuologError, KafkaError


class NoDeadLetter(DuologError):
    """There is no dead letter at the given position."""


class ReplayRefused(DuologError):
    """A replay cannot be written as it was asked for; nothing of it was."""


class ReplayConflict(DuologError):
    """Another replay of the same dead-letter topic has begun."""


class ReadingStopped(KafkaError):
    """The caller has stopped a read of letters."""

    def __init__(self) -> None:
        super().__init__(
            "reading the dead letters takes too long",
            code=_REQUEST_TIMED_OUT,
            retriable=True,
            hint="Select fewer of them by partition, offset or time.",
        )


_REQUEST_TIMED_OUT: Final = 7
