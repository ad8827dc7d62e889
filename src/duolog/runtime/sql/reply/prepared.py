"""Look-ups that are prepared once and answered many times, with other literals.

Only look-ups of whole keys in tables without windows and headers are prepared: they take
microseconds, so that an event loop can answer them itself.

Threads: any.
"""

from dataclasses import dataclass
from typing import Final

from duolog.ksql.catalog.catalog import Catalog, SourceInfo
from duolog.ksql.syntax.types import sql_name
from duolog.runtime.sql.reply.lookup_shapes import Form
from duolog.runtime.sql.tables.freshness import Wanted
from duolog.runtime.sql.tables.stored_rows import Undecodable
from duolog.runtime.sql.tables.table_rows import TableRows
from duolog.serde.row import Row

_KEYS_MAX: Final = 16


@dataclass(frozen=True, slots=True)
class PreparedLookup:
    """A look-up without its literals, for sessions with the same properties."""

    form: Form
    wanted: Wanted
    rows_max: int
    """Largest number of rows in an answer; 0: no limit."""

    @property
    def source(self) -> SourceInfo:
        """The table as it was declared when the look-up was prepared."""
        return self.form.marked.source

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """The columns of the result: names with type names."""
        return tuple((one.name, sql_name(one.type)) for one in self.form.marked.columns)

    def is_valid(self, catalog: Catalog) -> bool:
        """Return true if a catalog has the same table."""
        known = catalog.sources.get(self.source.name)
        return known is self.source or known == self.source

    def rows(self, values: Row, table: TableRows) -> list[Row] | None:
        """Return the rows for literals; None if only the usual way can answer, maybe by an error.

        Args:
            values: the literals, as `lookup_shapes.shape_of` returns them.
            table: the current rows.
        """
        lookup = self.form.lookup(values)
        if len(lookup.keys) > _KEYS_MAX:
            return None
        try:
            found = lookup.rows(table)
        except Undecodable:
            return None
        if found is not None and 0 < self.rows_max < len(found):
            return None
        return found


def prepared_lookup(form: Form | None, wanted: Wanted, rows_max: int) -> PreparedLookup | None:
    """Return a form as a prepared look-up; None if it takes longer, or needs more than rows."""
    if form is None or wanted.snapshot or wanted.offsets_min:
        return None
    source, marked = form.marked.source, form.marked
    is_whole = bool(marked.keys) and all(len(key) == len(source.key) for key in marked.keys)
    if marked.by_range or source.window is not None or source.headers or not is_whole:
        return None
    return PreparedLookup(form, wanted, rows_max)
