"""The tree of operating errors.

    DuologError(message, detail, hint)
    ├─ KafkaError            code, retriable   the broker replies with the code
    ├─ LogError              the log on disk rejected an operation or is damaged
    ├─ StatementError        an invalid topology, expression or statement
    ├─ RegistryError         a schema rejected by the registry
    ├─ SerdeError            bytes that cannot be deserialized, or a value that cannot be serialized
    ├─ ServerError           a request that the SQL server refuses, or its client
    ├─ QueryError            query_id          a query that cannot start or has failed
    ├─ EncodingError         a user's file that is not UTF-8
    └─ ConfigError           name, value       an unknown setting, or a value out of range

An operating error is one that a user can encounter and resolve. A broken invariant is an `assert`
and not part of this tree.

Wording: `message` is one line, lower case, without a full stop, and names the object and its kind
(`topic "orders"`). `detail` states facts. `hint` is an instruction.
"""

from duolog.core.places import calling_place


class DuologError(Exception):
    """An operating error, with a message, details and a hint for the user."""

    def __init__(self, message: str, *, detail: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail
        self.hint = hint

    def __str__(self) -> str:
        return self.render()

    def render(self) -> str:
        """Return the error as lines of text.

        Example:
            >>> print(ConfigError("unknown setting", name="a", hint="Use b.").render())
            unknown setting
            hint: Use b.
        """
        lines = [self.message]
        if self.detail:
            lines.append(f"detail: {self.detail}")
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)

    def one_line(self) -> str:
        """Return the error as sentences on one line, without repeating a fact.

        Example:
            >>> e = ConfigError("unknown setting", name="a", detail="There is b.", hint="Use b.")
            >>> e.one_line()
            'unknown setting. There is b. Use b.'
        """
        parts = [" ".join(part.split()) for part in (self.message, self.detail, self.hint)]
        told = [part for part in parts if part]
        if len(told) < 2:
            return "".join(told)
        return " ".join(
            part if part.endswith((".", "!", "?", "…")) else f"{part}." for part in told
        )


class KafkaError(DuologError):
    """An error that is reported to Kafka clients by its number.

    Source: Kafka `org.apache.kafka.common.protocol.Errors`.
    """

    def __init__(
        self, message: str, *, code: int, retriable: bool = False, detail: str = "", hint: str = ""
    ) -> None:
        super().__init__(message, detail=detail, hint=hint)
        self.code = code
        self.retriable = retriable


class LogError(DuologError):
    """The log on disk rejected an operation or is damaged."""


class StatementError(DuologError):
    """An invalid topology, expression or statement.

    `place` is the position in the user's code (`topology.py:12`), or empty if it is unknown. By
    default it is the line that called the DSL.
    """

    def __init__(self, message: str, *, detail: str = "", hint: str = "", place: str = "") -> None:
        super().__init__(message, detail=detail, hint=hint)
        self.place = place or calling_place()

    def render(self) -> str:
        rendered = super().render()
        return f"{self.place}: {rendered}" if self.place else rendered


class RegistryError(DuologError):
    """A schema rejected by the registry."""


class ServerError(DuologError):
    """A request rejected by the SQL server."""


class SerdeError(DuologError):
    """Bytes that cannot be deserialized, or a value that cannot be serialized."""


class EncodingError(DuologError):
    """A user's text that is not UTF-8."""


class QueryError(DuologError):
    """A query that cannot start or has failed."""

    def __init__(
        self, message: str, *, query_id: str = "", detail: str = "", hint: str = ""
    ) -> None:
        super().__init__(message, detail=detail, hint=hint)
        self.query_id = query_id


class ConfigError(DuologError):
    """An unknown setting, or a value that is not allowed."""

    def __init__(
        self,
        message: str,
        *,
        name: str = "",
        value: object = None,
        detail: str = "",
        hint: str = "",
    ) -> None:
        super().__init__(message, detail=detail, hint=hint)
        self.name = name
        self.value = value


class EngineMissing(ConfigError):
    """A package of the engine is not installed: only `duolog-broker` is."""
