"""Check statements that write tombstones: only rows that no query computes can be deleted.

INSERT INTO t (k) NULL VALUES KEY ('a')        into a stream or table
DELETE FROM t WHERE k = 'a'                    from a table
"""

from typing import Final

from duolog.ksql.catalog.catalog import SourceInfo
from duolog.ksql.errors import SqlError, syntax_error
from duolog.ksql.settings import Settings
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.nodes import place_of
from duolog.ksql.syntax.script import text_of

_ALLOWED_COLUMN: Final = "ROWTIME"


def ensure_tombstone(source: SourceInfo, node: nodes.InsertValues, settings: Settings) -> None:
    """Refuse NULL VALUES for sources that have no key or are computed, and values of other columns.

    Raises:
        SqlError: the source has no key or is a table that a query writes, or a column is not part
            of the key.
    """
    null = node.args["tombstone"]
    if settings.strict and (at := place_of(null)):
        raise syntax_error(at, "Expecting 'VALUES', found 'NULL'", text_of(node))
    if not source.key:
        raise SqlError(
            f"NULL VALUES requires a key, but {source.name} has none.", at=place_of(null)
        )
    if source.is_table:
        ensure_no_result(source, node)
    keys = {column.name for column in source.key}
    for name in node.args.get("columns") or ():
        if name.name not in keys | {_ALLOWED_COLUMN}:
            raise SqlError(
                f"NULL VALUES accepts values of key columns only: `{name.name}` is not a key "
                f"column of {source.name}.",
                at=place_of(name),
            )


def ensure_no_result(source: SourceInfo, node: nodes.InsertValues | nodes.DeleteRows) -> None:
    """Refuse to change rows of a table that a query writes: the query would not see the change."""
    if source.query:
        raise SqlError(
            f"Cannot delete rows of {source.name}: query {source.query} writes it, and would "
            "not see the change.",
            at=place_of(node.this),
            hint="Delete the rows that the query reads.",
        )
