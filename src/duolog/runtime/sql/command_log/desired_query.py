"""Queries that the command topic asks to run."""

import re
from dataclasses import dataclass, field
from typing import Final

from duolog.ksql.statements.state import PersistentQuery
from duolog.runtime.sql.command_log.commands import Offsets

_REPLACES: Final = re.compile(r"\s*CREATE\s+OR\s+REPLACE\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DesiredQuery:
    """A query that is to run, or to be paused."""

    query: PersistentQuery
    starts: Offsets = field(default_factory=dict)
    before: int = 0
    """How many queries of its id have ended for good before it: it has nothing of theirs."""

    @property
    def checkpoint(self) -> str:
        """What its state is kept by."""
        return checkpoint_of(self.query.id, self.before)

    @property
    def replaces(self) -> bool:
        """Whether it goes on with what another query keeps."""
        return _REPLACES.match(self.query.statement) is not None


def checkpoint_of(query_id: str, before: int) -> str:
    """Return what the state of a query is kept by, so many of whose id have ended.

    Example:
        >>> checkpoint_of("LATE", 0), checkpoint_of("LATE", 2)
        ('LATE', 'LATE~2')
    """
    return f"{query_id}~{before}" if before else query_id
