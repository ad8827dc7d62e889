"""Options in the form in which two that mean the same are equal.

    option (mine).a = 010;                 option (pkg.mine) = {
    option (pkg.mine).b = "x";     →         a: 8,
                                             b: "x"
                                           };

Names of extensions are full, nested names become blocks, several options of one extension become
one, options and the fields of a block are sorted, numbers are decimal.
"""

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from itertools import groupby

from duolog.schemas.protobuf.elements import (
    Block,
    Field,
    Items,
    Kind,
    Label,
    Message,
    NamePart,
    OneOf,
    Option,
    Scalar,
    Value,
    of,
)
from duolog.schemas.protobuf.scope import Scope

_EXPONENT_MAX = 400  # more than a double can have
_HEX_DIGITS_MAX = 16


def normal_options(options: Iterable[Option], scope: Scope) -> list[Option]:
    """Return the options of one place in their normal form."""
    named = sorted((_with_full_name(option, scope) for option in options), key=_name)
    merged: list[Option] = []
    for name, same in groupby(named, key=_name):
        group = list(same)
        field = scope.extension_at(name) if group[0].extension else None
        if field is not None and field.label is not Label.REPEATED:
            values = [option.value for option in group]
            group = [Option(group[0].path, _merged(values, field, _scope_of(name, scope)))]
        merged.extend(Option(part.path, _normal_value(part.value, scope)) for part in group)
    return merged


def normal_number(text: str) -> str:
    """Return a number in decimal digits, without an exponent and without zeros at the end.

    Example:
        >>> normal_number("0x1F"), normal_number("1.50e2"), normal_number("-inf")
        ('31', '150', '-inf')
    """
    sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text)
    if digits[:2] in {"0x", "0X"}:
        return sign + str(int(digits, 16)) if len(digits) <= _HEX_DIGITS_MAX + 2 else text
    if digits.startswith("0") and digits.isdigit():
        octal = digits.strip("01234567") == "" and len(digits) <= 2 * _HEX_DIGITS_MAX
        return sign + str(int(digits, 8)) if octal else text
    try:
        number = Decimal(digits.rstrip("fF"))
    except InvalidOperation:
        return text
    if not number.is_finite() or abs(number.adjusted()) > _EXPONENT_MAX:
        return text
    plain = f"{number:f}"
    return sign + (plain.rstrip("0").rstrip(".") if "." in plain else plain)


def _name(option: Option) -> str:
    return option.name


def _with_full_name(option: Option, scope: Scope) -> Option:
    """Return the option under its extension's full name, with the rest of the name as blocks."""
    name = scope.extension_name(option.name) if option.extension else None
    if name is None:
        return option
    value = option.value
    for part in reversed(option.path[1:]):
        value = Block(((f"[{part.name}]" if part.extension else part.name, value),))
    return Option((NamePart(name, extension=True),), value)


def _scope_of(extension: str, scope: Scope) -> Scope:
    """Return the scope in which an extension's own type is looked up."""
    return scope.at(tuple(extension.split(".")[:-1]))


def _merged(values: list[Value], field: Field, scope: Scope) -> Value:
    """Return the one value that several values of a singular field stand for."""
    blocks: list[Block] = []
    for value in reversed(values):
        if not isinstance(value, Block):
            break
        blocks.append(value)
    if len(blocks) < 2:
        return values[-1]
    parts: dict[str, list[Value]] = {}
    for block in reversed(blocks):
        for name, value in block.fields:
            parts.setdefault(name, []).append(value)
    fields: list[tuple[str, Value]] = []
    for name, same in parts.items():
        inner, inner_scope = _field_of(field, name, scope) if len(same) > 1 else (None, scope)
        if len(same) == 1:
            fields.append((name, same[0]))
        elif inner is None or inner.label is Label.REPEATED:
            fields.append((name, _joined(same)))
        else:
            fields.append((name, _merged(same, inner, inner_scope)))
    return Block(tuple(fields))


def _joined(values: list[Value]) -> Items:
    """Return the values and the parts of those that are lists as one list, each once."""
    parts = [
        part
        for value in values
        for part in (value.values if isinstance(value, Items) else (value,))
    ]
    return Items(tuple(dict.fromkeys(parts)))


def _field_of(container: Field, name: str, scope: Scope) -> tuple[Field | None, Scope]:
    """Return a field of the message that a field holds, and the scope of this field's type."""
    full_name = scope.type_name(container.type)
    found = scope.type_at(full_name) if full_name else None
    if full_name is None or found is None or not isinstance(found.element, Message):
        return None, scope
    members = found.element.members
    fields = [*of(Field, members), *(part for one in of(OneOf, members) for part in one.fields)]
    inner = scope.at(tuple(full_name.split(".")))
    return next((field for field in fields if field.name == name), None), inner


def _normal_value(value: Value, scope: Scope) -> Value:
    if isinstance(value, Scalar):
        if value.kind is Kind.NUMBER:
            return Scalar(Kind.NUMBER, normal_number(value.text))
        return value
    if isinstance(value, Items):
        return Items(tuple(_normal_value(part, scope) for part in value.values))
    fields: dict[str, Value] = {}
    for name, part in value.fields:
        if part == Items(()):
            continue
        fields.setdefault(_full_key(name, scope), _unlisted(_normal_value(part, scope)))
    return Block(tuple(sorted(fields.items())))


def _unlisted(value: Value) -> Value:
    """Return the value of a list of one value, which a block may write without brackets."""
    while isinstance(value, Items) and len(value.values) == 1:
        value = value.values[0]
    return value


def _full_key(name: str, scope: Scope) -> str:
    if not name.startswith("["):
        return name
    full_name = scope.extension_name(name[1:-1])
    return name if full_name is None else f"[{full_name}]"
