"""The rows that a table has now, for a program that runs its application."""

from typing import Any

from duolog.dsl.steps.records import Records


class PresentRows(Records):
    """A table whose rows can be read: a base of `Table`."""

    @property
    def store_name(self) -> str | None:
        """The store that keeps its rows, for `application.store(name)`; None: they are computed from other tables' rows.

        Example:
            >>> from duolog import Topology, col
            >>> prices = Topology("shop").table("prices", key="item STRING", value="price INT", store="kept")
            >>> prices.store_name, prices.filter(col("price") > 3).store_name
            ('kept', None)
        """
        return next(iter(self.node.stores), None)

    def to_pandas(self) -> Any:
        """Return the present rows as a pandas DataFrame, key columns first.

        Of a table of an application that runs in this process, which reads it from a topic or writes
        it to one: what is committed there now.

        Raises:
            StatementError: no application runs it, or no topic has its rows.
            KafkaError: the broker does not answer.
            ConfigError: the library is not installed.
        """
        return self._running().table_of(self.node).to_pandas()

    def to_arrow(self) -> Any:
        """Return the present rows as a pyarrow Table; as `to_pandas`."""
        return self._running().table_of(self.node).to_arrow()

    def to_polars(self) -> Any:
        """Return the present rows as a polars DataFrame; as `to_pandas`."""
        return self._running().table_of(self.node).to_polars()

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the present rows as dicts by name, which needs no library; as `to_pandas`."""
        return self._running().table_of(self.node).to_dicts()
