"""The serdes of formats with schemas, by name and options of a plan."""

from collections.abc import Iterator

import pytest

from duolog.core.errors import SerdeError
from duolog.core.types import parse_columns
from duolog.core.windowed_key import WindowedKey
from duolog.registry.in_process import InProcessRegistry
from duolog.schemas.columns import text_of
from duolog.schemas.schema import Language
from duolog.schemas.source import provide, withdraw
from duolog.serde.serde import Options, key_serde, value_serde

ADDRESS = "mock://test-schema-formats"
ONE, TWO = parse_columns("A INT"), parse_columns("A INT, B INT")
LANGUAGES = {
    "AVRO": Language.AVRO,
    "JSON_SR": Language.JSON,
    "PROTOBUF": Language.PROTOBUF,
}


@pytest.fixture
def registry() -> Iterator[InProcessRegistry]:
    made = InProcessRegistry()
    provide(ADDRESS, made)
    yield made
    withdraw(ADDRESS)


def options(registry: InProcessRegistry, name: str, *, bare: bool) -> Options:
    """Return the options of a format whose schema is that of one column."""
    schema = text_of(LANGUAGES[name], ONE, name=None, bare=bare)
    number = registry.register("t-key", schema)
    return (("id", str(number)), ("registry", ADDRESS), ("schema", schema.text))


@pytest.mark.parametrize(
    ("name", "bare", "data"),
    [
        ("AVRO", True, b"\x02\x0e"),
        ("JSON_SR", True, b"7"),
        ("PROTOBUF", False, b"\0\x08\x07"),
    ],
)
def test_a_single_key_column_is_bare_where_the_format_allows_it(
    registry: InProcessRegistry, name: str, *, bare: bool, data: bytes
) -> None:
    serde = key_serde(name, ONE, options=options(registry, name, bare=bare))

    assert serde.serialize((7,)) == b"\0\0\0\0\1" + data
    assert serde.deserialize(b"\0\0\0\0\1" + data) == (7,)
    assert serde.serialize(None) is None


def test_a_value_is_bare_if_the_plan_says_so(registry: InProcessRegistry) -> None:
    wrapped = value_serde("AVRO", ONE, options(registry, "AVRO", bare=False))
    registry.set_compatibility("NONE")
    bare = value_serde("AVRO", ONE, (*options(registry, "AVRO", bare=True), ("single", "bare")))

    assert wrapped.serialize((None,)) == b"\0\0\0\0\1\0"
    assert bare.serialize((None,)) is None
    assert bare.serialize((7,)) == b"\0\0\0\0\2\x02\x0e"


def test_a_windowed_key_ends_with_its_window(registry: InProcessRegistry) -> None:
    columns = parse_columns("A INT, WINDOWSTART BIGINT, WINDOWEND BIGINT")
    given = options(registry, "AVRO", bare=True)

    serde = key_serde("AVRO", columns, WindowedKey(1000), given)

    data = serde.serialize((7, 0, 1000))
    assert data == b"\0\0\0\0\1\x02\x0e" + bytes(8)
    assert serde.deserialize(data) == (7, 0, 1000)


def test_null_has_a_representation_in_protobuf_without_a_registry() -> None:
    plain, optional = (
        value_serde("PROTOBUF_NOSR", TWO),
        value_serde("PROTOBUF_NOSR", TWO, (("nullable", "optional"),)),
    )

    assert plain.deserialize(plain.serialize((1, None))) == (1, 0)
    assert optional.deserialize(optional.serialize((1, None))) == (1, None)


@pytest.mark.parametrize("name", ["AVRO", "PROTOBUF"])
def test_a_format_without_a_registry_is_an_error_with_a_hint(name: str) -> None:
    with pytest.raises(SerdeError, match=f"format {name} needs a schema registry") as caught:
        value_serde(name, TWO)

    assert "ksql.schema.registry.url" in caught.value.hint
