"""The tree of operating errors.

    DuologError(message, detail, hint)
    ├─ KafkaError            code, retriable   the broker replies with the code
    ├─ LogError              what the log on disk refused, or found broken
    ├─ StatementError        a topology or a statement that cannot be built
    ├─ RegistryError         a schema that the registry refuses
    ├─ SerdeError            bytes that a format cannot read, or a value that it cannot write
    ├─ QueryError            query_id          a running query that failed
    ├─ EncodingError         a file of a user's that is not UTF-8
    └─ ConfigError           name, value       a setting that is unknown or out of range

An operating error is something that a user can meet and act on. A broken invariant is an
`assert` and is not in this tree.

Wording: `message` is one line, lower case, no full stop, and names the object and its kind
(`topic "orders"`); `detail` gives facts; `hint` says what to do.
"""

from duolog.core.places import calling_place


class DuologError(Exception):
    """An operating error: what happened, to which object, and what to do about it."""

    def __init__(self, message: str, *, detail: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail
        self.hint = hint

    def __str__(self) -> str:
        return self.render()

    def render(self) -> str:
        """Return the error as lines for a person.

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
        """Return the error as sentences in one line, for what is told as a line: each fact once.

        Example:
            >>> ConfigError("unknown setting", name="a", detail="There is b.", hint="Use b.").one_line()
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
    """An error that a Kafka client is told by its number.

    Source: Kafka `org.apache.kafka.common.protocol.Errors`.
    """

    def __init__(
        self, message: str, *, code: int, retriable: bool = False, detail: str = "", hint: str = ""
    ) -> None:
        super().__init__(message, detail=detail, hint=hint)
        self.code = code
        self.retriable = retriable


class LogError(DuologError):
    """The log on disk refused something, or was found broken."""


class StatementError(DuologError):
    """A topology, an expression or a statement that cannot be built.

    `place` is where the user wrote it, `topology.py:12`; empty where that is not known. It is found
    from the line that called the DSL, unless it is given.
    """

    def __init__(self, message: str, *, detail: str = "", hint: str = "", place: str = "") -> None:
        super().__init__(message, detail=detail, hint=hint)
        self.place = place or calling_place()

    def render(self) -> str:
        rendered = super().render()
        return f"{self.place}: {rendered}" if self.place else rendered


class RegistryError(DuologError):
    """A schema that the registry refuses."""


class SerdeError(DuologError):
    """Bytes that a format cannot read, or a value that it cannot write."""


class EncodingError(DuologError):
    """A text of a user's that is not UTF-8."""


class QueryError(DuologError):
    """A query that cannot start, or that failed while it ran."""

    def __init__(
        self, message: str, *, query_id: str = "", detail: str = "", hint: str = ""
    ) -> None:
        super().__init__(message, detail=detail, hint=hint)
        self.query_id = query_id


class ConfigError(DuologError):
    """A setting that is unknown, or a value that it does not allow."""

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
