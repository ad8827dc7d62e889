"""Determine topic and formats of a query's result."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from duolog.ksql import settings
from duolog.ksql.catalog.catalog import SourceInfo, SqlColumn, SqlFormat, TimestampColumn
from duolog.ksql.catalog.format_support import Part, ensure_key, ensure_value, wrapped
from duolog.ksql.catalog.properties import SELECTED, Properties, format_named
from duolog.ksql.catalog.schemas import LANGUAGES, TopicSchemas, schema_of_columns
from duolog.ksql.settings import Settings
from duolog.ksql.syntax.formatting import quoted_name
from duolog.plan.schema import BOUNDS

_INHERITED = ("delimiter",)
"""Format properties inherited from the source; those that name a schema are not."""
_BOUNDS = tuple(bound.name for bound in BOUNDS)
"""Window bounds of a key, which follow the bytes of its format."""


@dataclass(frozen=True, slots=True)
class Target:
    """Topic and properties of a result; `sink` is the existing stream of INSERT INTO."""

    topic: str
    properties: Properties = field(default_factory=lambda: Properties((), SELECTED))
    settings: Settings = field(default_factory=Settings)
    sink: SourceInfo | None = None
    name: str = ""
    """Stream or table that is written; empty for a push query."""

    def formats(
        self, source: SourceInfo, columns: Sequence[SqlColumn]
    ) -> tuple[SqlFormat, SqlFormat]:
        """Return key and value format of a result with these columns; `source` is the left-most.

        By default they are those of the source. If the source has no key, the session's key format
        is used.

        Raises:
            SqlError: a format does not support the columns.
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
        if not self.name:
            # The rows are returned to the caller; no topic has a schema for them.
            return replace(key, registered=None), replace(value, registered=None)
        if self.sink is not None:
            return key, value
        return self._registered("Key", key, keys), self._registered("Value", value, values)

    def _registered(self, part: Part, of: SqlFormat, columns: Sequence[SqlColumn]) -> SqlFormat:
        if of.name == "PROTOBUF_NOSR" and columns:
            schema_of_columns(part, of, columns, self.name)
        if of.name not in LANGUAGES or not columns or self.settings[settings.REGISTRY] is None:
            return of
        schemas = TopicSchemas(self.settings, of)
        return schemas.written(part, of, self.topic, columns, self.name)

    def begin(self, *, is_table: bool) -> str:
        """Return the part of the statement before the query, for error messages."""
        if self.sink is not None:
            return f"INSERT INTO {quoted_name(self.name)} "
        if not self.name:
            return ""
        kind, given = "TABLE" if is_table else "STREAM", self.properties.written()
        return f"CREATE {kind} {quoted_name(self.name)}{f' WITH ({given})' if given else ''} AS "

    def timestamp(self, columns: Sequence[SqlColumn]) -> TimestampColumn | None:
        """Return the column from which rows take their timestamps.

        Raises:
            SqlError: the column does not exist, or does not have a time type.
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
    return replace(of, properties=kept, wrap=None, registered=None)
