"""Where the rows of a query go, and in which formats."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from duolog.ksql import settings
from duolog.ksql.catalog.catalog import SourceInfo, SqlColumn, SqlFormat, TimestampColumn
from duolog.ksql.catalog.format_support import ensure_key, ensure_value, wrapped
from duolog.ksql.catalog.properties import SELECTED, Properties, format_named
from duolog.ksql.settings import Settings
from duolog.ksql.syntax.formatting import quoted_name
from duolog.plan.schema import BOUNDS

_INHERITED = ("delimiter",)
"""Properties of a format that a result has from its source; what names a schema is the source's own."""
_BOUNDS = tuple(bound.name for bound in BOUNDS)
"""Columns of a windowed key that no format carries: they stand behind its bytes."""


@dataclass(frozen=True, slots=True)
class Target:
    """The topic that a query writes, and what WITH (…) says of it; `sink` is the stream that INSERT INTO writes."""

    topic: str
    properties: Properties = field(default_factory=lambda: Properties((), SELECTED))
    settings: Settings = field(default_factory=Settings)
    sink: SourceInfo | None = None
    name: str = ""
    """The stream or table that is made or written; empty where the rows go to whoever asks."""

    def formats(
        self, source: SourceInfo, columns: Sequence[SqlColumn]
    ) -> tuple[SqlFormat, SqlFormat]:
        """Return the formats of key and value for a result that has these columns; `source` is the left-most.

        What is not said is the source's; a key of a source without keys has the session's.

        Raises:
            SqlError: a format cannot have such columns.
        """
        keys = [column for column in columns if column.role == "KEY" and column.name not in _BOUNDS]
        values = [column for column in columns if column.role == "VALUE"]
        if self.sink is not None:
            key, value = self.sink.key_format, self.sink.value_format
        else:
            key = self._key_format(source, keys)
            value = self._value_format(source)
            default = self.settings.truth(settings.WRAP)
            value = wrapped(value, values, wrap=self.properties.wrap(), default=default)
        ensure_key(key, keys)
        ensure_value(value, values)
        return key, value

    def begin(self, *, is_table: bool) -> str:
        """Return the words before the query, as errors repeat a statement."""
        if self.sink is not None:
            return f"INSERT INTO {quoted_name(self.name)} "
        if not self.name:
            return ""
        kind, given = "TABLE" if is_table else "STREAM", self.properties.written()
        return f"CREATE {kind} {quoted_name(self.name)}{f' WITH ({given})' if given else ''} AS "

    def timestamp(self, columns: Sequence[SqlColumn]) -> TimestampColumn | None:
        """Return the column that the times of the rows are taken from.

        Raises:
            SqlError: it is not among the columns, or no time.
        """
        return self.properties.timestamp({column.name: column.type for column in columns})

    def _key_format(self, source: SourceInfo, keys: Sequence[SqlColumn]) -> SqlFormat:
        given = self.properties.format("KEY")
        if given is not None:
            return given
        if not keys:
            return SqlFormat("NONE")
        if source.key_format.name == "NONE":
            found = format_named(self.settings[settings.KEY_FORMAT] or "KAFKA")
        else:
            found = _inherited(source.key_format)
        return self.properties.with_options("KEY", found)

    def _value_format(self, source: SourceInfo) -> SqlFormat:
        given = self.properties.format("VALUE")
        if given is not None:
            return given
        return self.properties.with_options("VALUE", _inherited(source.value_format))


def _inherited(of: SqlFormat) -> SqlFormat:
    kept = tuple(pair for pair in of.properties if pair[0] in _INHERITED)
    return replace(of, properties=kept, wrap=None)
