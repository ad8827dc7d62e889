"""Equality of types by Java's rules: two graphs are equal unless a difference can be reached.

Avro's own `equals`, which decides if a name may be defined twice, ignores docs, aliases and the
defaults of enums. A registry's look-up compares these, too (`meta`). The order of attributes that
Avro does not know is never compared.
"""

from duolog.schemas.avro.json_text import same_json
from duolog.schemas.avro.types import (
    Enum,
    Field,
    Fixed,
    Missing,
    Named,
    Primitive,
    Record,
    Type,
    Unresolved,
    parts,
)


def equal(left: Type, right: Type, *, meta: bool = False) -> bool:
    """Tell whether two types are equal."""
    seen: set[tuple[int, int]] = set()
    waiting = [(left, right)]
    while waiting:
        one, other = waiting.pop()
        if one is other or (id(one), id(other)) in seen:
            continue
        seen.add((id(one), id(other)))
        if not _same_node(one, other, meta=meta):
            return False
        waiting += zip(parts(one), parts(other), strict=True)
    return True


def _same_node(one: Type, other: Type, *, meta: bool) -> bool:  # noqa: PLR0911 - a table of cases
    if type(one) is not type(other) or one.kind != other.kind or isinstance(one, Unresolved):
        return False
    if not same_json(one.props, other.props):
        return False
    if isinstance(one, Primitive):
        return True
    if (
        isinstance(one, Named)
        and isinstance(other, Named)
        and not _same_name(one, other, meta=meta)
    ):
        return False
    match one, other:
        case Record(), Record():
            return len(one.fields) == len(other.fields) and all(
                _same_field(field, as_field, meta=meta)
                for field, as_field in zip(one.fields, other.fields, strict=True)
            )
        case Enum(), Enum():
            return one.symbols == other.symbols and (not meta or one.default == other.default)
        case Fixed(), Fixed():
            return one.size == other.size
        case _:
            return len(parts(one)) == len(parts(other))


def _same_name(one: Named, other: Named, *, meta: bool) -> bool:
    if one.name.full != other.name.full:
        return False
    return not meta or (one.doc == other.doc and set(one.alias_texts) == set(other.alias_texts))


def _same_field(one: Field, other: Field, *, meta: bool) -> bool:
    return (
        one.name == other.name
        and one.order == other.order
        and same_json(one.props, other.props)
        and _same_default(one, other)
        and (not meta or (one.doc == other.doc and set(one.aliases) == set(other.aliases)))
    )


def _same_default(one: Field, other: Field) -> bool:
    if isinstance(one.default, Missing) or isinstance(other.default, Missing):
        return one.default is other.default
    return same_json(one.default, other.default)
