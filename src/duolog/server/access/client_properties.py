"""The properties that a client of the server may set, in a request or with SET.

    the registry's address and user     none: the server sends its own password there
    limits of pull queries              values below those of the server, if it has limits
    the topic of dead letters           a topic that the client may write
    all others                          as in `duolog sql`

UNSET restores the value of the server, so that it needs no check.

Source: ksqlDB's `ksql.properties.overrides.denylist`.
"""

from collections.abc import Mapping
from typing import Final

from sqlglot import exp

from duolog.ksql import settings
from duolog.ksql.syntax import nodes
from duolog.security.authorization.operations import Operation, ResourceType
from duolog.server.access.checks import Checks
from duolog.server.access.client import Right
from duolog.server.errors import BAD_REQUEST, RequestRefused

OF_THE_SERVER: Final = frozenset(
    {
        settings.REGISTRY,
        settings.REGISTRY_USER,
        settings.REGISTRY_USER_SOURCE,
        "application.id",
        "bootstrap.servers",
        "ksql.server.url",
        "ksql.service.id",
    }
)
_LIMITS: Final = frozenset({settings.ANSWER_TIMEOUT, settings.ANSWER_MEMORY, settings.ANSWER_ROWS})


def prohibited(name: str) -> RequestRefused:
    """Return the error of a property that clients may not set."""
    return RequestRefused(
        "One or more properties overrides set locally are prohibited by the KSQL server "
        f"(use UNSET to reset their default value): [{name}]",
        BAD_REQUEST,
    )


class ClientProperties:
    """The rules for the properties of one client.

    Args:
        of_server: the values of the server.
    """

    def __init__(self, checks: Checks, of_server: Mapping[str, str | None]) -> None:
        self._checks = checks
        self._limits = {name: _number(of_server.get(name)) for name in _LIMITS}

    def ensure(self, properties: Mapping[str, str]) -> None:
        """Ensure that the client may set these properties.

        Raises:
            RequestRefused: it may not set one of them.
        """
        for name, value in properties.items():
            if name in OF_THE_SERVER:
                raise prohibited(name)
            most = self._limits.get(name, 0)
            if most and not 0 < _number(value) <= most:
                raise RequestRefused(f"{name} may be at most {most} here", BAD_REQUEST)
            if name == settings.DEAD_LETTERS and value:
                self._checks.ensure([Right(Operation.WRITE, ResourceType.TOPIC, value)])

    def ensure_node(self, node: exp.Expression) -> None:
        """Ensure that the client may run a statement, if it is SET; raises as `ensure`."""
        if isinstance(node, nodes.SetProperty):
            self.ensure({node.this.name: node.args["value"].name})


def limits_of(given: settings.Settings) -> dict[str, str | None]:
    """Return the limits of a server from its settings."""
    return {name: given[name] for name in _LIMITS}


def _number(text: str | None) -> int:
    """Return a limit; 0 if there is none."""
    return int(text) if text and text.isascii() and text.isdecimal() else 0
