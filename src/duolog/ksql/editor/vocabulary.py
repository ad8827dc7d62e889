"""Names that a statement may use, as plain values.

The shell completes before the parser is loaded, so this module imports nothing of it;
`catalog_vocabulary` makes one from a catalog.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class NamedColumn:
    """A column or a field.

    Attributes:
        type: as in SQL.
        role: KEY, HEADERS, …; empty for a value or a field.
        fields: of a STRUCT, or of the STRUCTs that an ARRAY or a MAP contains.
    """

    name: str
    type: str = ""
    role: str = ""
    fields: tuple["NamedColumn", ...] = ()


@dataclass(frozen=True, slots=True)
class NamedSource:
    """A stream or table."""

    name: str
    kind: str = "STREAM"
    columns: tuple[NamedColumn, ...] = ()
    topic: str = ""

    def column(self, name: str) -> NamedColumn | None:
        """Return a column by its name as written: unquoted names may be in any case."""
        return _named(self.columns, name)


@dataclass(frozen=True, slots=True)
class NamedFunction:
    """A function with its overloads.

    Attributes:
        signatures: `NAME(parameter TYPE, …) → TYPE`, one for each overload.
    """

    name: str
    family: str = ""
    description: str = ""
    signatures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Existing names; `settings` has the values of properties by name."""

    sources: Mapping[str, NamedSource] = field(default_factory=dict)
    functions: tuple[NamedFunction, ...] = ()
    queries: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)

    def source(self, name: str) -> NamedSource | None:
        """Return a stream or table by its name as written."""
        return self.sources.get(name) or self.sources.get(name.upper())


def field_named(of: NamedColumn, name: str) -> NamedColumn | None:
    """Return a field of a column by its name as written."""
    return _named(of.fields, name)


def _named(columns: tuple[NamedColumn, ...], name: str) -> NamedColumn | None:
    for wanted in (name, name.upper()):
        for column in columns:
            if column.name == wanted:
                return column
    return None
