"""The types of an Avro schema: a graph of nodes, in which a name leads back to its definition.

    Type ─┬─ Primitive                 null, boolean, int, long, float, double, bytes, string
          ├─ Array, Map, Union         types without a name
          ├─ Named ─┬─ Record          fields, each with a type
          │         ├─ Enum
          │         └─ Fixed
          └─ Unresolved                a name before the parser has found its definition

A node is equal to itself only: the same text at two places makes two nodes, a name that is used
twice leads to one node. Java compares schemas in this way, see `resolution`. Nodes do not change
after the parser has returned them.
"""

from dataclasses import dataclass, field
from typing import Final, TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

PRIMITIVES: Final = frozenset(
    ("string", "bytes", "int", "long", "float", "double", "boolean", "null")
)
KINDS: Final = PRIMITIVES | {"record", "enum", "array", "map", "union", "fixed"}


class Missing:
    """The type of `MISSING`: no default, which is not the same as the default null."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()


@dataclass(frozen=True, slots=True)
class Name:
    """A name and its namespace; None is the namespace without a name.

    Example:
        >>> Name.of("a.b.C", "d").space, Name.of("C", "d").full, Name.of(".C", "d").full
        ('a.b', 'd.C', 'C')
    """

    simple: str
    space: str | None
    full: str

    @classmethod
    def of(cls, text: str, space: str | None) -> "Name":
        """Return the name that a text has in a namespace; a dot in the text overrides it."""
        if "." in text:
            space, _, text = text.rpartition(".")
        space = space or None
        return cls(text, space, f"{space}.{text}" if space else text)

    def inside(self, space: str | None) -> str:
        """Return the shortest text that means this name in a namespace, as Java writes it."""
        if self.space is not None and self.space == space and self.simple not in KINDS:
            return self.simple
        return self.full


@dataclass(frozen=True, slots=True)
class LogicalType:
    """A logical type whose rules its type keeps; precision and scale are of decimals."""

    name: str
    precision: int = 0
    scale: int = 0


@dataclass(slots=True, eq=False, kw_only=True)
class Type:
    """A type; `props` are the attributes that Avro does not know, `logicalType` included."""

    kind: str
    props: dict[str, Json] = field(default_factory=dict)
    logical: LogicalType | None = None

    @property
    def full_name(self) -> str:
        """The name under which a union knows the type."""
        return self.kind


@dataclass(slots=True, eq=False, kw_only=True)
class Primitive(Type):
    """A type without parts."""


@dataclass(slots=True, eq=False, kw_only=True)
class Array(Type):
    """A list of items of one type."""

    kind: str = "array"
    items: Type


@dataclass(slots=True, eq=False, kw_only=True)
class Map(Type):
    """Values of one type by strings."""

    kind: str = "map"
    values: Type


@dataclass(slots=True, eq=False, kw_only=True)
class Union(Type):
    """One of several types."""

    kind: str = "union"
    branches: list[Type]


@dataclass(slots=True, eq=False, kw_only=True)
class Named(Type):
    """A type with a name."""

    name: Name
    doc: str | None = None
    aliases: tuple[Name, ...] = ()

    @property
    def full_name(self) -> str:
        return self.name.full

    @property
    def alias_texts(self) -> tuple[str, ...]:
        """The full names of the aliases; a dot leads those outside this type's namespace."""
        return tuple(
            f".{alias.simple}" if alias.space is None and self.name.space else alias.full
            for alias in self.aliases
        )


@dataclass(slots=True, eq=False, kw_only=True)
class Field:
    """A field of a record."""

    name: str
    type: Type
    doc: str | None = None
    default: "Json | Missing" = MISSING
    order: str = "ascending"
    aliases: tuple[str, ...] = ()
    props: dict[str, Json] = field(default_factory=dict)


@dataclass(slots=True, eq=False, kw_only=True)
class Record(Named):
    """A list of fields; `is_error` is the error of a protocol."""

    kind: str = "record"
    fields: tuple[Field, ...] = ()
    is_error: bool = False


@dataclass(slots=True, eq=False, kw_only=True)
class Enum(Named):
    """One of several symbols; a reader replaces symbols that it does not know by the default."""

    kind: str = "enum"
    symbols: tuple[str, ...]
    default: str | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class Fixed(Named):
    """A fixed number of bytes."""

    kind: str = "fixed"
    size: int


@dataclass(slots=True, eq=False, kw_only=True)
class Unresolved(Type):
    """A name whose definition follows, or is the one being parsed."""

    kind: str = "unresolved"
    name: str


def parts(node: Type) -> list[Type]:
    """Return the types that a type consists of, in order."""
    match node:
        case Record():
            return [each.type for each in node.fields]
        case Union():
            return node.branches
        case Array():
            return [node.items]
        case Map():
            return [node.values]
        case _:
            return []


def reachable(root: Type) -> list[Type]:
    """Return each node of a schema once, a type before its parts."""
    found: dict[int, Type] = {}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if id(node) not in found:
            found[id(node)] = node
            waiting += reversed(parts(node))
    return list(found.values())
