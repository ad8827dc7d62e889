"""Schemas are parsed by the name of their language."""

import subprocess
import sys

import pytest

from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.languages import parse
from duolog.schemas.schema import Language


def test_a_json_schema_is_parsed_by_its_language() -> None:
    schema = parse(Language.JSON, '{"title": "Order", "type": "object"}', {})

    assert schema.language is Language.JSON
    assert schema.canonical == '{"title":"Order","type":"object"}'


def test_an_unchecked_schema_is_accepted_if_it_is_already_registered() -> None:
    text = '{"type": "object", "required": "id"}'

    assert parse(Language.JSON, text, {}, strict=False).canonical
    with pytest.raises(InvalidSchemaError):
        parse(Language.JSON, text, {})


def test_the_package_of_a_language_is_imported_when_it_is_used() -> None:
    code = (
        "import sys, duolog.schemas.languages; print('duolog.schemas.json_schema' in sys.modules)"
    )

    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert result.stdout.strip() == "False"
