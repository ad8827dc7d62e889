"""Errors of browsing topics."""

from duolog.core.errors import StatementError


class InvalidPredicate(StatementError):
    """A predicate cannot be parsed, bound or evaluated.

    Attributes:
        line, column: position in the predicate, from 1; 0 if it has none.
        length: the number of characters that are wrong; 0 if that is not known.
    """

    def __init__(
        self,
        message: str,
        *,
        detail: str = "",
        hint: str = "",
        line: int = 0,
        column: int = 0,
        length: int = 0,
    ) -> None:
        super().__init__(message, detail=detail, hint=hint)
        self.line = line
        self.column = column
        self.length = length


class SlowPredicate(InvalidPredicate):
    """A predicate was not evaluated in the time that was left."""
