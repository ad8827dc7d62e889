"""The exceptions of DB-API 2.0, as operating errors of Duolog.

Source: PEP 249, Exceptions.
"""

from duolog.core.errors import ServerError


class Warning(Exception):  # noqa: A001 - the name that PEP 249 gives
    """An important warning."""


class Error(ServerError):
    """Any error of the client.

    Attributes:
        code: the server's number of the error, such as 40001, or the status times 100 if it has
            none; 0 if the error is not from the server.
        statement: the statement that the server names, if any.
    """

    def __init__(
        self,
        message: str,
        *,
        detail: str = "",
        hint: str = "",
        code: int = 0,
        statement: str = "",
    ) -> None:
        super().__init__(message, detail=detail, hint=hint)
        self.code = code
        self.statement = statement


class InterfaceError(Error):
    """Wrong use of the client, such as a closed connection."""


class DatabaseError(Error):
    """An error that the server reports."""


class DataError(DatabaseError):
    """A value that cannot be read or written."""


class OperationalError(DatabaseError):
    """The server cannot be reached, refuses the login, or is overloaded."""


class IntegrityError(DatabaseError):
    """Not raised; a table has at most one row for each key."""


class InternalError(DatabaseError):
    """The server has failed."""


class ProgrammingError(DatabaseError):
    """A statement that cannot be parsed or executed."""


class NotSupportedError(DatabaseError):
    """A part of DB-API that streams do not have, such as rollback."""


_OPERATIONAL = {401, 403, 408, 421, 429, 502, 503, 504}


def error_of(status: int, body: object) -> Error:
    """Return the error for a response that refuses a request."""
    found = body if isinstance(body, dict) else {}
    message = str(found.get("message") or f"the server answered with status {status}")
    code = found.get("error_code")
    first, _, rest = message.strip().partition("\n")
    kind: type[Error] = ProgrammingError
    if status in _OPERATIONAL:
        kind = OperationalError
    elif status >= 500:
        kind = InternalError
    return kind(
        first,
        detail=rest.strip(),
        hint=_hint(status),
        code=code if isinstance(code, int) else status * 100,
        statement=str(found.get("statementText") or ""),
    )


def _hint(status: int) -> str:
    if status == 401:
        return "Give the user: duolog.connect(url, user=…, password=…), or a token."
    if status == 404:
        return "Check that this is the address of a SQL server, with its base path if it has one."
    if status in {429, 503}:
        return "Try again later."
    return ""
