"""Errors in SQL statements, with their position and the statement's text."""

from typing import Literal, NamedTuple

from duolog.core.errors import StatementError

Kind = Literal["syntax", "statement"]


class Place(NamedTuple):
    """Position in a text: line and column from 1, and the characters from `start` up to `end`."""

    line: int
    column: int
    start: int
    end: int


class SqlError(StatementError):
    """A statement that cannot be parsed or executed.

    `message` is ksqlDB's own text, word for word, wherever its users may search for that text.
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
        """Attach the text of the failed statement, unless the error already has one."""
        self.statement = self.statement or statement
        return self


class NoConnectCluster(SqlError):
    """A statement about connectors: Duolog runs none, and knows no Connect cluster."""

    def __init__(self, *, at: Place | None = None) -> None:
        super().__init__(
            "no Connect cluster is configured, so there are no connectors",
            at=at,
            hint="Run Kafka Connect separately, and declare streams over its topics.",
        )


def too_deep(statement: str) -> SqlError:
    """Return the error of a statement that is nested deeper than Python's recursion limit."""
    return SqlError(
        "the statement is nested too deeply",
        statement=statement,
        hint="Use IN instead of a long list of OR, or split the query in two.",
    )


def syntax_error(at: Place, what: str, statement: str) -> SqlError:
    """Return the error of text that is not a statement."""
    message = f"line {at.line}:{at.column}: Syntax Error\n{what}\nStatement: {statement}"
    return SqlError(message, kind="syntax", at=at, statement=statement)
