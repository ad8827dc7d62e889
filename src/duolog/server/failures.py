"""Errors as ksqlDB's responses report them: HTTP status, error code, message.

    statement that cannot run       400  statement_error  40001, with its text and earlier entities
    SELECT or PRINT to /ksql        400  statement_error  40002
    request that cannot be read     400  generic_error    40000
    ASSERT that does not hold       417  generic_error    41700
    statement about connectors      500  statement_error  50000, as ksqlDB without a Connect cluster
    no broker, or the server stops  503  generic_error    50302  after other statements: with them
    a client that reads too slowly  408  generic_error    40800  in the rows of a push query
    anything else                   500  generic_error    50000  of a statement: statement_error

Source: ksqlDB's documentation of its HTTP API, and error bodies that its clients' tests expect.
"""

from collections.abc import Sequence
from typing import Any, Final

from duolog.core.errors import ConfigError, DuologError
from duolog.ksql.errors import NoConnectCluster, SqlError
from duolog.runtime.errors import BrokerUnavailable
from duolog.runtime.sql.fanout.errors import ClientTooSlow, ReadersClosed
from duolog.server.errors import (
    BAD_REQUEST,
    NOT_READY,
    REQUEST_TIMEOUT,
    SERVER_ERROR,
    RequestRefused,
)

Json = dict[str, Any]

BAD_STATEMENT: Final = 40001
QUERY_ENDPOINT: Final = 40002
ASSERTION_FAILED: Final = 41700
COMMANDS_LATE: Final = 50301

_OF_EXPRESSIONS: Final = "Error processing expression: "
"""Start of a message that ksqlDB reports without the statement, though it is the statement's."""


class Failure(RequestRefused):
    """A refused request, or a statement that has failed.

    Attributes:
        statement: the statement that failed; None if the request has none.
        entities: the results of the statements before it.
    """

    def __init__(
        self,
        message: str,
        code: int,
        *,
        statement: str | None = None,
        entities: Sequence[Json] = (),
    ) -> None:
        kind = "generic_error" if statement is None else "statement_error"
        super().__init__(message, code, kind=kind)
        self.statement = statement
        self.entities = tuple(entities)

    def body(self) -> Json:
        """Return the body of the response."""
        if self.statement is None:
            return super().body()
        of_statement = {"statementText": self.statement, "entities": list(self.entities)}
        return super().body() | of_statement


def bad_request(message: str) -> Failure:
    """Return the failure of a request that cannot be read."""
    return Failure(message, BAD_REQUEST)


def commands_late(number: int) -> Failure:
    """Return the failure of a request that names a command which is not known in time."""
    return Failure(
        "Timed out while waiting for a previous command to execute. command sequence "
        f"number: {number}",
        COMMANDS_LATE,
    )


def not_here(statement: str) -> Failure:
    """Return the failure of a SELECT or PRINT that was sent to /ksql."""
    told = "SELECT and PRINT queries must use the /query endpoint"
    return Failure(told, QUERY_ENDPOINT, statement=statement)


def failure_of(  # noqa: PLR0911 - a table of cases
    error: DuologError, statement: str = "", entities: Sequence[Json] = ()
) -> RequestRefused:
    """Return the failure for an error of a statement."""
    told = message_of(error)
    match error:
        case RequestRefused():
            return error
        case NoConnectCluster():
            text = error.statement or statement
            return Failure(told, SERVER_ERROR, statement=text, entities=entities)
        case SqlError() if error.message.startswith(_OF_EXPRESSIONS):
            return bad_request(told)
        case SqlError():
            text = error.statement or statement
            return Failure(told, BAD_STATEMENT, statement=text, entities=entities)
        case ConfigError():
            return bad_request(told)
        case BrokerUnavailable() | ReadersClosed():
            # With the statement only if the client must learn of those before it.
            return Failure(
                told, NOT_READY, statement=statement if entities else None, entities=entities
            )
        case ClientTooSlow():
            return Failure(told, REQUEST_TIMEOUT)
        case _:
            return Failure(told, SERVER_ERROR, statement=statement or None, entities=entities)


def message_of(error: DuologError) -> str:
    """Return an error as text: its message, then what it adds for a reader."""
    return "\n".join(part for part in (error.message, error.detail, error.hint) if part)
