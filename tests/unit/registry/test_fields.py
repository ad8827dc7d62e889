import pytest

from duolog.registry import fields as read
from duolog.registry.fields import FieldError
from duolog.registry.json_text import Json
from duolog.registry.records.values import Mode


def test_null_is_the_same_as_absent() -> None:
    for fields in ({}, {"a": None}):
        assert read.text(fields, "a") is None
        assert read.boolean(fields, "a") is None
        assert read.integer(fields, "a") is None
        assert read.long(fields, "a") is None
        assert read.texts(fields, "a") == ()
        assert read.texts_by_name(fields, "a") == {}
        assert read.mapping(fields, "a") is None
        assert read.choice(fields, "a", Mode) is None


@pytest.mark.parametrize(
    ("value", "expected"), [("x", "x"), (1, "1"), (1.5, "1.5"), (True, "true"), ("", "")]
)
def test_scalars_become_texts(value: Json, expected: str) -> None:
    assert read.text({"a": value}, "a") == expected


@pytest.mark.parametrize(("value", "expected"), [(7, 7), ("7", 7), ("-1", -1), (7.0, 7)])
def test_texts_of_digits_become_numbers(value: Json, expected: int) -> None:
    assert read.integer({"a": value}, "a") == expected


@pytest.mark.parametrize("value", [True, "x", "1e3", 1.5, 2**31, -(2**31) - 1, [], {}, "9" * 5000])
def test_other_values_are_no_numbers(value: Json) -> None:
    with pytest.raises(FieldError, match="a: cannot read a number of 32 bits from"):
        read.integer({"a": value}, "a")


@pytest.mark.parametrize(("value", "expected"), [(True, True), ("false", False), ("true", True)])
def test_truth_values(value: Json, *, expected: bool) -> None:
    assert read.boolean({"a": value}, "a") is expected
    with pytest.raises(FieldError, match="cannot read a boolean from a number"):
        read.boolean({"a": 1}, "a")


def test_a_choice_names_the_others() -> None:
    assert read.choice({"a": "IMPORT"}, "a", Mode) is Mode.IMPORT
    with pytest.raises(FieldError, match="a: 'import' is not one of READWRITE, READONLY,"):
        read.choice({"a": "import"}, "a", Mode)
