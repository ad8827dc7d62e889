"""New values of letters in the formats of a schema registry."""

import json
from types import SimpleNamespace
from typing import Any

import click
import pytest

from duolog.cli.dead_letters.correcting import Given, read_json
from duolog.cli.dead_letters.writing import writing_forms
from duolog.cli.records.form_options import FormOptions
from duolog.registry.in_process import InProcessRegistry
from duolog.schemas.schema import Language
from duolog.schemas.source import SchemaText

SCHEMA = {"type": "record", "name": "R", "fields": [{"name": "n", "type": "int"}]}
AVRO = FormOptions(None, None, (), None, value_format="AVRO")
NOTHING = Given(*[None] * 9)
VALUE = NOTHING._replace(value_json='{"n": 1}')
SQL = NOTHING._replace(value_sql="VALUE")


def registry_of(subject: str) -> tuple[Any, int]:
    """Return the address of a registry with one subject, and the id of its schema."""
    registry = InProcessRegistry()
    text = SchemaText(Language.AVRO, json.dumps(SCHEMA))
    number = registry.register(subject, text)

    def version(asked: str) -> object:
        assert asked == subject
        return SimpleNamespace(schema_id=number, schema=text)

    admin = SimpleNamespace(version=version, resolved=lambda _: registry.by_id(number))
    return SimpleNamespace(admin=lambda: admin, source=lambda: registry), number


def test_a_value_is_written_with_the_schema_of_its_target() -> None:
    registry, number = registry_of("orders-value")

    forms = writing_forms("wrong", AVRO, VALUE, registry, lambda: {"orders"})

    data = read_json("value", forms.value, '{"n": 1}')
    assert data == b"\0" + number.to_bytes(4, "big") + b"\2"


def test_without_letters_or_formats_no_registry_is_needed() -> None:
    raw = AVRO._replace(value_format="RAW")

    assert read_json("value", writing_forms("wrong", raw, SQL, None, list).value, "7") == b"7"
    assert writing_forms("wrong", AVRO, VALUE, None, list).key is not None


@pytest.mark.parametrize(
    ("given", "targets", "told"),
    [
        (SQL, ["orders"], "--value-format AVRO needs --set-value-json"),
        (VALUE, ["a", "b"], "are written to a, b"),
        (VALUE, ["orders"], "Name the schema registry"),
    ],
)
def test_formats_that_cannot_be_used_are_refused(
    given: Given, targets: list[str], told: str
) -> None:
    with pytest.raises(click.UsageError, match=told):
        writing_forms("wrong", AVRO, given, None, lambda: targets)
