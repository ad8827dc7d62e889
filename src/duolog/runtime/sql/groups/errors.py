"""Errors of groups."""

from duolog.core.errors import QueryError


class GroupRefused(QueryError):
    """A query is not started, because a limit of its group or of all groups is reached."""


class GroupEnded(QueryError):
    """The process of a group has ended, or was killed because it did not answer."""
