"""The interface of the running application that streams and tables use.

The DSL does not import applications: an application that starts registers itself
(`Topology.running`).
"""

from typing import Any, Protocol

from duolog.plan.nodes import Node


class View(Protocol):
    """The current records of a stream or table in its topic."""

    def to_html(self) -> str: ...
    def live(self, every_s: float) -> Any: ...


class TableView(View, Protocol):
    """The current rows of a table."""

    def to_pandas(self) -> Any: ...
    def to_arrow(self) -> Any: ...
    def to_polars(self) -> Any: ...
    def to_dicts(self) -> list[dict[str, object]]: ...


class Running(Protocol):
    """A started application."""

    def view_of(self, node: Node) -> View: ...
    def table_of(self, node: Node) -> TableView: ...
