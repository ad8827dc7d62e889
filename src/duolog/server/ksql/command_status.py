"""The entity of a statement that changes the catalog: its command, status and message.

    CREATE STREAM orders …;     stream/`ORDERS`/create      SUCCESS  Stream created
    DROP TYPE code;             type/CODE/drop              SUCCESS  Type 'CODE' dropped
    TERMINATE csas_totals_1;    terminate/CSAS_TOTALS_1/execute

`CommandStatuses` keeps the last ones, for the /status endpoint.

Threads: any.

Source: ksqlDB's documentation of the /ksql and /status endpoints.
"""

import threading
from typing import Any, Final

from sqlglot import exp

from duolog.ksql.statements.state import Done
from duolog.ksql.syntax import nodes

Json = dict[str, Any]

_KEPT_MAX: Final = 1000
_VERBS: Final = {"TERMINATE": "terminate", "PAUSE": "pause", "RESUME": "resume"}
_SUCCESS: Final = "SUCCESS"


class CommandStatuses:
    """Statuses of the last commands, by command id."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_id: dict[str, Json] = {}

    def keep(self, entity: Json) -> None:
        """Remember the status of an entity that has one."""
        name = entity.get("commandId")
        if name is None:
            return
        with self._lock:
            self._by_id.pop(name, None)
            self._by_id[name] = entity["commandStatus"]
            if len(self._by_id) > _KEPT_MAX:
                del self._by_id[next(iter(self._by_id))]

    def of(self, command_id: str) -> Json | None:
        """Return the status of a command, or None if it is unknown or forgotten."""
        with self._lock:
            return self._by_id.get(command_id)

    def all(self) -> dict[str, str]:
        """Return the state of each command by its id."""
        with self._lock:
            return {name: str(one["status"]) for name, one in self._by_id.items()}


def is_warning(done: Done) -> bool:
    """Return true if IF NOT EXISTS has left the existing stream or table as it is."""
    node = done.node
    return (
        isinstance(node, nodes.CreateSource)
        and bool(node.args.get("exists"))
        and done.message.startswith("Cannot add ")
    )


def status_entity(done: Done, text: str, number: int) -> Json:
    """Return the entity of a command.

    Args:
        done: the result of the statement.
        text: the statement.
        number: the number of the last command that the server has executed.
    """
    query = None if done.query is None else done.query.id
    return {
        "@type": "currentStatus",
        "statementText": text,
        "commandId": command_id(done.node),
        "commandStatus": {"status": _SUCCESS, "message": _message(done), "queryId": query},
        "commandSequenceNumber": number,
        "warnings": [],
    }


def command_id(node: exp.Expression) -> str:  # noqa: PLR0911 - a table of cases
    """Return ksqlDB's id of a command: kind/name/action.

    Names of streams and tables are quoted.
    """
    match node:
        case nodes.CreateSource():
            return f"{_kind(node)}/`{node.this.name}`/create"
        case nodes.InsertSelect():
            return f"stream/`{node.this.name}`/create"
        case nodes.DropSource():
            return f"{_kind(node)}/`{node.this.name}`/drop"
        case nodes.AlterSource():
            return f"{_kind(node)}/`{node.this.name}`/alter"
        case nodes.CreateType():
            return f"type/{node.this.name}/create"
        case nodes.DropType():
            return f"type/{node.this.name}/drop"
        case nodes.CreateFunction():
            return f"function/{node.this.name}/create"
        case nodes.DropFunction():
            return f"function/{node.this.name}/drop"
        case nodes.QueryCommand():
            name = node.this.name if node.this else "ALL"
            return f"{_VERBS[str(node.args['kind'])]}/{name}/execute"
        case _:
            raise AssertionError(f"{type(node).__name__} is not a command")


def _kind(node: exp.Expression) -> str:
    return str(node.args["kind"]).lower()


def _message(done: Done) -> str:
    """Return the message in ksqlDB's words, which do not name a declared stream or table."""
    node = done.node
    if isinstance(node, nodes.CreateSource) and done.query is None:
        return f"{_kind(node).capitalize()} created"
    return done.message
