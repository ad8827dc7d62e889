"""Methods that transform single records: a new key, a new value, several records.

Source: Kafka Streams `KStream`.
"""

from collections.abc import Mapping, Sequence
from typing import Self, cast

from duolog.dsl.expressions.columns import Expr
from duolog.dsl.expressions.elements import (
    Elements,
    element_columns,
    elements_of,
    ensure_still_there,
    free_name,
    of_element,
)
from duolog.dsl.expressions.joined_names import On
from duolog.dsl.expressions.names import named
from duolog.dsl.expressions.python_functions import (
    Function,
    bound,
    call_with_columns,
    is_function,
    pair_of,
    parts_of,
)
from duolog.dsl.steps.processors import Processing
from duolog.plan.durations import Duration, milliseconds
from duolog.plan.errors import InvalidPlan
from duolog.plan.expressions import Call, ColumnRef, Expression, Item, PythonCall, literal
from duolog.plan.expressions.python_functions import Lookups
from duolog.plan.literals import PlainValue
from duolog.plan.nodes import Branch, Explode, Project, SelectKey, Split
from duolog.plan.nodes.node import ensure_some
from duolog.plan.types import Array, Struct, Type


class Reshaped(Processing):
    """The methods that transform single records: a base class of `Stream`."""

    def select_key(
        self, /, *keys: str | Expr | Function, **named_keys: Expr | PlainValue | Function
    ) -> Self:
        """Set a new key for each record; the columns of the old key move into the value.

        Or use the result of a function whose parameters are columns: `select_key(region)` is one
        column called `key`, or the fields of a dataclass; `select_key(region=region)` names the
        column.

        Example:
            >>> from duolog import Topology, col
            >>> flights = Topology("f").stream("f", key="carrier STRING", value="dest STRING")
            >>> print(flights.select_key("dest").schema)
            key (dest STRING) value (carrier STRING)
        """
        if len(keys) == 1 and not named_keys and is_function(keys[0]):
            call = call_with_columns(keys[0], self.schema)
            given = parts_of(call, call.function.result, "key")
            if not isinstance(call.function.result, Struct) and "key" not in self.schema.names:
                # There used to be two steps; the first one called the function.
                self.builder.leave_out()
            return self._then("select-key", lambda name: SelectKey(name, self.node, given))
        new = self._named(keys, named_keys)
        ensure_some(new, "a key")
        return self._then("select-key", lambda name: SelectKey(name, self.node, new))

    def map(
        self,
        /,
        *columns: str | Expr | Function,
        key: On | None = None,
        **named_columns: Expr | PlainValue | Function,
    ) -> Self:
        """Set a new key and a new value for each record; a null value stays null.

        Args:
            columns: the new value, as for `map_values`. Or, without `key`, a function whose
                parameters are columns and that returns a key and a value: `def priced(n: int) ->
                tuple[str, Priced]`.
            key: the new key, as for `select_key`: columns, or expressions with a name.
            named_columns: more columns of the value.

        Example:
            >>> from duolog import Topology, col
            >>> flights = Topology("f").stream("f", key="id BIGINT", value="dest STRING, late INT")
            >>> print(flights.map(key="dest", hours=col("late") / 60).schema)
            key (dest STRING) value (hours DOUBLE)
        """
        if key is None:
            return self._mapped_with_key(columns)
        values = self._named(columns, named_columns)
        keyed = self.select_key(*([key] if isinstance(key, str | Expr) else key))
        ensure_still_there(keyed.node, values)
        return keyed._then(  # noqa: SLF001 - of this class
            "map-values", lambda name: Project(name, keyed.node, values)
        )

    def map_async(
        self,
        function: Function,
        *,
        limit: int = 100,
        timeout: Duration = "10 seconds",
        retries: int = 3,
        backoff: Duration = "100 ms",
        keep: bool = False,
        returns: object = None,
    ) -> Self:
        """Replace the value by the result of a look-up, such as over HTTP, with concurrent calls.

        The function is a coroutine, or blocks in a thread of its own. Its parameters are columns,
        and its result becomes the value, as for `map_values`; with `keep` it is added to the value,
        as by `with_columns`. Results stay in order. If the last retry fails, the record cannot be
        processed. Each task has up to `limit` look-ups in flight. In real-time mode this holds only
        before the first change of key; later look-ups are made one after the other, because each
        record is forwarded immediately. An epoch ends when its look-ups have finished.

        Args:
            function: performs the look-up. It should create long-lived objects, such as a client
                with connections, at its first call.
            limit: the number of look-ups in flight for each task.
            timeout: the timeout of one try.
            retries: the number of retries after a failure.
            backoff: the pause before the first retry; it doubles before each further one.
            keep: keep the columns of the value, and add those of the result: the fields of a
                dataclass, or one column named after the function. A column of the same name is
                replaced.
            returns: the result type, if it is not annotated.

        Example:
            >>> from duolog import Topology
            >>> async def city(ip: str) -> str:
            ...     return (await client().get(f"/places/{ip}")).text
            >>> visits = Topology("v").stream("visits", key="user STRING", value="ip STRING")
            >>> print(visits.map_async(city, limit=20, timeout="2 seconds").schema)
            key (user STRING) value (value STRING)
            >>> print(visits.map_async(city, keep=True).schema)
            key (user STRING) value (ip STRING, city STRING)
        """
        if limit < 1 or retries < 0:
            raise InvalidPlan(
                f"map_async with limit={limit} and retries={retries} performs no look-ups",
                hint="Use a limit of at least 1, and retries of at least 0.",
            )
        pause_ms = milliseconds(backoff, "backoff")
        lookups = Lookups(limit, milliseconds(timeout, "timeout"), retries, pause_ms)
        call = call_with_columns(function, self.schema, returns, lookups)
        return self._with_result(call, function) if keep else self._mapped(call)

    def explode(
        self,
        /,
        *columns: str | Expr,
        into: str | Sequence[str] = (),
        outer: bool = False,
        **named_columns: str | Expr,
    ) -> Self:
        """Create a record for each element of an ARRAY or entry of a MAP; the other columns stay.

        The element replaces the array's column, or is appended under its own name:
        `explode("stops")`, `explode(stop="stops")`. A record without elements is dropped.

        Args:
            columns: the ARRAY or MAP: one column or expression.
            into: another name for the element; for a MAP two names, for key and value.
            outer: keep a record without elements, with null for the element.
            named_columns: the ARRAY, by the name for its element.

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
        *columns: str | Expr | Function,
        into: str | Sequence[str] = (),
        outer: bool = False,
        **named_columns: str | Expr,
    ) -> Self:
        """Create a record for each element, as `explode` does, with the element as the whole value.

        The fields of a STRUCT become columns. Or use a function whose parameters are columns and
        that returns a list: `def parts(text: str) -> list[Part]`.

        Example:
            >>> from duolog import Topology
            >>> orders = Topology("shop").stream(
            ...     "orders", key="id BIGINT", value="items ARRAY<STRUCT<sku STRING, n INT>>"
            ... )
            >>> print(orders.flat_map_values("items").schema)
            key (id BIGINT) value (sku STRING, n INT)
        """
        # The result of a function becomes the column `value`.
        given: list[str | Expr] = [
            Expr(call_with_columns(column, self.schema), "value")
            if is_function(column)
            else cast("str | Expr", column)
            for column in columns
        ]
        exploded = self._flat(given, named_columns, into, outer)
        values = element_columns(exploded.node)
        return exploded._then(  # noqa: SLF001 - of this class
            "map-values", lambda name: Project(name, exploded.node, values)
        )

    def flat_map(
        self,
        /,
        *columns: str | Expr | Function,
        key: On | None = None,
        into: str | Sequence[str] = (),
        **named_columns: str | Expr,
    ) -> Self:
        """Create a record for each element, with a new value and a new key.

        Args:
            columns: as for `flat_map_values`. Or, without `key`, a function that returns a list of
                keys and values, `def parts(text: str) -> list[tuple[str, Part]]`.
            key: the columns of the new value that are the key, or expressions with a name.
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
        if key is None:
            return self._flat_mapped_with_key(columns)
        given_columns: list[str | Expr] = [bound(column, self.schema) for column in columns]
        flat = self._flat(given_columns, named_columns, into, outer=False)
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
        """Split the stream: each record goes into the first branch whose condition is true.

        Args:
            branches: conditions by branch name, in the order of evaluation.
            default: the name of the branch for all other records; without it they are dropped.
            named_branches: more branches.

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
                f'two branches have the name "{default}"'
                if wanted
                else "a split needs a condition",
                hint='Write split(large=col("amount") > 100, default="small").',
            )
        conditions = tuple(self._predicate(condition) for condition in wanted.values())
        split = self.builder.add("split", lambda name: Split(name, self.node, conditions))
        names = [*wanted, *([] if default is None else [default])]
        return {name: self._branch(split, number) for number, name in enumerate(names)}

    def _with_result(self, call: PythonCall, function: Function) -> Self:
        """Return records whose value also has a function's result, called once per record."""
        kept: dict[str, Expression] = {
            column.name: ColumnRef(column.name) for column in self.schema.value
        }
        called = getattr(function, "__name__", "")
        alone = called if called.isidentifier() else "value"
        if not isinstance(call.function.result, Struct):
            values = tuple({**kept, alone: call}.items())
            return self._then("map-values", lambda name: Project(name, self.node, values))
        whole = free_name("result", self.schema.names)
        with_whole = tuple({**kept, whole: call}.items())
        asked = self._then("map-values", lambda name: Project(name, self.node, with_whole))
        parts = dict(parts_of(ColumnRef(whole), call.function.result, alone))
        together = tuple({**kept, **parts}.items())
        return asked._then(  # noqa: SLF001 - of this class
            "map-values", lambda name: Project(name, asked.node, together)
        )

    def _mapped_with_key(self, functions: Sequence[object]) -> Self:
        """Return records with the key and the value that a function returns."""
        function = _alone(functions)
        call = call_with_columns(function, self.schema)
        pair = pair_of(call.function.result, function)
        whole = free_name("result", self.schema.names)
        kept = tuple((column.name, ColumnRef(column.name)) for column in self.schema.value)
        called = self._then(
            "map-values", lambda name: Project(name, self.node, (*kept, (whole, call)))
        )
        # In a record without a value the result is missing: call the function again for the key.
        result = Call("COALESCE", (ColumnRef(whole), call))
        return called._with_pair(whole, pair, result)  # noqa: SLF001 - of this class

    def _flat_mapped_with_key(self, functions: Sequence[object]) -> Self:
        function = _alone(functions)
        call = call_with_columns(function, self.schema)
        of = call.function.result
        pair = pair_of(of.element if isinstance(of, Array) else of, function)
        whole = free_name("result", self.schema.names)
        flat = self._flat([Expr(call)], {}, whole, outer=False)
        return flat._with_pair(whole, pair, ColumnRef(whole))  # noqa: SLF001 - of this class

    def _with_pair(self, whole: str, pair: tuple[Type, Type], of_key: Expression) -> Self:
        """Return records whose value is in the column `whole` and whose key is in `of_key`."""
        key, value = Item(of_key, literal("key")), Item(ColumnRef(whole), literal("value"))
        keys = parts_of(key, pair[0], "key")
        keyed = self._then("select-key", lambda name: SelectKey(name, self.node, keys))
        values = parts_of(value, pair[1], "value")
        return keyed._then(  # noqa: SLF001 - of this class
            "map-values", lambda name: Project(name, keyed.node, values)
        )

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
        """Explode into records that consist only of the element."""
        return self._exploded(elements_of(self.node, columns, by_name, into, alone=True), outer)

    def _branch(self, split: Split, number: int) -> Self:
        return self._then("branch", lambda name: Branch(name, split, number))


def _alone(functions: Sequence[object]) -> Function:
    if len(functions) != 1 or not is_function(functions[0]):
        raise InvalidPlan(
            "a map needs a key",
            hint='Set it, map("dest", key="carrier"), or use one function that returns a key and a '
            "value.",
        )
    function: Function = functions[0]
    return function
