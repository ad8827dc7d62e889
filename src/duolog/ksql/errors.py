"""Errors of statements: what is wrong, where it stands, and the text around it."""

from typing import Literal, NamedTuple

from duolog.core.errors import StatementError

Kind = Literal["syntax", "statement"]


class Place(NamedTuple):
    """A position in a text: line and column, both from 1, and the characters from `start` up to `end`."""

    line: int
    column: int
    start: int
    end: int


class SqlError(StatementError):
    """A statement that cannot be read, or that cannot run.

    `message` is what ksqlDB says in that case, word for word where its users look for it.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: Kind = "statement",
        at: Place | None = None,
        statement: str = "",
        detail: str = "",
        hint: str = "",
    ) -> None:
        super().__init__(message, detail=detail, hint=hint)
        self.kind = kind
        self.at = at
        self.statement = statement

    def in_statement(self, statement: str) -> "SqlError":
        """Remember the text of the statement that it is about, if it does not know it yet."""
        self.statement = self.statement or statement
        return self


def too_deep(statement: str) -> SqlError:
    """Return the error of a statement whose parts stand in each other deeper than Python goes."""
    return SqlError(
        "the statement is nested too deeply",
        statement=statement,
        hint="Say IN for a long list of OR, or let one query read from another.",
    )


def syntax_error(at: Place, what: str, statement: str) -> SqlError:
    """Return the error of a text that is no statement."""
    message = f"line {at.line}:{at.column}: Syntax Error\n{what}\nStatement: {statement}"
    return SqlError(message, kind="syntax", at=at, statement=statement)
