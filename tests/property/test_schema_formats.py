"""Rows of random columns survive every format with a schema, and fastavro agrees with ours.

Protobuf has no null: there, nulls are compared as the defaults that the representation gives.
"""

import datetime as dt
import io
from contextlib import suppress
from decimal import Decimal as PythonDecimal
from typing import Any, Final

import fastavro
from hypothesis import given
from hypothesis import strategies as st

from duolog.core.errors import SerdeError
from duolog.core.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Column,
    Decimal,
    Map,
    Struct,
    Type,
)
from duolog.registry.in_process import InProcessRegistry
from duolog.schemas.avro import columns as avro
from duolog.schemas.avro import parse as parse_avro
from duolog.schemas.columns import text_of, type_of
from duolog.schemas.schema import Language
from duolog.schemas.source import SchemaText
from duolog.serde.avro import AvroSerde
from duolog.serde.json_sr import JsonSrSerde
from duolog.serde.protobuf import PlainProtobufSerde
from duolog.serde.row import Row

MILLISECOND: Final = dt.timedelta(milliseconds=1)
EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
VALUES: Final[dict[Type, st.SearchStrategy[Any]]] = {
    BOOLEAN: st.booleans(),
    INT: st.integers(-(2**31), 2**31 - 1),
    BIGINT: st.integers(-(2**63), 2**63 - 1),
    DOUBLE: st.floats(allow_nan=False),
    STRING: st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    BYTES: st.binary(max_size=5),
    DATE: st.dates(),
    TIME: st.integers(0, 86_399_999),
    TIMESTAMP: st.integers(-(10**12), 10**13).map(lambda ms: EPOCH + ms * MILLISECOND),
}
PLAIN: Final = st.sampled_from(sorted(VALUES, key=str))
DECIMALS: Final = st.integers(1, 38).flatmap(
    lambda precision: st.integers(0, precision).map(lambda scale: Decimal(precision, scale))
)
KEYS: Final = st.sampled_from([STRING, INT, BIGINT])
NAMES: Final = ("A", "b", "C_1", "Delay", "e")


def structs(of: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
    return st.lists(of, min_size=1, max_size=3).map(
        lambda types: Struct(tuple(map(Column, NAMES, types)))
    )


TYPES: Final = st.recursive(
    PLAIN | DECIMALS,
    lambda inner: inner.map(Array) | st.builds(Map, KEYS, inner) | structs(inner),
    max_leaves=6,
)
PROTOBUF_SINGLE: Final = st.recursive(PLAIN | DECIMALS, structs, max_leaves=4)
PROTOBUF: Final = (
    PROTOBUF_SINGLE | PROTOBUF_SINGLE.map(Array) | st.builds(Map, KEYS, PROTOBUF_SINGLE)
)


def values(of: Type, *, nulls: bool = True) -> st.SearchStrategy[Any]:
    """Return values of a type, also inside arrays, maps and structs."""
    match of:
        case Array(element=element):
            found: st.SearchStrategy[Any] = st.lists(values(element, nulls=nulls), max_size=3)
        case Map(key=key, value=inner):
            found = st.dictionaries(VALUES[key], values(inner, nulls=nulls), max_size=3)
        case Struct(fields=fields):
            found = st.fixed_dictionaries(
                {field.name: values(field.type, nulls=nulls) for field in fields}
            )
        case Decimal(precision=precision, scale=scale):
            most = 10**precision - 1
            found = st.integers(-most, most).map(lambda n: PythonDecimal(f"{n}e-{scale}"))
        case _:
            found = VALUES[of]
    return st.none() | found if nulls else found


def rows(
    types: st.SearchStrategy[Type], *, nulls: bool = True
) -> st.SearchStrategy[tuple[tuple[Column, ...], Row]]:
    """Return columns of random types, with a row of them."""

    def with_row(columns: tuple[Column, ...]) -> st.SearchStrategy[Any]:
        return st.tuples(
            st.just(columns),
            st.tuples(*(values(column.type, nulls=nulls) for column in columns)),
        )

    return (
        st.lists(types, min_size=1, max_size=4)
        .map(lambda found: tuple(map(Column, NAMES, found)))
        .flatmap(with_row)
    )


@given(rows(TYPES))
def test_avro(case: tuple[tuple[Column, ...], Row]) -> None:
    columns, row = case
    registry = InProcessRegistry()
    text = avro.schema_text(avro.value_schema(columns))
    number = registry.register("t-value", SchemaText(Language.AVRO, text))
    serde = AvroSerde(columns, registry, schema_id=number, schema=text)

    data = serde.serialize(row)

    assert data is not None
    assert serde.deserialize(data) == row
    # The bytes are a whole value for another reader, and the schema gives the columns again.
    stream = io.BytesIO(data[5:])
    written: Any = avro.value_schema(columns)
    fastavro.schemaless_reader(stream, fastavro.parse_schema(written), None)
    assert stream.read() == b""
    assert getattr(avro.type_of(parse_avro(text, {}).root, upper=False), "fields", None) == columns


@given(rows(TYPES))
def test_json_sr(case: tuple[tuple[Column, ...], Row]) -> None:
    columns, row = case
    schema = text_of(Language.JSON, columns, name=None, bare=False)
    registry = InProcessRegistry()
    number = registry.register("t-value", schema)
    serde = JsonSrSerde(columns, schema_id=number, schema=schema.text)

    assert serde.deserialize(serde.serialize(row)) == row
    assert getattr(type_of(registry.by_id(number), upper=False), "fields", None) == columns


@given(rows(PROTOBUF, nulls=False))
def test_protobuf(case: tuple[tuple[Column, ...], Row]) -> None:
    columns, row = case
    registry = InProcessRegistry()
    number = registry.register(
        "t-value", text_of(Language.PROTOBUF, columns, name=None, bare=False)
    )

    for nullable in (None, "optional", "wrapper"):
        serde = PlainProtobufSerde(columns, nullable)
        empty_is_null = without_empty_bytes if nullable is None else same
        assert serde.deserialize(serde.serialize(row)) == empty_is_null(row)
    assert getattr(type_of(registry.by_id(number), upper=False), "fields", None) == columns


@given(rows(TYPES), st.binary(max_size=40))
def test_any_bytes_are_a_row_of_avro_or_an_error_of_the_record(
    case: tuple[tuple[Column, ...], Row], data: bytes
) -> None:
    columns, _ = case
    registry = InProcessRegistry()
    registry.register("t-value", text_of(Language.AVRO, columns, name=None, bare=False))

    with suppress(SerdeError):
        row = AvroSerde(columns, registry).deserialize(b"\0\0\0\0\1" + data)
        assert row is not None
        assert len(row) == len(columns)


@given(rows(PROTOBUF), st.binary(max_size=40))
def test_any_bytes_are_a_row_of_protobuf_or_an_error_of_the_record(
    case: tuple[tuple[Column, ...], Row], data: bytes
) -> None:
    columns, _ = case

    with suppress(SerdeError):
        row = PlainProtobufSerde(columns).deserialize(data)
        assert row is not None
        assert len(row) == len(columns)


def same(value: Any) -> Any:
    return value


def without_empty_bytes(value: Any) -> Any:
    """Return a row with null for empty bytes, which have no representation of their own."""
    inner = without_empty_bytes
    match value:
        case tuple():
            return tuple(map(inner, value))
        case dict():
            return {key: inner(one) for key, one in value.items()}
        case list():
            return [inner(one) if isinstance(one, dict) else one for one in value]
        case b"":
            return None
        case _:
            return value
