"""Grammar of options: `option (a.b).c = { d: 1 };` and `[deprecated = true, (a) = "b"]`."""

from duolog.schemas.protobuf.cursor import Cursor
from duolog.schemas.protobuf.elements import (
    DEPTH_MAX,
    Block,
    Items,
    Kind,
    NamePart,
    Option,
    Scalar,
    Value,
)

_CLOSING = {"{": "}", "<": ">"}


def option_statement(cursor: Cursor) -> Option:
    """Read what follows the word `option`, with the semicolon."""
    option = _option(cursor)
    cursor.expect(";")
    return option


def maybe_bracketed_options(cursor: Cursor) -> tuple[Option, ...]:
    """Read `[name = value, …]`, or nothing if there is no bracket."""
    if not cursor.maybe("["):
        return ()
    options = [_option(cursor)]
    while cursor.maybe(","):
        options.append(_option(cursor))
    cursor.expect("]")
    return tuple(options)


def _option(cursor: Cursor) -> Option:
    path = [_name_part(cursor)]
    while cursor.maybe("."):
        path.append(_name_part(cursor))
        if len(path) > DEPTH_MAX:
            raise cursor.error_before(f"at most {DEPTH_MAX} parts in a name")
    cursor.expect("=")
    return Option(tuple(path), _value(cursor))


def _name_part(cursor: Cursor) -> NamePart:
    if not cursor.maybe("("):
        return NamePart(cursor.word("the name of an option"))
    name = cursor.dotted("the name of an extension")
    cursor.expect(")")
    return NamePart(name, extension=True)


def _value(cursor: Cursor) -> Value:
    if cursor.next in _CLOSING:
        return _block(cursor)
    if cursor.next == "[":
        return _items(cursor)
    if cursor.at_string():
        return Scalar(Kind.STRING, cursor.string("a string"))
    sign = "-" if cursor.maybe("-") else ""
    if cursor.at_number():
        return Scalar(Kind.NUMBER, sign + cursor.take())
    word = cursor.word("a value")
    return Scalar(Kind.NUMBER if sign else Kind.WORD, sign + word)


def _block(cursor: Cursor) -> Block:
    """Read a message in Protobuf's text format.

    A name that occurs twice is a list: `a: 1 a: 2` means `a: [1, 2]`.
    """
    closing = _CLOSING[cursor.take()]
    cursor.enter()
    fields: dict[str, list[Value]] = {}
    listed: set[str] = set()
    while not cursor.maybe(closing):
        name = _field_name(cursor)
        if not cursor.maybe(":") and cursor.next not in {*_CLOSING, "["}:
            raise cursor.error('":"')
        value = _value(cursor)
        if name in fields:
            listed.add(name)
        if isinstance(value, Items):
            listed.add(name)
            fields.setdefault(name, []).extend(value.values)
        else:
            fields.setdefault(name, []).append(value)
        if not cursor.maybe(","):
            cursor.maybe(";")
    cursor.leave()
    return Block(
        tuple(
            (name, Items(tuple(values)) if name in listed else values[0])
            for name, values in fields.items()
        )
    )


def _field_name(cursor: Cursor) -> str:
    if not cursor.maybe("["):
        return cursor.word("the name of a field")
    name = cursor.dotted("the name of an extension")
    if cursor.maybe("/"):  # the address of a type, in google.protobuf.Any
        name += "/" + cursor.dotted("the name of a message")
    cursor.expect("]")
    return f"[{name}]"


def _items(cursor: Cursor) -> Items:
    cursor.expect("[")
    cursor.enter()
    values: list[Value] = []
    while not cursor.maybe("]"):
        values.append(_value(cursor))
        if not cursor.maybe(",") and cursor.next != "]":
            raise cursor.error('"," or "]"')
    cursor.leave()
    return Items(tuple(values))
