"""A schema as JSON values for libraries that encode and decode, such as fastavro.

names        full, without "namespace"; a type is written out where it occurs first; a dot leads a
             name without a namespace if other types have one, because fastavro would look it up in
             the namespace of the type around it
kept         fields, their defaults and aliases, symbols, sizes, valid logical types
left out     docs, order, unknown attributes, logical types that break a rule of theirs
"""

from collections.abc import Generator

from duolog.schemas.avro.steps import run
from duolog.schemas.avro.types import (
    Array,
    Enum,
    Fixed,
    Json,
    Map,
    Missing,
    Name,
    Named,
    Record,
    Type,
    Union,
    reachable,
)


def plain_schema(root: Type, *, logical: bool = True) -> Json:
    """Return the JSON values of a schema, which share no mutable part with it but defaults.

    Args:
        root: the type of the schema.
        logical: False to leave out the logical types, so that values have no other form than their
            bytes have.
    """
    named = [node for node in reachable(root) if isinstance(node, Named)]
    return run(_Plain(dotted=any(node.name.space for node in named), logical=logical).of, root)


class _Plain:
    def __init__(self, *, dotted: bool, logical: bool) -> None:
        self._known: set[str] = set()
        self._dotted = dotted
        self._logical = _logical if logical else _no_logical

    def of(self, node: Type) -> Generator[Type, Json, Json]:  # noqa: PLR0911 - a table of cases
        match node:
            case Union():
                branches: list[Json] = []
                for branch in node.branches:
                    branches.append((yield branch))  # noqa: PERF401 - yields in between
                return branches
            case Array():
                return {"type": "array", "items": (yield node.items), **self._logical(node)}
            case Map():
                return {"type": "map", "values": (yield node.values), **self._logical(node)}
            case Named() if node.name.full in self._known:
                return self._name(node.name)
            case Named():
                self._known.add(node.name.full)
                return (yield from self._definition(node))
            case _ if given := self._logical(node):
                return {"type": node.kind, **given}
            case _:
                return node.kind

    def _definition(self, node: Named) -> Generator[Type, Json, Json]:
        plain: dict[str, Json] = {
            "type": node.kind,
            "name": self._name(node.name),
            **self._logical(node),
        }
        if node.aliases:
            plain["aliases"] = [self._name(alias) for alias in node.aliases]
        match node:
            case Record():
                plain["type"] = "error" if node.is_error else "record"
                fields: list[Json] = []
                for field in node.fields:
                    item: dict[str, Json] = {"name": field.name, "type": (yield field.type)}
                    if not isinstance(field.default, Missing):
                        item["default"] = field.default
                    if field.aliases:
                        item["aliases"] = list(field.aliases)
                    fields.append(item)
                plain["fields"] = fields
            case Enum():
                plain["symbols"] = list(node.symbols)
                if node.default is not None:
                    plain["default"] = node.default
            case Fixed():
                plain["size"] = node.size
        return plain

    def _name(self, name: Name) -> str:
        return f".{name.simple}" if self._dotted and name.space is None else name.full


def _no_logical(_node: Type) -> dict[str, Json]:
    return {}


def _logical(node: Type) -> dict[str, Json]:
    if node.logical is None:
        return {}
    if node.logical.name != "decimal":
        return {"logicalType": node.logical.name}
    return {
        "logicalType": "decimal",
        "precision": node.logical.precision,
        "scale": node.logical.scale,
    }
