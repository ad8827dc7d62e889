"""Refuse joins of incompatible windows, and WITHIN in joins with tables.

Source: ksqlDB's documentation of joins; the messages are those that its users search for.
"""

from sqlglot import exp

from duolog.ksql.catalog.catalog import SourceWindow
from duolog.ksql.errors import SqlError
from duolog.ksql.planning.sources import Relation
from duolog.ksql.syntax.nodes import place_of


def ensure_windows_fit(left: Relation, right: Relation) -> None:
    """Refuse joins of a windowed key with an unwindowed one, and of sessions with other windows."""
    one, other = _window(left), _window(right)
    if one is None and other is None:
        return
    if one is None or other is None:
        windows = "\n".join(
            f"`{side.sources[0].name}` is {f'{of.kind} windowed' if of else 'not windowed'}"
            for side, of in ((left, one), (right, other))
        )
        raise SqlError(f"Can not join windowed source to non-windowed source.\n{windows}")
    sessions = "SESSION" in {one.kind, other.kind}
    if not sessions and (one.size_ms is None) != (other.size_ms is None):
        raise SqlError(
            f"Incompatible windowed sources.\nLeft source: {one}\nRight source: {other}\n"
            "Calendar windows can only be joined to other calendar windows"
        )
    if (one.kind == "SESSION") != (other.kind == "SESSION"):
        raise SqlError(
            "Incompatible windowed sources.\n"
            f"Left source: {one.kind}\n"
            f"Right source: {other.kind}\n"
            "Session windowed sources can only be joined to other session windowed sources, and "
            "may still not result in expected behaviour as session bounds must be an exact match "
            "for the join to work\n"
            "Hopping and tumbling windowed sources can only be joined to other hopping and "
            "tumbling windowed sources"
        )


def ensure_no_window(join: exp.Join, what: str) -> None:
    """Refuse WITHIN in joins with a table, whose rows match at any time."""
    if join.args.get("within") is not None:
        raise SqlError(
            f"A window definition was provided for a {what} join. These joins are not windowed. "
            "Please drop the window definition (ie. the WITHIN clause) and try to execute "
            "your join again.",
            at=place_of(join),
        )


def no_repartitioning(node: exp.Expression) -> SqlError:
    """Return the error of windowed records that are not joined by their key."""
    return SqlError(
        "Implicit repartitioning of windowed sources is not supported. See "
        "https://github.com/confluentinc/ksql/issues/4385.",
        at=place_of(node),
    )


def _window(side: Relation) -> SourceWindow | None:
    return side.sources[0].window if side.node.schema.window is not None else None
