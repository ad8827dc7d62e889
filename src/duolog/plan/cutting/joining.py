"""Builds the nodes of a join of two streams or two tables, in the order in which they are added.

    join_streams           two StreamJoinSides, a StreamJoin
    join_tables            two JoinSides, a TableJoin
    join_by_foreign_key    subscriptions, answers and a ForeignJoin: see `nodes.foreign_join`

The caller names the nodes. All front ends build their joins here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from duolog.plan.expressions import Named
from duolog.plan.nodes import (
    Announce,
    Answers,
    ForeignJoin,
    ForeignTable,
    JoinKind,
    JoinSide,
    Newest,
    Node,
    Numbered,
    StreamJoin,
    StreamJoinSide,
    Subscribe,
    Subscriptions,
    TableJoin,
)
from duolog.plan.nodes.foreign_join import ForeignJoinKind
from duolog.plan.windows.join_window import JoinWindow

NodeT = TypeVar("NodeT", bound=Node)


class Adds(Protocol):
    """Creates nodes and names them."""

    def add(self, kind: str, make: Callable[[str], NodeT], /) -> NodeT:
        """Return the node that `make` creates from the next name of a kind."""


@dataclass(frozen=True, slots=True)
class StreamJoinOptions:
    """The kind, the result and the window of a join of two streams."""

    kind: JoinKind
    values: tuple[Named, ...]
    window: JoinWindow
    eager: bool = False
    store: str | None = None
    """The prefix of the names of its stores; None: the name of a node."""


def join_streams(nodes: Adds, streams: tuple[Node, Node], options: StreamJoinOptions) -> StreamJoin:
    """Add a join of two streams by their keys."""
    left, right = streams
    called = "stream" if options.kind == "inner" else f"stream-{options.kind}"

    def side(name: str, stores: str, *, of_left: bool) -> StreamJoinSide:
        return StreamJoinSide(
            name,
            left,
            right,
            options.kind,
            options.values,
            of_left,
            options.window,
            options.eager,
            stores,
        )

    this = nodes.add(
        f"{called}-join-this",
        lambda name: side(name, options.store or name.replace("-this-", "-"), of_left=True),
    )
    that = nodes.add(f"{called}-join-other", lambda name: side(name, this.called, of_left=False))
    return nodes.add(f"{called}-join", lambda name: StreamJoin(name, (this, that)))


def join_tables(
    nodes: Adds, tables: tuple[Node, Node], kind: JoinKind, values: tuple[Named, ...]
) -> TableJoin:
    """Add a join of two tables by their keys."""
    left, right = tables
    called = "table" if kind == "inner" else f"table-{kind}"

    def side(role: str, *, of_left: bool) -> JoinSide:
        return nodes.add(
            f"{called}-join-{role}",
            lambda name: JoinSide(name, left, right, kind, values, of_left),
        )

    sides = side("this", of_left=True), side("other", of_left=False)
    return nodes.add(f"{called}-join", lambda name: TableJoin(name, sides))


def join_by_foreign_key(
    nodes: Adds,
    tables: tuple[Node, Node],
    kind: ForeignJoinKind,
    keys: tuple[Named, ...],
    values: tuple[Named, ...],
) -> ForeignJoin:
    """Add a join of two tables: `keys`, over the left columns, match the right table's key."""
    left, right = tables
    called = "foreign-join" if kind == "inner" else "foreign-left-join"
    numbered = nodes.add(
        f"{called}-numbered", lambda name: Numbered(name, left, right, keys, f"{name}-store")
    )
    # Announce comes first: at equal times it must arrive before the answer to an older row.
    announce = nodes.add(f"{called}-announce", lambda name: Announce(name, numbered, kind))
    subscribe = nodes.add(f"{called}-subscribe", lambda name: Subscribe(name, numbered, kind))
    kept = nodes.add(
        f"{called}-subscriptions",
        lambda name: Subscriptions(name, numbered, subscribe, f"{name}-store"),
    )
    table = nodes.add(f"{called}-table", lambda name: ForeignTable(name, numbered, kept))
    answers = nodes.add(f"{called}-answers", lambda name: Answers(name, numbered, kept, table))
    newest = nodes.add(f"{called}-newest", lambda name: Newest(name, announce, f"{name}-store"))
    return nodes.add(
        called, lambda name: ForeignJoin(name, answers, newest, kind, values, f"{name}-store")
    )
