"""Find a value that gives several alternatives of a union, of which only one can be written.

A union is a JSON object with a field for each of its types: `{"Order":{"id":1},"Refund":null}`.
Kafka Connect writes the first one that is not null. In a line that a user writes, a second one is a
mistake, and would be lost.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, cast

from duolog.schemas.avro import types as avro
from duolog.schemas.avro.columns import branch_name, without_null

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor


def several_of_avro(node: avro.Type, value: object, path: str = "") -> str | None:
    """Return why a value gives several types of a union; None if it does not."""
    match node:
        case avro.Union():
            only = without_null(node)
            if only is not node:
                return several_of_avro(only, value, path)
            branches = {branch_name(one): one for one in node.branches if one.kind != "null"}
            fields = _fields(value)
            return _several(fields, path) or _first(
                several_of_avro(one, fields.get(name), _below(path, name))
                for name, one in branches.items()
            )
        case avro.Record():
            fields = _fields(value)
            return _first(
                several_of_avro(one.type, fields.get(one.name), _below(path, one.name))
                for one in node.fields
            )
        case avro.Array():
            return _first(
                several_of_avro(node.items, one, f"{path}[{at}]") for at, one in _items(value)
            )
        case avro.Map():
            return _first(
                several_of_avro(node.values, one, _below(path, name))
                for name, one in _fields(value).items()
            )
        case _:
            return None


def several_of_protobuf(message: "Descriptor", value: object, path: str = "") -> str | None:
    """Return why a value gives several fields of a oneof; None if it does not."""
    from duolog.schemas.protobuf import columns as forms  # noqa: PLC0415 - only for Protobuf

    fields = _fields(value)
    for oneof in forms.oneofs_of(message):
        name = forms.union_name(oneof)
        chosen, below = _fields(fields.get(name)), _below(path, name)
        found = _several(chosen, below) or _first(
            _of_field(one, chosen.get(one.name), _below(below, one.name)) for one in oneof.fields
        )
        if found is not None:
            return found
    return _first(
        _of_field(one, fields.get(one.name), _below(path, one.name))
        for one in forms.plain_fields_of(message)
    )


def _of_field(field: "FieldDescriptor", value: object, path: str) -> str | None:
    from duolog.schemas.protobuf import columns as forms  # noqa: PLC0415 - only for Protobuf

    if value is None or field.message_type is None or not forms.is_struct(field):
        return None
    if forms.is_map(field):
        inner = field.message_type.fields_by_name["value"]
        values = _fields(value).items()
        return _first(_of_field(inner, one, _below(path, name)) for name, one in values)
    if isinstance(value, list):
        return _first(
            several_of_protobuf(field.message_type, one, f"{path}[{at}]")
            for at, one in _items(value)
        )
    return several_of_protobuf(field.message_type, value, path)


def _several(fields: Mapping[str, object], path: str) -> str | None:
    given = [name for name, one in fields.items() if one is not None]
    if len(given) < 2:
        return None
    where = f'field "{path}"' if path else "the value"
    return f"{where} has {' and '.join(given)}, and is only one of them"


def _fields(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _items(value: object) -> Iterator[tuple[int, object]]:
    return enumerate(value) if isinstance(value, list) else enumerate(())


def _first(found: Iterable[str | None]) -> str | None:
    return next(filter(None, found), None)


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
