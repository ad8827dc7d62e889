"""Text to types, by the rules of Java's `Schema.Parser`.

- A name means, in this order: a type of its namespace that is complete, a type without a namespace
  that is complete, a type of its namespace that follows. A record is complete after its fields.
- A name may be defined twice if the two definitions are equal, see `equality`.
- Texts that are parsed one after the other see the names of those before them: a registry passes
  the schemas referred to first.

A strict parser refuses names with other characters than ASCII letters, digits and underscores, and
defaults that are not values of their types. Three differences from Java's parser:

- It checks a default when it knows the field's type. Java checks it at once, and refuses the
  default of an enum that is defined later.
- It accepts integers of any size in unknown attributes; Java fails on them in records and arrays.
- It has the limits of `json_text`, and accepts comments after the schema.
"""

from collections.abc import Generator
from typing import Final

from duolog.core.counts import counted
from duolog.schemas.avro.defaults import DefaultCheck
from duolog.schemas.avro.equality import equal
from duolog.schemas.avro.json_text import parse_double, read_json
from duolog.schemas.avro.logical_types import logical_type
from duolog.schemas.avro.names import check_strict, check_unicode
from duolog.schemas.avro.steps import run
from duolog.schemas.avro.types import (
    MISSING,
    PRIMITIVES,
    Array,
    Enum,
    Field,
    Fixed,
    Json,
    Map,
    Name,
    Named,
    Primitive,
    Record,
    Type,
    Union,
    Unresolved,
    reachable,
)
from duolog.schemas.errors import InvalidSchemaError

_TYPE_KEYS: Final = frozenset(
    ("doc", "fields", "items", "name", "namespace", "size", "symbols", "values", "type", "aliases")
)
_ENUM_KEYS: Final = _TYPE_KEYS | {"default"}
_FIELD_KEYS: Final = frozenset(("default", "doc", "name", "order", "type", "aliases"))
_ORDERS: Final = frozenset(("ascending", "descending", "ignore"))
_FIXED_SIZE_MAX: Final = 2**31 - 1 - 8  # the longest array of Java
_DEFAULT_DEPTH_MAX: Final = 100

_Request = tuple[Json, str | None]
_Steps = Generator[_Request, Type, Type]


class Parser:
    """Parses texts that may refer to the types of those before.

    Attributes:
        reordered: a text has used a name before the end of its definition, or a name of another
            text. The types written out may then be nested deeper than the text.
    """

    def __init__(self, *, strict: bool) -> None:
        self.reordered = False
        self._strict = strict
        self._types: dict[str, Named] = {}
        self._earlier: frozenset[str] = frozenset()
        self._holes: list[tuple[Unresolved, Field | Array | Map | Union, int]] = []
        self._records: list[Record] = []

    def parse(self, text: str) -> Type:
        """Return the type of a text.

        Raises:
            InvalidSchemaError: the text is not an Avro schema.
        """
        self._holes, self._records = [], []
        self._earlier = frozenset(self._types)
        outermost: _Request = (read_json(text), None)
        root = run(self._type, outermost)
        root = self._resolved(root) if isinstance(root, Unresolved) else root
        if isinstance(root, Named):
            root = self._types[root.name.full]
        self._fill_holes()
        if self._strict:
            check = DefaultCheck()
            for record in self._records:
                for field in record.fields:
                    check.check(field, record)
        else:
            _check_names(reachable(root))
        return root

    def _type(self, request: _Request) -> _Steps:  # noqa: PLR0911 - a table of cases
        value, space = request
        match value:
            case str():
                return self._named(value, space)
            case list():
                return (yield from self._union(value, space))
            case dict():
                pass
            case _:
                raise InvalidSchemaError(
                    f"schema is {_shown(value)}, not a type",
                    hint="Write a name, an object with a type, or an array of types.",
                )
        kind = _text(value, "type")
        match kind:
            case None:
                raise InvalidSchemaError(
                    f"object {_shown(value)} has no type",
                    hint='Add the attribute "type" with the name of a type.',
                )
            case "record" | "error":
                return (yield from self._record(value, space, is_error=kind == "error"))
            case "enum":
                return self._enum(value, space)
            case "fixed":
                return self._fixed(value, space)
            case "array":
                return (yield from self._array(value, space))
            case "map":
                return (yield from self._map(value, space))
            case _ if kind in PRIMITIVES:
                return _with_props(Primitive(kind=kind), value, _TYPE_KEYS)
            case _:
                return self._named(kind, space)

    def _record(self, value: dict[str, Json], space: str | None, *, is_error: bool) -> _Steps:
        name = self._name(value, space, "record")
        record = Record(name=name, doc=_text(value, "doc"), is_error=is_error)
        items = value.get("fields")
        if not isinstance(items, list):
            raise InvalidSchemaError(
                f'record "{name.full}" has no fields',
                hint='Add the attribute "fields" with an array, which may be empty.',
            )
        fields: dict[str, Field] = {}
        for item in items:
            field = self._field(item, name)
            if field.name in fields:
                raise InvalidSchemaError(f'record "{name.full}" has two fields "{field.name}"')
            fields[field.name] = field
            of = item["type"]  # type: ignore[call-overload, index]
            field.type = self._leaf(of, name.space) or (yield (of, name.space))
            self._note_hole(field.type, field)
            _read_default(field, name)
        record.fields = tuple(fields.values())
        self._records.append(record)
        return self._define(record, value, _TYPE_KEYS)

    def _field(self, value: Json, record: Name) -> Field:
        """Return a field without its type and with the default as it is written."""
        name = _text(value, "name") if isinstance(value, dict) else None
        if name is None or not isinstance(value, dict):
            raise InvalidSchemaError(f'field {_shown(value)} of record "{record.full}" has no name')
        if self._strict:
            check_strict(name, f'a field of record "{record.full}"')
        owner = f'field "{name}" of record "{record.full}"'
        if "type" not in value:
            raise InvalidSchemaError(f"{owner} has no type")
        return Field(
            name=name,
            type=_NO_TYPE,
            doc=_text(value, "doc"),
            default=value.get("default", MISSING),
            order=_order(value, owner) if "order" in value else "ascending",
            aliases=_aliases(value, owner) if "aliases" in value else (),
            props=_props(value, _FIELD_KEYS),
        )

    def _enum(self, value: dict[str, Json], space: str | None) -> Type:
        name = self._name(value, space, "enum")
        written = value.get("symbols")
        if not isinstance(written, list):
            raise InvalidSchemaError(
                f'enum "{name.full}" has no symbols',
                hint='Add the attribute "symbols" with an array of names.',
            )
        symbols: dict[str, None] = {}
        for symbol in written:
            if not isinstance(symbol, str):
                raise InvalidSchemaError(
                    f'symbol {_shown(symbol)} of enum "{name.full}" is not a name'
                )
            if self._strict:
                check_strict(symbol, f'a symbol of enum "{name.full}"')
            if symbol in symbols:
                raise InvalidSchemaError(f'enum "{name.full}" has the symbol "{symbol}" twice')
            symbols[symbol] = None
        default = _text(value, "default")
        if default is not None and default not in symbols:
            raise InvalidSchemaError(
                f'default "{default}" of enum "{name.full}" is not one of its symbols'
            )
        enum = Enum(name=name, doc=_text(value, "doc"), symbols=tuple(symbols), default=default)
        return self._define(enum, value, _ENUM_KEYS)

    def _fixed(self, value: dict[str, Json], space: str | None) -> Type:
        name = self._name(value, space, "fixed")
        size = value.get("size")
        if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= _FIXED_SIZE_MAX:
            raise InvalidSchemaError(
                f'size of fixed "{name.full}" is {_shown(size)}',
                detail=f"It is a number of bytes from 0 to {_FIXED_SIZE_MAX}.",
            )
        return self._define(Fixed(name=name, doc=_text(value, "doc"), size=size), value, _TYPE_KEYS)

    def _array(self, value: dict[str, Json], space: str | None) -> _Steps:
        if "items" not in value:
            raise InvalidSchemaError(f"array {_shown(value)} has no items")
        items = value["items"]
        array = Array(items=self._leaf(items, space) or (yield (items, space)))
        self._note_hole(array.items, array)
        return _with_props(array, value, _TYPE_KEYS)

    def _map(self, value: dict[str, Json], space: str | None) -> _Steps:
        if "values" not in value:
            raise InvalidSchemaError(f"map {_shown(value)} has no values")
        values = value["values"]
        node = Map(values=self._leaf(values, space) or (yield (values, space)))
        self._note_hole(node.values, node)
        return _with_props(node, value, _TYPE_KEYS)

    def _union(self, values: list[Json], space: str | None) -> _Steps:
        union = Union(branches=[])
        for value in values:
            branch = self._leaf(value, space) or (yield (value, space))
            if isinstance(branch, Union):
                raise InvalidSchemaError(
                    f"union {_shown(values)} contains a union",
                    hint="List the types of the inner union in the outer one.",
                )
            self._note_hole(branch, union, len(union.branches))
            union.branches.append(branch)
        _check_branches(union)
        return union

    def _name(self, value: dict[str, Json], space: str | None, kind: str) -> Name:
        text = _text(value, "name")
        if text is None:
            raise InvalidSchemaError(f"{kind} {_shown(value)} has no name")
        written = _text(value, "namespace")
        name = Name.of(text, space if written is None else written)
        if self._strict:
            check_strict(name.simple, f"a {kind}")
        if name.full in PRIMITIVES:
            raise InvalidSchemaError(f'{kind} has the name of the primitive type "{name.full}"')
        return name

    def _define(self, node: Named, value: dict[str, Json], keys: frozenset[str]) -> Type:
        _with_props(node, value, keys)
        owner = f'{node.kind} "{node.name.full}"'
        aliases = {
            (name := Name.of(alias, node.name.space)).full: name for alias in _aliases(value, owner)
        }
        node.aliases = tuple(aliases.values())
        if self._strict:
            for alias in node.aliases:
                check_strict(alias.simple, f"an alias of {owner}")
            for part in (node.name.space or "").split(".") if node.name.space else ():
                check_strict(part, f"the namespace of {owner}")
        known = self._types.setdefault(node.name.full, node)
        if known is not node:
            self.reordered = True
            if not equal(known, node):
                raise InvalidSchemaError(
                    f'type "{node.name.full}" is defined twice',
                    hint="Use its name where you need it again, or give one of them another name.",
                )
        return node

    def _leaf(self, value: Json, space: str | None) -> Type | None:
        """Return the type of a name; None for what has parts of its own."""
        return self._named(value, space) if isinstance(value, str) else None

    def _named(self, text: str, space: str | None) -> Type:
        if text in PRIMITIVES:
            return Primitive(kind=text)
        full = f"{space}.{text}" if space is not None and "." not in text else text
        found = self._types.get(full) or self._types.get(text)
        if found is None:
            return Unresolved(name=full)
        if found.name.full in self._earlier:
            self.reordered = True
        return found

    def _note_hole(self, node: Type, owner: Field | Array | Map | Union, index: int = 0) -> None:
        if isinstance(node, Unresolved):
            self._holes.append((node, owner, index))

    def _fill_holes(self) -> None:
        for hole, owner, index in self._holes:
            node = self._resolved(hole)
            self.reordered = True
            match owner:
                case Field():
                    owner.type = node
                case Array():
                    owner.items = node
                case Map():
                    owner.values = node
                case Union():
                    owner.branches[index] = node
                    _check_branches(owner)

    def _resolved(self, hole: Unresolved) -> Type:
        found = self._types.get(hole.name)
        if found is None:
            raise InvalidSchemaError(
                f'type "{hole.name}" is not defined',
                hint="Define it in this schema, or add a reference to the subject that does.",
            )
        return found


_NO_TYPE: Final = Primitive(kind="null")  # of a field whose type is parsed next


def _read_default(field: Field, record: Name) -> None:
    default = field.default
    if isinstance(default, str) and field.type.kind in {"float", "double"}:
        number = parse_double(default)
        if number is None:
            raise InvalidSchemaError(
                f'default of field "{field.name}" of record "{record.full}" is {_shown(default)},'
                " not a number"
            )
        field.default = number
    elif isinstance(default, dict | list) and _depth_exceeds(default):
        raise InvalidSchemaError(
            f'default of field "{field.name}" of record "{record.full}" is nested deeper than'
            f" {_DEFAULT_DEPTH_MAX} levels"
        )


def _order(value: dict[str, Json], owner: str) -> str:
    order = (_text(value, "order") or "").upper().lower()  # as Java finds its constants
    if order in _ORDERS:
        return order
    raise InvalidSchemaError(
        f"order of {owner} is {_shown(value['order'])}",
        hint="Use ascending, descending or ignore.",
    )


def _depth_exceeds(value: Json) -> bool:
    level = [value]
    for _ in range(_DEFAULT_DEPTH_MAX):
        level = [
            part
            for each in level
            if isinstance(each, dict | list)
            for part in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return False
    return True


def _check_branches(union: Union) -> None:
    names: set[str] = set()
    for branch in union.branches:
        if isinstance(branch, Unresolved):
            continue  # checked when its definition is known
        if branch.full_name in names:
            raise InvalidSchemaError(
                f"union contains {branch.full_name} twice",
                hint="A union has one type of each kind, and one record, enum or fixed of a name.",
            )
        names.add(branch.full_name)


def _check_names(nodes: list[Type]) -> None:
    for node in nodes:
        if isinstance(node, Named):
            owner = f'{node.kind} "{node.name.full}"'
            check_unicode(node.name.simple, f"a {node.kind}")
            if isinstance(node, Record):
                for field in node.fields:
                    check_unicode(field.name, f"a field of {owner}")
            elif isinstance(node, Enum):
                for symbol in node.symbols:
                    check_unicode(symbol, f"a symbol of {owner}")


def _with_props(node: Type, value: dict[str, Json], keys: frozenset[str]) -> Type:
    node.props = _props(value, keys)
    if "logicalType" in node.props:
        node.logical = logical_type(node)
    return node


def _props(value: dict[str, Json], keys: frozenset[str]) -> dict[str, Json]:
    if value.keys() <= keys:
        return {}
    return {key: each for key, each in value.items() if key not in keys}


def _aliases(value: dict[str, Json], owner: str) -> tuple[str, ...]:
    if "aliases" not in value:
        return ()
    written = value["aliases"]
    if not isinstance(written, list):
        raise InvalidSchemaError(f"aliases of {owner} are {_shown(written)}, not an array")
    aliases: dict[str, None] = {}
    for alias in written:
        if not isinstance(alias, str):
            raise InvalidSchemaError(f"alias {_shown(alias)} of {owner} is not a name")
        aliases[alias] = None
    return tuple(aliases)


def _text(value: dict[str, Json], key: str) -> str | None:
    found = value.get(key)
    return found if isinstance(found, str) else None


def _shown(value: Json) -> str:
    """Return the start of a value for a message."""
    match value:
        case dict():
            text = f"with the attributes {', '.join(value)}" if value else "without attributes"
        case list():
            text = f"of {counted(len(value), 'value')}"
        case None | bool():
            text = str(value).lower() if value is not None else "null"
        case _:
            text = repr(value)
    text = " ".join(text.split())
    return text if len(text) <= 100 else f"{text[:100]}…"
