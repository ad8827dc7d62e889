"""The current rows of a table of a running application."""

from typing import Any

from duolog.dsl.steps.records import Records


class PresentRows(Records):
    """Methods that read the rows of a table: a base class of `Table`."""

    @property
    def store_name(self) -> str | None:
        """The store of its rows, for `application.store(name)`; None if the rows are computed.

        Example:
            >>> from duolog import Topology, col
            >>> shop = Topology("shop")
            >>> prices = shop.table("prices", key="item STRING", value="price INT", store="kept")
            >>> prices.store_name, prices.filter(col("price") > 3).store_name
            ('kept', None)
        """
        return next(iter(self.node.stores), None)

    def to_pandas(self) -> Any:
        """Return the current rows as a pandas DataFrame, key columns first.

        The application must run in this process, and read the table from a topic or write it to
        one. The rows are those that are committed in the topic.

        Raises:
            StatementError: no application runs it, or no topic has its rows.
            KafkaError: the broker does not answer.
            ConfigError: the library is not installed.
        """
        return self._running().table_of(self.node).to_pandas()

    def to_arrow(self) -> Any:
        """Return the current rows as a pyarrow Table; as `to_pandas`."""
        return self._running().table_of(self.node).to_arrow()

    def to_polars(self) -> Any:
        """Return the current rows as a polars DataFrame; as `to_pandas`."""
        return self._running().table_of(self.node).to_polars()

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the current rows as dicts by column name: `to_pandas` without other libraries."""
        return self._running().table_of(self.node).to_dicts()
