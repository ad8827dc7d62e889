"""Joins of two tables, by key or by columns of the left one."""

from typing import Self

from duolog.dsl.builder import Builder
from duolog.dsl.expressions.columns import Expr, col
from duolog.dsl.expressions.joined_names import JoinedNames, On, Select, ensure_keys_named_alike
from duolog.dsl.expressions.names import find_fields
from duolog.dsl.steps.records import Records
from duolog.plan.cutting.joining import join_by_foreign_key, join_tables
from duolog.plan.errors import InvalidPlan
from duolog.plan.expressions import ColumnRef, Named
from duolog.plan.nodes import ForeignJoin, JoinKind, Node


class JoinedTables(Records):
    """The joins of tables: a base class of `Table`."""

    def join(
        self, other: Self, *, on: On | None = None, prefix: str = "", select: Select | None = None
    ) -> Self:
        """Join each row with a row of `other`: a table of both, with the key of this one.

        The join changes whenever either table does. A row without a match is not in it. A join by
        key stores nothing: a row is computed from both tables when it is looked up. A join by other
        columns (a foreign key, where many rows can have the same match) stores its own rows, the
        columns of this table that it reads, by foreign key, and a number for each row. A change of
        a row that a million rows match causes a million changes of the join.

        Args:
            other: keyed by the same types as the matched columns; it may be this table.
            on: the columns of this table, or expressions over its key and value, that match the
                other table's key columns, in order. A row with a null among them matches nothing.
                May be omitted if both keys have the same names.
            prefix: a prefix for the names of the other table's columns.
            select: the columns of the new value: names or expressions over the columns of both.

        Raises:
            StatementError: the keys do not fit, have different names without `on`, or columns
                clash.

        Example:
            >>> from duolog import Topology
            >>> topology = Topology("shop")
            >>> prices = topology.table("prices", key="item STRING", value="price BIGINT")
            >>> stock = topology.table("stock", key="item STRING", value="pieces BIGINT")
            >>> print(prices.join(stock).schema)
            key (item STRING) value (price BIGINT, pieces BIGINT)
            >>> shelves = topology.table("shelves", key="item STRING", value="shelf STRING")
            >>> rooms = topology.table("rooms", key="shelf STRING", value="room STRING")
            >>> print(shelves.join(rooms, on="shelf").schema)
            key (item STRING) value (shelf STRING, room STRING)
        """
        return self._join(other, "inner", on, prefix, select)

    def left_join(
        self, other: Self, *, on: On | None = None, prefix: str = "", select: Select | None = None
    ) -> Self:
        """Join as `join` does, with all rows of this table: nulls if the other one has no match."""
        return self._join(other, "left", on, prefix, select)

    def outer_join(
        self, other: Self, *, on: On | None = None, prefix: str = "", select: Select | None = None
    ) -> Self:
        """Join as `join` does, by key, with all rows of both tables: nulls if one has no match."""
        return self._join(other, "outer", on, prefix, select)

    def _join(
        self, other: Self, kind: JoinKind, on: On | None, prefix: str, select: Select | None
    ) -> Self:
        """Add the nodes of a join of two tables, and return the resulting table."""
        self.builder.ensure_own(other)
        builder, left, right = self.builder, self.node, other.node
        if not right.is_table:
            raise InvalidPlan(
                f'table "{left}" cannot look up stream "{right}"',
                hint="Join in the other direction, stream.join(table, on=...), or read the topic "
                "with table(...).",
            )
        keys = _foreign_key(left, right, on)
        names = JoinedNames(left, right, prefix)
        values = names.all_columns() if select is None else names.select(select)
        if keys:
            foreign = _join_by_foreign_key(builder, (left, right), kind, keys, values)
            return type(self)(builder, foreign)
        return type(self)(builder, join_tables(builder, (left, right), kind, values))


def _join_by_foreign_key(
    builder: Builder,
    tables: tuple[Node, Node],
    kind: JoinKind,
    keys: tuple[Named, ...],
    values: tuple[Named, ...],
) -> ForeignJoin:
    left, right = tables
    if kind == "outer":
        raise InvalidPlan(
            f'table "{left}" cannot be outer-joined on {", ".join(name for name, _ in keys)}',
            detail=f"A row of {right} without a match would have no key: the join has the key of "
            f"{left}.",
            hint="Use left_join, or join tables by their keys.",
        )
    return join_by_foreign_key(builder, tables, kind, keys, values)


def _foreign_key(left: Node, right: Node, on: On | None) -> tuple[Named, ...]:
    """Return the expressions that match the key of `right`; empty if they are the key of `left`."""
    if on is None:
        ensure_keys_named_alike(left, right)
        return ()
    given = [on] if isinstance(on, str | Expr) else on
    said = [col(key) if isinstance(key, str) else key for key in given]
    keys = [find_fields(key.expression, left.schema.names) for key in said]
    if keys == [ColumnRef(column.name) for column in left.schema.key]:
        return ()
    return tuple((key.name if isinstance(key, ColumnRef) else str(key), key) for key in keys)
