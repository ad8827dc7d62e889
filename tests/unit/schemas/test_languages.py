"""Parse a schema in the language that it names."""

import subprocess
import sys

import pytest

from duolog.schemas.avro import AvroSchema
from duolog.schemas.languages import parse
from duolog.schemas.schema import InvalidSchemaError, Language


def test_a_schema_is_parsed_in_its_language() -> None:
    schema = parse(Language.AVRO, '{"type": "string"}', {})

    assert isinstance(schema, AvroSchema)
    assert schema.language is Language.AVRO
    assert schema.canonical == '"string"'


def test_references_and_strictness_reach_the_language() -> None:
    references = {"F": '{"type": "fixed", "name": "F", "size": 1}'}
    text = '{"type": "record", "name": "R", "fields": [{"name": "f", "type": "F", "default": 1}]}'

    assert parse(Language.AVRO, text, references, strict=False).name == "R"
    with pytest.raises(InvalidSchemaError, match="default"):
        parse(Language.AVRO, text, references)


def test_a_language_is_loaded_when_it_is_first_used() -> None:
    program = (
        "import sys; import duolog.schemas.languages; "
        "print([name for name in sys.modules if name.startswith('duolog.schemas.avro')])"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"


def test_a_json_schema_is_parsed_in_its_language() -> None:
    schema = parse(Language.JSON, '{"title": "Order", "type": "object"}', {})

    assert schema.language is Language.JSON
    assert schema.canonical == '{"title":"Order","type":"object"}'


def test_an_unchecked_json_schema_is_accepted_if_it_is_already_registered() -> None:
    text = '{"type": "object", "required": "id"}'

    assert parse(Language.JSON, text, {}, strict=False).canonical
    with pytest.raises(InvalidSchemaError):
        parse(Language.JSON, text, {})
