"""Types to text.

    canonical      what Java's `Schema.toString` writes and a registry stores: a definition where a
                   name occurs first, then the name; no namespace where it is inherited
    normalized     canonical, with the attributes of a type, the aliases and the keys of defaults
                   sorted and defaults in the form of their types (`normalize=true`)
    parsing form   only what a reader of bytes needs, with full names, see Avro's specification

Two differences from the registry's normalized text: it omits the empty namespace of a type inside a
type with a namespace, which renames the former; and it fails on defaults that only a lenient parser
accepts, such as an object for an array. Numbers have the shortest text, as since Java 19.

Names in `known` are written as names only: they are defined in other schemas.

A stack of texts and types to write takes the place of recursion, because a definition can contain
any number of others by name.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from duolog.schemas.avro.defaults import normalized_default
from duolog.schemas.avro.json_text import in_java_order, json_text, quoted
from duolog.schemas.avro.types import (
    Array,
    Enum,
    Field,
    Fixed,
    Json,
    Map,
    Missing,
    Name,
    Named,
    Primitive,
    Record,
    Type,
    Union,
)

_Step = tuple[Type, str | None]


def canonical_text(root: Type, known: Iterable[str] = (), *, normalize: bool = False) -> str:
    """Return the text that a registry stores.

    Args:
        root: the type.
        known: full names of types that are defined elsewhere.
        normalize: write the normalized form.
    """
    return _written(_Writer(set(known), normalize=normalize), root)


def parsing_form(root: Type) -> str:
    """Return Avro's parsing canonical form."""
    return _written(_ParsingFormWriter(), root)


def fingerprint(root: Type) -> int:
    """Return the 64-bit fingerprint (CRC-64-AVRO) of the parsing form, without a sign."""
    value = _EMPTY
    for byte in parsing_form(root).encode():
        value = (value >> 8) ^ _TABLE[(value ^ byte) & 0xFF]
    return value


class _Writer:
    """Collects the texts of a type; what has parts of its own is yielded to be written next."""

    def __init__(self, known: set[str], *, normalize: bool) -> None:
        self.texts: list[str] = []
        self._known = known
        self._normalize = normalize

    def steps(self, node: Type, space: str | None) -> Iterator[_Step]:
        """Write a type in a namespace; yield the types inside it where their texts belong."""
        write = self.texts.append
        text = self._leaf(node, space)
        if text is not None:
            write(text)
        elif isinstance(node, Named):
            self._known.add(node.name.full)
            yield from self._definition(node, space)
        elif isinstance(node, Union):
            write("[")
            for number, branch in enumerate(node.branches):
                if number:
                    write(",")
                yield from self._part(branch, space)
            write("]")
        else:
            key, part = _content(node)
            write(f'{{"type":"{node.kind}","{key}":')
            yield from self._part(part, space)
            write(f"{self._props(node)}}}")

    def _leaf(self, node: Type, space: str | None) -> str | None:
        """Return the text of a type without parts, or of a name; None for others."""
        if isinstance(node, Primitive):
            props = self._props(node) if node.props else ""
            return f'{{"type":"{node.kind}"{props}}}' if props else f'"{node.kind}"'
        if isinstance(node, Named) and node.name.full in self._known:
            return quoted(node.name.inside(space))
        return None

    def _part(self, node: Type, space: str | None) -> Iterable[_Step]:
        text = self._leaf(node, space)
        if text is None:
            return ((node, space),)
        self.texts.append(text)
        return ()

    def _definition(self, node: Named, space: str | None) -> Iterator[_Step]:
        write = self.texts.append
        is_error = isinstance(node, Record) and node.is_error and not self._normalize
        write(f'{{"type":"{"error" if is_error else node.kind}","name":{quoted(node.name.simple)}')
        own = node.name.space
        if own != space:
            write(f',"namespace":{quoted(own or "")}')
        if node.doc is not None and (node.doc or not self._normalize):
            write(f',"doc":{quoted(node.doc)}')
        match node:
            case Record():
                write(',"fields":[')
                for number, field in enumerate(node.fields):
                    write(f'{"," if number else ""}{{"name":{quoted(field.name)},"type":')
                    yield from self._part(field.type, own)
                    write(f"{self._after_type(field)}}}")
                write("]")
            case Enum():
                write(f',"symbols":[{",".join(map(quoted, node.symbols))}]')
                if node.default is not None:
                    write(f',"default":{quoted(node.default)}')
            case Fixed():
                write(f',"size":{node.size}')
        write(self._props(node))
        if node.aliases:
            aliases = [alias.inside(own) for alias in self._sorted_aliases(node)]
            write(f',"aliases":[{",".join(map(quoted, aliases))}]')
        write("}")

    def _after_type(self, field: Field) -> str:
        text = "" if field.doc is None else f',"doc":{quoted(field.doc)}'
        default = field.default
        if self._normalize and not isinstance(default, Missing):
            default = normalized_default(default, field.type)
        if not isinstance(default, Missing):
            text += f',"default":{json_text(default, sort=self._normalize)}'
        if field.order != "ascending":
            text += f',"order":"{field.order}"'
        if field.aliases:
            aliases = in_java_order(field.aliases) if self._normalize else field.aliases
            text += f',"aliases":[{",".join(map(quoted, aliases))}]'
        return text + self._written_props(field.props) if field.props else text

    def _props(self, node: Type) -> str:
        if not node.props:
            return ""
        if not self._normalize or node.logical is None:
            return self._written_props(node.props)
        first = ["logicalType"]
        if node.logical.name == "decimal":
            first += ["precision", "scale"] if node.logical.scale else ["precision"]
        rest = [key for key in in_java_order(node.props) if key not in first]
        return _attributes([(key, node.props[key]) for key in (*first, *rest)], sort=True)

    def _written_props(self, props: dict[str, Json]) -> str:
        if not self._normalize:
            return _attributes(props.items(), sort=False)
        return _attributes([(key, props[key]) for key in in_java_order(props)], sort=True)

    def _sorted_aliases(self, node: Named) -> Iterable[Name]:
        if not self._normalize:
            return node.aliases
        by_text = dict(zip(node.alias_texts, node.aliases, strict=True))
        return [by_text[text] for text in in_java_order(node.alias_texts)]


class _ParsingFormWriter:
    def __init__(self) -> None:
        self.texts: list[str] = []
        self._known: set[str] = set()

    def steps(self, node: Type, space: str | None) -> Iterator[_Step]:
        """Write a type; yield the types inside it where their texts belong."""
        write = self.texts.append
        if isinstance(node, Named):
            if node.name.full in self._known:
                write(f'"{node.name.full}"')
            else:
                self._known.add(node.name.full)
                yield from self._definition(node, space)
        elif isinstance(node, Union):
            write("[")
            for number, branch in enumerate(node.branches):
                if number:
                    write(",")
                yield (branch, space)
            write("]")
        elif isinstance(node, Primitive):
            write(f'"{node.kind}"')
        else:
            key, part = _content(node)
            write(f'{{"type":"{node.kind}","{key}":')
            yield (part, space)
            write("}")

    def _definition(self, node: Named, space: str | None) -> Iterator[_Step]:
        write = self.texts.append
        write(f'{{"name":"{node.name.full}","type":"{node.kind}"')
        match node:
            case Record():
                write(',"fields":[')
                for number, field in enumerate(node.fields):
                    write(f'{"," if number else ""}{{"name":"{field.name}","type":')
                    yield (field.type, space)
                    write("}")
                write("]")
            case Enum():
                symbols = ",".join(f'"{symbol}"' for symbol in node.symbols)
                write(f',"symbols":[{symbols}]')
            case Fixed():
                write(f',"size":{node.size}')
        write("}")


def _content(node: Type) -> tuple[str, Type]:
    """Return the attribute of an array or a map that has the type inside it, and this type."""
    if isinstance(node, Array):
        return "items", node.items
    assert isinstance(node, Map), node
    return "values", node.values


def _attributes(items: Iterable[tuple[str, Json]], *, sort: bool) -> str:
    return "".join(f",{quoted(key)}:{json_text(value, sort=sort)}" for key, value in items)


def _written(writer: _Writer | _ParsingFormWriter, root: Type) -> str:
    waiting = [writer.steps(root, None)]
    while waiting:
        step = next(waiting[-1], None)
        if step is None:
            waiting.pop()
        else:
            waiting.append(writer.steps(*step))
    return "".join(writer.texts)


_EMPTY: Final = 0xC15D213AA4D7A795


def _table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ (_EMPTY & -(value & 1))
        table.append(value)
    return tuple(table)


_TABLE: Final = _table()
