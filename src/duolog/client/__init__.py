"""A client of the SQL server: DB-API 2.0 (PEP 249), frames, live queries; queries for asyncio.

    with duolog.connect("http://127.0.0.1:8088") as connection:
        connection.execute("SELECT * FROM totals WHERE id = ?", ("a",)).fetchall()
        for change in connection.subscribe("SELECT * FROM orders EMIT CHANGES"):
            ...

    connection.py      Connection: cursors, subscriptions, inserts
    cursor.py          Cursor: statements, rows, frames
    subscription.py    rows that arrive until the end, over several connections
    asynchronous.py    statements, rows and subscriptions for asyncio
    requests.py        requests and the meaning of answers: no I/O
    parameters.py      values in place of question marks
    values.py          values of JSON as values of Python, by type
    framed_values.py   values in the form of frames
    kinds.py           type objects and constructors of PEP 249
    transport.py       HTTP

Start reading at `connection.py`. It also works with ksqlDB's own servers.
"""

from duolog.client.asynchronous import AsyncConnection, AsyncCursor, connect_async
from duolog.client.connection import Connection, connect
from duolog.client.cursor import Cursor
from duolog.client.errors import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,  # noqa: A004 - as above
)
from duolog.client.kinds import (
    BINARY,
    DATETIME,
    NUMBER,
    ROWID,
    STRING,
    Binary,
    Date,
    DateFromTicks,
    Time,
    TimeFromTicks,
    Timestamp,
    TimestampFromTicks,
)
from duolog.client.rows import Row
from duolog.client.subscription import Subscription

apilevel = "2.0"
threadsafety = 1
"""Threads may share the module, but not connections."""
paramstyle = "qmark"

__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "AsyncConnection",
    "AsyncCursor",
    "Binary",
    "Connection",
    "Cursor",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Row",
    "Subscription",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "apilevel",
    "connect",
    "connect_async",
    "paramstyle",
    "threadsafety",
]
