"""Errors of dead letters."""

from duolog.core.errors import DuologError


class NoDeadLetter(DuologError):
    """There is no dead letter at the given position."""


class ReplayRefused(DuologError):
    """A replay cannot be written as it was asked for; nothing of it was."""


class ReplayConflict(DuologError):
    """Another replay of the same dead-letter topic has begun."""
