"""Random classes: an instance is read as it was written, in each language and by other readers."""

import dataclasses
import datetime as dt
import enum
import io
import itertools
import json
import types
import uuid
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, cast

import fastavro
import jsonschema
import pydantic
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import TypedDict  # pydantic takes no other before Python 3.12

from duolog import Meta, TypedSerde
from duolog.registry.in_process import InProcessRegistry
from duolog.schemas.protobuf import parse as parse_protobuf
from duolog.serde.wire_format import unframed

Typed = tuple[Any, st.SearchStrategy[Any]]
"""An annotation, and its values."""


class Color(enum.Enum):
    RED = "red"
    DARK_BLUE = "dark blue"


SCALARS: list[Typed] = [
    (str, st.text(st.characters(codec="utf-8"), max_size=8)),
    (int, st.integers(-(2**63), 2**63 - 1)),
    (Annotated[int, Meta(bits=32)], st.integers(-(2**31), 2**31 - 1)),
    (float, st.floats(allow_nan=False, allow_infinity=False)),
    (bool, st.booleans()),
    (bytes, st.binary(max_size=6)),
    (Annotated[Decimal, Meta(precision=12, scale=3)], st.decimals(-(10**8), 10**8, places=3)),
    (dt.date, st.dates()),
    (dt.time, st.times()),
    (dt.datetime, st.datetimes(timezones=st.just(dt.UTC))),
    (uuid.UUID, st.uuids()),
    (Color, st.sampled_from(Color)),
]
NUMBERS = itertools.count()
NAMES = st.sampled_from(["a", "b_c", "dE", "value", "name", "key", "x1"])


def optional(of: Typed) -> Typed:
    return of[0] | None, st.none() | of[1]


def arrays(of: Typed) -> st.SearchStrategy[Typed]:
    annotation, values = of
    lists = st.lists(values, max_size=3)
    return st.sampled_from(
        [(types.GenericAlias(list, annotation), lists), (tuple_of(annotation), lists.map(tuple))]
    )


def tuple_of(annotation: Any) -> Any:
    return types.GenericAlias(tuple, (annotation, ...))


def maps(of: Typed) -> Typed:
    annotation, values = of
    keys = SCALARS[0][1]
    return types.GenericAlias(dict, (str, annotation)), st.dictionaries(keys, values, max_size=3)


MAKERS: dict[str, Callable[[str, dict[str, Any]], Any]] = {
    "dataclass": lambda name, hints: dataclasses.make_dataclass(name, hints.items()),
    "NamedTuple": lambda name, hints: cast("Any", NamedTuple)(name, hints.items()),
    "TypedDict": cast("Any", TypedDict),
    "pydantic": lambda name, hints: cast("Any", pydantic.create_model)(
        name, **{field: (of, ...) for field, of in hints.items()}
    ),
}


@st.composite
def classes(draw: st.DrawFn, inner: st.SearchStrategy[Typed]) -> Typed:
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    fields = {name: draw(inner) for name in names}
    hints = {name: annotation for name, (annotation, _) in fields.items()}
    values = st.fixed_dictionaries({name: of for name, (_, of) in fields.items()})
    make = MAKERS[draw(st.sampled_from(list(MAKERS)))]
    made = make(f"Class{next(NUMBERS)}", hints)
    return made, values.map(lambda given: made(**given))


plain = st.sampled_from(SCALARS)
flat = plain | plain.map(optional) | plain.flatmap(arrays) | plain.map(maps)
nested = st.recursive(
    flat, lambda inner: inner.flatmap(arrays) | inner.map(maps) | classes(inner), max_leaves=6
)
INSTANCES = classes(nested | classes(nested).map(optional))
MESSAGES = classes(
    flat | classes(flat) | classes(flat).map(optional) | classes(flat).flatmap(arrays)
)


def written(of: Any, value: Any, form: str) -> tuple[str, bytes, Any]:
    """Return the schema, the payload, and the value that is read from it."""
    serde = TypedSerde(of, registry=InProcessRegistry(), format=form, topic="t")
    data = serde.serialize(value)
    assert data is not None
    return serde.schema.text, unframed(data).payload, serde.deserialize(data)


def as_avro(value: Any) -> Any:  # noqa: PLR0911 - a table of cases
    """Return a value as fastavro reads it."""
    match value:
        case pydantic.BaseModel():
            return {name: as_avro(getattr(value, name)) for name in type(value).model_fields}
        case _ if dataclasses.is_dataclass(value):
            return {name: as_avro(one) for name, one in vars(value).items()}
        case tuple() if hasattr(value, "_asdict"):
            return as_avro(value._asdict())
        case Mapping():
            return {name: as_avro(one) for name, one in value.items()}
        case list() | tuple():
            return [as_avro(one) for one in value]
        case Color():
            return value.name
        case _:
            return value


@given(data=st.data())
def test_avro_gives_an_instance_back_and_fastavro_the_same_values(data: st.DataObject) -> None:
    of, values = data.draw(INSTANCES)
    value = data.draw(values)

    text, payload, found = written(of, value, "avro")

    assert found == value
    schema = fastavro.parse_schema(json.loads(text))
    assert fastavro.schemaless_reader(io.BytesIO(payload), schema, None) == as_avro(value)


@given(data=st.data())
def test_json_gives_an_instance_back_and_is_valid(data: st.DataObject) -> None:
    of, values = data.draw(INSTANCES)
    value = data.draw(values)

    text, payload, found = written(of, value, "json")

    assert found == value
    jsonschema.Draft7Validator(json.loads(text)).validate(json.loads(payload))


@given(data=st.data())
def test_protobuf_gives_an_instance_back_and_the_library_reads_it(data: st.DataObject) -> None:
    of, values = data.draw(MESSAGES)
    value = data.draw(values)

    text, payload, found = written(of, value, "protobuf")

    assert found == value
    schema = parse_protobuf(text, {})
    message = schema.message_class(of.__name__).FromString(payload[1:])
    names = {field.name for field in message.DESCRIPTOR.fields}
    assert set(json_format.MessageToDict(message, preserving_proto_field_name=True)) <= names
    assert message.SerializeToString(deterministic=True) == payload[1:]


@given(number=st.integers(), text=st.text(), kind=st.sampled_from(["a", "b"]))
def test_a_union_gives_the_branch_back(number: int, text: str, kind: str) -> None:
    @dataclasses.dataclass
    class Of:
        one: int | str | bool | list[int] | None
        kind: Literal["a", "b"]

    bounded = number % 2**40
    for value in (
        bounded,
        text.encode(errors="ignore").decode(),
        bounded % 2 == 0,
        [bounded],
        None,
    ):
        instance = Of(value, cast("Any", kind))
        for form in ("avro", "json"):
            found = written(Of, instance, form)[2]
            assert found == instance
            assert type(found.one) is type(instance.one)
