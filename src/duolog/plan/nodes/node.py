"""The base of all nodes: what each says of itself, so that nobody asks for its class.

drivers            whose records make it do something       levels: what belongs together
tables             which tables it looks up by key          levels: what shares a store
rekeys, by_key     whether an edge is needed before it      levels: where the plan is cut
reshuffles         whether there is one in any case         levels: where the plan is cut
may_drop           whether records may end here             levels: where one edge serves many
stores             what it keeps                            levels, checkpoint
parts              what was made with it                    names
expiry, modes      until when, and where it runs            explain
history_ms         whether its rows are found by time       joins, levels
reads              the columns that it needs                what is shuffled
keeps_whole_rows   whether it needs all of its own columns  what is shuffled
action             what it does, in a few words             describe
"""

from collections.abc import Callable, Iterable, Iterator

from duolog.plan.errors import InvalidPlan, TypeMismatch
from duolog.plan.expressions import ColumnRef, Expression, Named, Scope, column_names, type_of
from duolog.plan.expressions.key_functions import KeyFunction
from duolog.plan.schema import Schema
from duolog.plan.types import BIGINT, INT, NULL, STRING, TIMESTAMP, Column, map_in, quote

Names = frozenset[str]


class Node:
    """A step of a plan. The defaults are those of a node without state that keeps the key."""

    name: str
    schema: Schema
    is_table: bool
    ttl_ms: int | None = None
    """How long a row of its store lives that is not updated; None: for good."""

    @property
    def parents(self) -> tuple["Node", ...]:
        """The nodes whose records this node reads, the one that drives it first."""
        return ()

    @property
    def driver(self) -> "Node | None":
        """The first of `drivers`; None for a source."""
        return self.drivers[0] if self.drivers else None

    @property
    def drivers(self) -> tuple["Node", ...]:
        """The parents whose records make this node do something."""
        return self.parents[:1]

    @property
    def tables(self) -> tuple["Node", ...]:
        """The tables whose rows this node looks up by the key of its own record."""
        return ()

    @property
    def rekeys(self) -> bool:
        """Whether records leave under a key that need not be the one that they came with."""
        return False

    @property
    def by_key(self) -> bool:
        """Whether all records of one key must be seen by one task."""
        return False

    @property
    def reshuffles(self) -> bool:
        """Whether records are shuffled before it wherever they have been."""
        return False

    @property
    def may_drop(self) -> bool:
        """Whether a record may come in and none go out."""
        return False

    @property
    def stores(self) -> tuple[str, ...]:
        """The names of the stores that this node fills."""
        return ()

    @property
    def expiry(self) -> str:
        """When what it keeps goes, and why, in the words of `explain`."""
        return "until it is deleted" if self.stores else ""

    @property
    def modes(self) -> str:
        """In which modes it runs, and why not in another, in the words of `explain`."""
        return "both modes"

    @property
    def parts(self) -> tuple["Node", ...]:
        """The nodes that were made with this one, for it alone, parents first."""
        return ()

    @property
    def history_ms(self) -> int | None:
        """Of a versioned table: how long it knows what its rows were before."""
        return None

    @property
    def keeps_whole_rows(self) -> bool:
        """Whether all of its columns are needed, whoever reads them."""
        return False

    @property
    def action(self) -> str:
        """What it does, in the words of `describe`."""
        raise NotImplementedError(type(self).__name__)

    def reads(self, parent: "Node", behind: Names) -> Names:
        """Return the columns of `parent` that are read, where of its own `behind` are needed."""
        return behind

    def __str__(self) -> str:
        return self.name


def scope_of(node: Node) -> Scope:
    """Return what expressions over the records of `node` may name."""
    return Scope(node.schema.columns, of_record=not node.is_table)


def ancestors(node: Node) -> Iterator[Node]:
    """Yield `node` and all that it reads, nearest first."""
    seen = {node}
    waiting = [node]
    for current in waiting:
        yield current
        waiting.extend(parent for parent in current.parents if parent not in seen)
        seen.update(current.parents)


def driving(node: Node, ends: Callable[[Node], bool]) -> Iterator[Node]:
    """Yield `node` and what drives it, each way up to where it `ends`; each node once.

    Ways that part and merge again are many: chained, more than could be gone one by one.
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
    """Return the columns that expressions make.

    Raises:
        StatementError: an expression does not fit, or has no type.
    """
    columns = tuple(Column(name, type_of(expression, scope)) for name, expression in named)
    for column, (_, expression) in zip(columns, named, strict=True):
        if column.type == NULL:
            raise TypeMismatch(
                f'column "{column.name}" has no type',
                detail=f"It is {expression}.",
                hint="Cast it to the type that it should have.",
            )
    return columns


def needed_of(values: tuple[Named, ...], behind: Names) -> list[Expression]:
    """Return the expressions of those columns that are needed behind."""
    return [expression for name, expression in values if name in behind]


def names_in(expressions: Iterable[Expression]) -> Names:
    return frozenset(name for expression in expressions for name in column_names(expression))


def key_behind(node: Node, behind: Names) -> Names:
    """Return the key columns among `behind`; a key goes through most nodes as it is."""
    return behind & {column.name for column in node.schema.key}


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
    """Raise a StatementError where an expression is no timestamp."""
    found = type_of(time, scope)
    if found not in {INT, BIGINT, TIMESTAMP}:
        raise TypeMismatch(
            f"{time} is no timestamp",
            detail=f"It is {found}; a timestamp is BIGINT milliseconds, or TIMESTAMP.",
            hint='Cast a text: .cast("TIMESTAMP").' if found == STRING else "",
        )


def ensure_partition(partitioner: Expression, of: Node) -> None:
    """Raise a StatementError where an expression over records of a node is no partition."""
    if isinstance(partitioner, KeyFunction):
        return
    found = type_of(partitioner, scope_of(of))
    if found not in {INT, BIGINT, NULL}:
        raise TypeMismatch(
            f"{partitioner} is no partition",
            detail=f"It is {found}; a partition is a number from 0 on.",
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
                hint="Take the entries that make the key.",
            )
