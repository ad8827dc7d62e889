"""What a stream or table asks of the application that runs its topology.

The DSL knows no application: one that starts tells the topology (`Topology.running`).
"""

from typing import Any, Protocol

from duolog.plan.nodes import Node


class View(Protocol):
    """The records of a stream or table, as they stand in its topic."""

    def to_html(self) -> str: ...
    def live(self, every_s: float) -> Any: ...


class TableView(View, Protocol):
    """The present rows of a table."""

    def to_pandas(self) -> Any: ...
    def to_arrow(self) -> Any: ...
    def to_polars(self) -> Any: ...
    def to_dicts(self) -> list[dict[str, Any]]: ...


class Running(Protocol):
    """An application that has started."""

    def view_of(self, node: Node) -> View: ...
    def table_of(self, node: Node) -> TableView: ...
