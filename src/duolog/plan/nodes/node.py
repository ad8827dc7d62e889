"""The base of all nodes. Its traits describe a node, so that no code depends on its class.

trait              meaning                                  used by
drivers            parents whose records trigger it         levels: nodes of one part
tables             tables that it looks up by key           levels: nodes that share a store
rekeys, by_key     if an edge is needed before it           levels: position of the cuts
reshuffles         if there is an edge in any case          levels: position of the cuts
may_drop           if it may drop records                   levels: consumers that share an edge
stores             the stores that it fills                 levels, checkpoint
parts              internal nodes created with it           names
expiry, modes      lifetime of state, supported modes       explain
history_ms         if its rows can be found by time         joins, levels
reads              the columns that it needs                columns to shuffle
keeps_whole_rows   if it needs all of its own columns       columns to shuffle
action             a short description                      describe
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from duolog.plan.errors import InvalidPlan, TypeMismatch
from duolog.plan.expressions import ColumnRef, Expression, Named, Scope, column_names, type_of
from duolog.plan.expressions.key_functions import KeyFunction
from duolog.plan.schema import Schema
from duolog.plan.types import BIGINT, INT, NULL, STRING, TIMESTAMP, Column, map_in, quote

Names = frozenset[str]


class Node:
    """A step of a plan. The defaults are those of a node without state that keeps the key."""

    if TYPE_CHECKING:
        # A subclass has each of these as a field, a constant or a property. At run time, a
        # dataclass would take an inherited property for the default of its field.
        @property
        def name(self) -> str: ...

        @property
        def schema(self) -> Schema: ...

        @property
        def is_table(self) -> bool: ...

    @property
    def ttl_ms(self) -> int | None:
        """The lifetime of a row in its store that is not updated; None: unlimited."""
        return None

    @property
    def parents(self) -> tuple["Node", ...]:
        """The nodes whose records this node reads, starting with the one that triggers it."""
        return ()

    @property
    def driver(self) -> "Node | None":
        """The first of `drivers`; None for a source."""
        return self.drivers[0] if self.drivers else None

    @property
    def drivers(self) -> tuple["Node", ...]:
        """The parents whose records trigger this node."""
        return self.parents[:1]

    @property
    def tables(self) -> tuple["Node", ...]:
        """The tables whose rows this node looks up by the key of its own record."""
        return ()

    @property
    def rekeys(self) -> bool:
        """True if records may leave with another key than they arrived with."""
        return False

    @property
    def by_key(self) -> bool:
        """True if one task must see all records of a key."""
        return False

    @property
    def reshuffles(self) -> bool:
        """True if records are always shuffled before it."""
        return False

    @property
    def may_drop(self) -> bool:
        """True if a record may arrive without any being emitted."""
        return False

    @property
    def stores(self) -> tuple[str, ...]:
        """The names of the stores that this node fills."""
        return ()

    @property
    def expiry(self) -> str:
        """The lifetime of its state, and the reason, in the words of `explain`."""
        return "until it is deleted" if self.stores else ""

    @property
    def modes(self) -> str:
        """The modes that it supports, with a reason, in the words of `explain`."""
        return "both modes"

    @property
    def parts(self) -> tuple["Node", ...]:
        """The internal nodes that were created with this one, parents first."""
        return ()

    @property
    def history_ms(self) -> int | None:
        """For a versioned table: the time for which it stores earlier versions of its rows."""
        return None

    @property
    def keeps_whole_rows(self) -> bool:
        """True if all of its columns are needed, regardless of its readers."""
        return False

    @property
    def action(self) -> str:
        """A description of the node, in the words of `describe`."""
        raise NotImplementedError(type(self).__name__)

    def reads(self, parent: "Node", needed: Names) -> Names:
        """Return the columns of `parent` that are read for this node's columns `needed`."""
        return needed

    def __str__(self) -> str:
        return self.name


def scope_of(node: Node) -> Scope:
    """Return the scope of expressions over the records of `node`."""
    return Scope(node.schema.columns, of_record=not node.is_table)


def ancestors(node: Node) -> Iterator[Node]:
    """Yield `node` and all of its ancestors, nearest first."""
    seen = {node}
    waiting = [node]
    for current in waiting:
        yield current
        waiting.extend(parent for parent in current.parents if parent not in seen)
        seen.update(current.parents)


def driving(node: Node, ends: Callable[[Node], bool]) -> Iterator[Node]:
    """Yield `node` and its drivers, up to those for which `ends` is true; each node once.

    Paths may split and merge many times, so walking each path separately could take exponential
    time.
    """
    seen: set[Node] = set()
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if current not in seen:
            seen.add(current)
            yield current
            if not ends(current):
                waiting.extend(reversed(current.drivers))


def typed_columns(named: tuple[Named, ...], scope: Scope) -> tuple[Column, ...]:
    """Return the columns that expressions produce.

    Raises:
        StatementError: an expression does not fit, or has no type.
    """
    columns = tuple(Column(name, type_of(expression, scope)) for name, expression in named)
    for column, (_, expression) in zip(columns, named, strict=True):
        if column.type == NULL:
            raise TypeMismatch(
                f'column "{column.name}" has no type',
                detail=f"It is {expression}.",
                hint="Cast it to a type.",
            )
    return columns


def needed_of(values: tuple[Named, ...], needed: Names) -> list[Expression]:
    """Return the expressions of the columns that are needed downstream."""
    return [expression for name, expression in values if name in needed]


def names_in(expressions: Iterable[Expression]) -> Names:
    return frozenset(name for expression in expressions for name in column_names(expression))


def needed_key(node: Node, needed: Names) -> Names:
    """Return the key columns among `needed`; most nodes keep the key as it is."""
    return needed & {column.name for column in node.schema.key}


def render_named(columns: tuple[Named, ...]) -> str:
    return ", ".join(
        str(of) if of == ColumnRef(name) else f"{quote(name)} = {of}" for name, of in columns
    )


def ensure_stream(node: Node, action: str) -> None:
    if node.is_table:
        raise InvalidPlan(f'cannot {action} table "{node}"', hint="Use to_stream() first.")


def ensure_table(node: Node, action: str) -> None:
    if not node.is_table:
        raise InvalidPlan(
            f'cannot {action} stream "{node}" as a table',
            hint="Make it a table: read its topic with table(...), or aggregate it.",
        )


def ensure_time(time: Expression, scope: Scope) -> None:
    """Raise a StatementError if an expression is not a timestamp."""
    found = type_of(time, scope)
    if found not in {INT, BIGINT, TIMESTAMP}:
        raise TypeMismatch(
            f"{time} is not a timestamp",
            detail=f"It is {found}; a timestamp must be BIGINT milliseconds or TIMESTAMP.",
            hint='Cast a text: .cast("TIMESTAMP").' if found == STRING else "",
        )


def ensure_partition(partitioner: Expression, of: Node) -> None:
    """Raise a StatementError if an expression over records of a node is not a partition."""
    if isinstance(partitioner, KeyFunction):
        return
    found = type_of(partitioner, scope_of(of))
    if found not in {INT, BIGINT, NULL}:
        raise TypeMismatch(
            f"{partitioner} is not a partition",
            detail=f"It is {found}; a partition must be an INT or BIGINT from 0.",
        )


def ensure_some(named: tuple[Named, ...], what: str) -> None:
    if not named:
        raise InvalidPlan(f"{what} needs at least one column")


def ensure_key(schema: Schema) -> None:
    """Check that equal keys of this schema have equal bytes."""
    for column in schema.key:
        if map_in(column.type):
            raise InvalidPlan(
                f'column "{column.name}" cannot be a key',
                detail=f"It is a {column.type}. The entries of a MAP have no order, so that "
                "equal maps may have different bytes.",
                hint="Use entries of the map as the key.",
            )
