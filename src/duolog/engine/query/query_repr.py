"""A short description of a query for notebooks: `<RunningQuery counts: running in real-time>`."""

from typing import Protocol

from duolog.core.errors import DuologError


class QueryStatus(Protocol):
    """The properties that describe a query."""

    @property
    def application_id(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def mode(self) -> str: ...
    @property
    def has_ended(self) -> bool: ...
    def exception(self) -> DuologError | None: ...


def describe_state(query: QueryStatus) -> str:
    """Return the current state of a query, without asking a broker or a JVM."""
    if (failure := query.exception()) is not None:
        return f"failed, {failure.message}"
    return query.state if query.has_ended else f"{query.state} in {query.mode}"


def query_repr(query: QueryStatus) -> str:
    """Return the `repr` of a query."""
    return f"<RunningQuery {query.application_id}: {describe_state(query)}>"
