"""Queries that should run according to the command topic."""

import re
from dataclasses import dataclass, field
from typing import Final

from duolog.ksql.statements.state import PersistentQuery
from duolog.runtime.sql.command_log.commands import Offsets

# Statements are stored with the comments of their authors.
_SPACE: Final = r"(?:\s|--[^\n]*\n|/\*.*?\*/)"
_REPLACES: Final = re.compile(
    rf"{_SPACE}*CREATE{_SPACE}+OR{_SPACE}+REPLACE\b", re.IGNORECASE | re.DOTALL
)


@dataclass(frozen=True, slots=True)
class DesiredQuery:
    """A query that should run, or be paused."""

    query: PersistentQuery
    starts: Offsets = field(default_factory=dict)
    before: int = 0
    """Number of queries with this id that have ended before; their state is not reused."""
    number: int = 0
    """Decides which server runs it: see `persistent/places.py`."""
    earlier: tuple[PersistentQuery, ...] = ()
    """The last queries that it has replaced, the newest first: state may be that of one of them."""

    @property
    def checkpoint(self) -> str:
        """Name of its checkpoint."""
        return checkpoint_of(self.query.id, self.before)

    @property
    def replaces(self) -> bool:
        """True if it continues with the state of another query."""
        return _REPLACES.match(self.query.statement) is not None


def checkpoint_of(query_id: str, before: int) -> str:
    """Return the name of a query's checkpoint, after `before` queries of the same id have ended.

    Example:
        >>> checkpoint_of("LATE", 0), checkpoint_of("LATE", 2)
        ('LATE', 'LATE~2')
    """
    return f"{query_id}~{before}" if before else query_id
