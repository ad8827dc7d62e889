"""Schemas that are proposed from values."""

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import fastavro
import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.schemas.classes.schema_of import written
from duolog.schemas.inference import FieldFact, Observed, propose
from duolog.schemas.languages import parse
from duolog.schemas.schema import Language


def observed(*values: dict[str, Any]) -> Observed:
    found = Observed()
    for value in values:
        found.add(value)
    return found


def avro(*values: dict[str, Any], logical: bool = False) -> dict[str, Any]:
    """Return the proposed type of each field."""
    shape, _ = propose(observed(*values), "orders", logical=logical)
    schema = json.loads(written(shape, Language.AVRO))
    return {field["name"]: field["type"] for field in schema["fields"]}


def facts(*values: dict[str, Any]) -> dict[str, FieldFact]:
    return {fact.path: fact for fact in propose(observed(*values), "orders")[1]}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2], "int"),
        ([1, 2**31], "long"),
        ([-(2**31) - 1, 1], "long"),
        ([1, 2**63], "double"),
        ([1, 1.5], "double"),
        ([True, False], "boolean"),
        (["a", "b"], "string"),
        ([1, None], ["null", "int"]),
        ([None], ["null", "string"]),
        ([1, "a"], ["int", "string"]),
        ([[1], [2**40]], {"type": "array", "items": "long"}),
        ([[1, None]], {"type": "array", "items": ["null", "int"]}),
        ([[]], {"type": "array", "items": "string"}),
        ([b"a"], "bytes"),
        (
            [Decimal("1.25"), Decimal("123.5")],
            {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2},
        ),
        ([dt.date(2024, 1, 1)], {"type": "int", "logicalType": "date"}),
    ],
)
def test_types_are_merged_over_records(values: list[Any], expected: Any) -> None:
    assert avro(*({"field": value} for value in values)) == {"field": expected}


def test_a_field_that_is_missing_somewhere_is_optional() -> None:
    shape, _ = propose(observed({"a": 1}, {"a": 2, "b": "x"}), "orders")

    assert json.loads(written(shape, Language.AVRO))["fields"] == [
        {"name": "a", "type": "int"},
        {"name": "b", "type": ["null", "string"], "default": None},
    ]


def test_nested_objects_are_records_with_names_of_their_own() -> None:
    found = avro({"to": {"at": {"x": 1}}}, {"to": {"at": {"x": 2.5}, "name": "y"}})

    assert found["to"]["name"] == "OrdersTo"
    inner = {field["name"]: field["type"] for field in found["to"]["fields"]}
    assert inner["at"]["name"] == "OrdersToAt"
    assert inner["at"]["fields"] == [{"name": "x", "type": "double"}]
    assert inner["name"] == ["null", "string"]


@pytest.mark.parametrize(
    "names",
    [
        ["1", "22"],
        ["2024-01-01", "2024-01-02"],
        ["00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"],
        [f"user{number}" for number in range(10)],
    ],
)
def test_objects_whose_names_vary_like_keys_are_maps(names: list[str]) -> None:
    assert avro(*({"by": {name: 1}} for name in names)) == {"by": {"type": "map", "values": "int"}}


def test_many_names_that_all_objects_have_are_fields() -> None:
    names = [f"field{number}" for number in range(10)]

    found = avro(*({"of": dict.fromkeys(names, 1)} for _ in range(3)))

    assert found["of"]["type"] == "record"


def test_names_with_values_of_several_types_are_fields() -> None:
    assert avro({"of": {"a": 1, "b": "x"}})["of"]["type"] == "record"


def test_texts_like_dates_get_a_note_or_their_types() -> None:
    values = {
        "day": "2024-02-29",
        "at": "2024-02-29T10:00:00Z",
        "id": "00000000-0000-0000-0000-000000000001",
        "not": "2023-02-29",
    }

    assert set(avro(values).values()) == {"string"}
    assert facts(values)["day"].note == "looks like a date"
    assert facts(values)["not"].note == ""
    assert avro(values, logical=True) == {
        "day": {"type": "int", "logicalType": "date"},
        "at": {"type": "long", "logicalType": "timestamp-micros"},
        "id": {"type": "string", "logicalType": "uuid"},
        "not": "string",
    }


def test_one_text_of_another_form_keeps_a_field_a_text() -> None:
    found = avro({"day": "2024-02-29"}, {"day": "soon"}, logical=True)

    assert found == {"day": "string"}


def test_the_records_that_support_a_field_are_counted() -> None:
    found = facts({"a": 1, "b": {"c": None}}, {"a": None, "b": {"c": 2}}, {"a": 3})

    assert found["a"] == FieldFact("a", "int (32 bits) | None", 2, 3, 1, "")
    assert (found["b"].records, found["b"].of) == (2, 3)
    assert (found["b.c"].records, found["b.c"].of, found["b.c"].nulls) == (1, 2, 1)


def test_a_value_that_is_nested_too_deep_is_refused() -> None:
    value: Any = 1
    for _ in range(100):
        value = [value]

    with pytest.raises(ValueError, match="nested deeper"):
        Observed().add({"a": value})


NAMES = st.sampled_from(["a", "b", "c", "d"])
SCALARS = st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text("xyz", max_size=3)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
RECORDS = st.lists(st.dictionaries(NAMES, VALUES, min_size=1, max_size=4), min_size=1, max_size=4)


@given(records=RECORDS)
def test_every_record_is_valid_by_the_proposed_schema(records: list[dict[str, Any]]) -> None:
    shape, _ = propose(observed(*records), "orders")

    text = written(shape, Language.AVRO)
    parsed = fastavro.parse_schema(json.loads(text))

    parse(Language.AVRO, text, {})
    for record in records:
        fastavro.validation.validate(_filled(record, parsed), parsed, raise_errors=True)


def _filled(value: Any, _schema: Any) -> Any:
    return value


@given(records=RECORDS)
def test_every_record_is_valid_by_the_proposed_json_schema(records: list[dict[str, Any]]) -> None:
    shape, _ = propose(observed(*records), "orders")
    try:
        text = written(shape, Language.JSON)
    except Exception as error:  # noqa: BLE001 - its message is what counts
        assert "does not distinguish" in str(error)  # noqa: PT017 - of a union
        return
    for record in records:
        jsonschema.Draft7Validator(json.loads(text)).validate(record)
