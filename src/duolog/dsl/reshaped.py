"""What becomes of each record of a stream by itself: a new key, a new value, several records.

Source: Kafka Streams `KStream`.
"""

from collections.abc import Mapping, Sequence
from typing import Self

from duolog.dsl.columns import Expr, named
from duolog.dsl.elements import (
    Elements,
    element_columns,
    elements_of,
    ensure_still_there,
    of_element,
)
from duolog.dsl.joins import On
from duolog.dsl.records import Records
from duolog.plan.errors import InvalidPlan
from duolog.plan.expressions import PlainValue
from duolog.plan.nodes import Branch, Explode, Project, SelectKey, Split
from duolog.plan.nodes.node import ensure_some


class Reshaped(Records):
    """A stream whose records are taken one by one: a base of `Stream`."""

    def select_key(self, /, *keys: str | Expr, **named_keys: Expr | PlainValue) -> Self:
        """Give each record a new key; the old key's columns move into the value.

        Example:
            >>> from duolog import Topology, col
            >>> flights = Topology("f").stream("f", key="carrier STRING", value="dest STRING")
            >>> print(flights.select_key("dest").schema)
            key (dest STRING) value (carrier STRING)
        """
        new = named(keys, named_keys, self.schema.names)
        ensure_some(new, "a key")
        return self._then("select-key", lambda name: SelectKey(name, self.node, new))

    def map(self, /, *columns: str | Expr, key: On, **named_columns: Expr | PlainValue) -> Self:
        """Give each record a new key and a new value; a null value stays null.

        Args:
            columns: the new value, as for `map_values`.
            key: the new key, as for `select_key`: columns, or expressions with a name.
            named_columns: more of the value.

        Example:
            >>> from duolog import Topology, col
            >>> flights = Topology("f").stream("f", key="id BIGINT", value="dest STRING, late INT")
            >>> print(flights.map(key="dest", hours=col("late") / 60).schema)
            key (dest STRING) value (hours DOUBLE)
        """
        values = named(columns, named_columns, self.schema.names)
        keyed = self.select_key(*([key] if isinstance(key, str | Expr) else key))
        ensure_still_there(keyed.node, values)
        return keyed._then(  # noqa: SLF001 - of this class
            "map-values", lambda name: Project(name, keyed.node, values)
        )

    def explode(
        self,
        /,
        *columns: str | Expr,
        into: str | Sequence[str] = (),
        outer: bool = False,
        **named_columns: str | Expr,
    ) -> Self:
        """Make a record of each element of an ARRAY, or entry of a MAP; the other columns stay.

        The element stands where the array stood, or behind the others under a name of its own:
        `explode("stops")`, `explode(stop="stops")`. A record without elements is dropped.

        Args:
            columns: the ARRAY or MAP: one column or expression, or one by name.
            into: the name for the element, if another; of a MAP the two for key and value.
            outer: keep a record without elements, with null for the element.
            named_columns: the ARRAY by the name for its element.

        Example:
            >>> from duolog import Topology, col
            >>> lines = Topology("words").stream("lines", value=str)
            >>> print(lines.explode(word=col("value").lower().split()).schema)
            key () value (value STRING, word STRING)
        """
        return self._exploded(elements_of(self.node, columns, named_columns, into), outer)

    def flat_map_values(
        self,
        /,
        *columns: str | Expr,
        into: str | Sequence[str] = (),
        outer: bool = False,
        **named_columns: str | Expr,
    ) -> Self:
        """Make a record of each element, as `explode` does, that is the whole new value.

        The fields of a STRUCT become columns.

        Example:
            >>> from duolog import Topology
            >>> orders = Topology("shop").stream(
            ...     "orders", key="id BIGINT", value="items ARRAY<STRUCT<sku STRING, n INT>>"
            ... )
            >>> print(orders.flat_map_values("items").schema)
            key (id BIGINT) value (sku STRING, n INT)
        """
        exploded = self._flat(columns, named_columns, into, outer)
        values = element_columns(exploded.node)
        return exploded._then(  # noqa: SLF001 - of this class
            "map-values", lambda name: Project(name, exploded.node, values)
        )

    def flat_map(
        self,
        /,
        *columns: str | Expr,
        key: On,
        into: str | Sequence[str] = (),
        **named_columns: str | Expr,
    ) -> Self:
        """Make a record of each element, with a new value and a new key.

        Args:
            columns: as for `flat_map_values`.
            key: what is the key in the new value: columns, or expressions with a name.
            into: as for `explode`.
            named_columns: as for `explode`.

        Example:
            >>> from duolog import Topology
            >>> orders = Topology("shop").stream(
            ...     "orders", key="id BIGINT", value="items ARRAY<STRUCT<sku STRING, n INT>>"
            ... )
            >>> print(orders.flat_map("items", key="sku").schema)
            key (sku STRING) value (n INT)
        """
        flat = self._flat(columns, named_columns, into, outer=False)
        parts = dict(element_columns(flat.node))
        given = named(
            [key] if isinstance(key, str | Expr) else key, {}, {*parts, *flat.schema.names}
        )
        keys = tuple((name, of_element(expression, parts)) for name, expression in given)
        ensure_some(keys, "a key")
        taken = {name for name, _ in keys}
        values = tuple((name, of) for name, of in parts.items() if name not in taken)
        keyed = flat._then(  # noqa: SLF001 - of this class
            "select-key", lambda name: SelectKey(name, flat.node, keys)
        )
        return keyed._then(  # noqa: SLF001
            "map-values", lambda name: Project(name, keyed.node, values)
        )

    def split(
        self,
        branches: Mapping[str, Expr] | None = None,
        /,
        *,
        default: str | None = None,
        **named_branches: Expr,
    ) -> dict[str, Self]:
        """Part the stream: each record goes into the first branch whose condition is true.

        Args:
            branches: conditions by the branch's name, in the order in which they are asked.
            default: the name of the branch for all other records; without it they are dropped.
            named_branches: more of them.

        Example:
            >>> from duolog import Topology, col
            >>> orders = Topology("shop").stream("orders", value="amount BIGINT")
            >>> parts = orders.split(large=col("amount") > 100, default="small")
            >>> print(parts["small"].node.action)
            the others
        """
        wanted = {**(branches or {}), **named_branches}
        if not wanted or default in wanted:
            raise InvalidPlan(
                f'two branches are called "{default}"' if wanted else "a split needs a condition",
                hint='Write split(large=col("amount") > 100, default="small").',
            )
        conditions = tuple(self._predicate(condition) for condition in wanted.values())
        split = self.builder.add("split", lambda name: Split(name, self.node, conditions))
        names = [*wanted, *([] if default is None else [default])]
        return {name: self._branch(split, number) for number, name in enumerate(names)}

    def _exploded(self, elements: Elements, outer: bool) -> Self:  # noqa: FBT001
        of, into = elements
        return self._then("explode", lambda name: Explode(name, self.node, of, into, outer))

    def _flat(
        self,
        columns: Sequence[str | Expr],
        by_name: Mapping[str, str | Expr],
        into: str | Sequence[str],
        outer: bool,  # noqa: FBT001
    ) -> Self:
        """Explode for what is made of elements alone."""
        return self._exploded(elements_of(self.node, columns, by_name, into, alone=True), outer)

    def _branch(self, split: Split, number: int) -> Self:
        return self._then("branch", lambda name: Branch(name, split, number))
