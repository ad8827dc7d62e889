"""Names of types and extensions in a file, and the places in which they are looked up.

A name is looked up from the innermost message outwards, then in the package and in the packages
around it, as protoc does: first in the file itself and in those that it imports. What is not found
there is looked up in all files that are given, as Confluent's registry does.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from duolog.schemas.protobuf.elements import Enum, Extend, Field, File, Group, Message, OneOf, of

_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True)
class Type:
    """A message or enum, and where it is defined.

    Attributes:
        element: the definition; a group defines a message, too.
        package: the package of its file.
        path: its name without the package, for example `Outer.Inner`.
        file: the import path of its file; "" for the file that the names are in.
    """

    element: Message | Enum | Group
    package: str
    path: str
    file: str


@dataclass(frozen=True, slots=True)
class Names:
    """The types and extensions that one file defines, by full name without a leading point."""

    types: Mapping[str, Type]
    extensions: Mapping[str, Field]


def names_of(file: File, path: str) -> Names:
    """Return the names that a file defines."""
    types: dict[str, Type] = {}
    extensions: dict[str, Field] = {}

    def collect(members: Iterable[object], outer: tuple[str, ...]) -> None:
        prefix = ".".join((file.package, *outer) if file.package else outer)
        for member in _typed(members):
            inner = (*outer, member.name)
            name = f"{prefix}.{member.name}" if prefix else member.name
            types[name] = Type(member, file.package, ".".join(inner), path)
            if not isinstance(member, Enum):
                collect(member.members, inner)
        for extend in of(Extend, members):
            for field in extend.fields:
                extensions[f"{prefix}.{field.name}" if prefix else field.name] = field

    collect(file.members, ())
    return Names(types, extensions)


def merged(names: Iterable[Names]) -> Names:
    """Return the names of several files together; the last of equal names wins."""
    types: dict[str, Type] = {}
    extensions: dict[str, Field] = {}
    for part in names:
        types.update(part.types)
        extensions.update(part.extensions)
    return Names(types, extensions)


@dataclass(frozen=True, slots=True)
class Scope:
    """The names that a file sees, and the place in it from which they are looked up.

    Attributes:
        names: those of the file itself, then those of the files that it imports.
        others: those of all files.
        place: the parts of the package, then the names of the messages around the place.
    """

    names: tuple[Names, ...]
    others: tuple[Names, ...]
    place: tuple[str, ...]

    def inside(self, message: str) -> "Scope":
        """Return the scope of a message's body."""
        return self.at((*self.place, message))

    def at(self, place: tuple[str, ...]) -> "Scope":
        """Return the scope of another place."""
        return Scope(self.names, self.others, place)

    def type_name(self, name: str) -> str | None:
        """Return the full name of a type, without a leading point; None if there is no type."""
        found = self._find(name, _first_type)
        return found[0] if found else None

    def type(self, name: str) -> Type | None:
        found = self._find(name, _first_type)
        return found[1] if found else None

    def extension_name(self, name: str) -> str | None:
        found = self._find(name, _first_extension)
        return found[0] if found else None

    def extension(self, name: str) -> Field | None:
        found = self._find(name, _first_extension)
        return found[1] if found else None

    def type_at(self, full_name: str) -> Type | None:
        """Return the type of a full name without a leading point."""
        return _first_type(full_name, (*self.names, *self.others))

    def extension_at(self, full_name: str) -> Field | None:
        return _first_extension(full_name, (*self.names, *self.others))

    def _find(
        self, name: str, first: Callable[[str, tuple[Names, ...]], _Found | None]
    ) -> tuple[str, _Found] | None:
        if name.startswith("."):
            full_names = [name[1:]]
        else:
            lengths = range(len(self.place), -1, -1)
            full_names = [".".join((*self.place[:length], name)) for length in lengths]
        for names in (self.names, self.others):
            for full_name in full_names:
                found = first(full_name, names)
                if found is not None:
                    return full_name, found
        return None


def _first_type(full_name: str, places: tuple[Names, ...]) -> Type | None:
    return next((part.types[full_name] for part in places if full_name in part.types), None)


def _first_extension(full_name: str, places: tuple[Names, ...]) -> Field | None:
    found = (part.extensions[full_name] for part in places if full_name in part.extensions)
    return next(found, None)


def file_place(file: File) -> tuple[str, ...]:
    """Return the place of the top level of a file."""
    return tuple(file.package.split(".")) if file.package else ()


def _typed(members: Iterable[object]) -> Iterable[Message | Enum | Group]:
    """Return the members that define a type, also those in oneofs."""
    for member in members:
        if isinstance(member, Message | Enum | Group):
            yield member
        elif isinstance(member, OneOf | Extend):
            yield from of(Group, member.members)
