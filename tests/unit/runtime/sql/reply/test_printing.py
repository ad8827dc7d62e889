"""PRINT guesses the format of keys and values."""

from functools import partial

import pytest

from duolog.registry.in_process import InProcessRegistry
from duolog.runtime.sql.reply.printing import guessed, guessed_by_schema
from duolog.schemas.schema import Language
from duolog.schemas.source import SchemaText
from duolog.serde.readable import SchemaReader
from duolog.serde.wire_format import framed

NAME = '{"type":"record","name":"R","fields":[{"name":"name","type":"string"}]}'
JSON = '{"type":"object"}'
PROTO = 'syntax = "proto3"; message M { string name = 1; }'


@pytest.fixture
def registry() -> InProcessRegistry:
    made = InProcessRegistry()
    for number, (language, text) in enumerate(
        ((Language.AVRO, NAME), (Language.JSON, JSON), (Language.PROTOBUF, PROTO))
    ):
        made.register(f"subject-{number}", SchemaText(language, text))
    return made


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (framed(1, b"\6bob"), ('{"name":"bob"}', "AVRO")),
        (framed(2, b'{"a": 1}'), ('{"a": 1}', "JSON_SR")),
        (framed(3, b"\0\n\3bob"), ('{"name":"bob"}', "PROTOBUF")),
        (framed(9, b"\6bob"), ("000000000906626f62", "KAFKA_BYTES")),
        (framed(1, b"\2a "), ("16933152", "KAFKA_BIGINT")),
        (b'{"a":1}', ('{"a":1}', "JSON")),
        (None, ("<null>", "")),
    ],
)
def test_formats_are_guessed_by_the_schemas_of_a_registry(
    registry: InProcessRegistry, data: bytes | None, shown: tuple[str, str]
) -> None:
    guess = partial(guessed_by_schema, SchemaReader(registry))

    assert guess(data) == shown


def test_without_a_registry_bytes_stay_bytes() -> None:
    assert guessed(framed(1, b"\6bob"))[1] == "KAFKA_BYTES"
