from decimal import Decimal as D

import pytest

from duolog.ksql.catalog.catalog import SqlColumn, SqlFormat
from duolog.plan.types import parse_columns
from duolog.testing.qtt.bytes import decode, encode
from duolog.testing.qtt.comparison import same

JSON = SqlFormat("JSON")


def columns(text: str) -> tuple[SqlColumn, ...]:
    return tuple(SqlColumn(name, of) for name, of in parse_columns(text))


@pytest.mark.parametrize(
    ("of", "found", "wanted", "is_same"),
    [
        ("A DOUBLE", D("1.0"), 1, True),
        ("A DOUBLE", D("0.30000000000000004"), D("0.3"), True),
        ("A DOUBLE", D("1.00001"), D("1.0"), False),
        ("A DOUBLE", "NaN", "NaN", True),
        ("A DECIMAL(4,2)", D("10.10"), D("10.10"), True),
        ("A DECIMAL(4,2)", D("10.10"), D("10.1"), False),
        ("A DECIMAL(4,2)", D("10.00"), 10, False),
        ("A DECIMAL(4,0)", 10, 10, True),
        ("A DECIMAL(4,2)", D("10.10"), "10.10", True),
        ("A INT", 1, True, False),
        ("A INT", 1, "1", False),
        ("A ARRAY<DOUBLE>", [D("1.0"), None], [1, None], True),
        ("A MAP<STRING, DECIMAL(4,1)>", {"x": D("1.0")}, {"x": D("1.00")}, False),
        ("A STRUCT<F INT>", {"F": 1}, {"f": 1}, True),
        ("A STRUCT<F INT, G INT>", {"F": 1, "G": None}, {"f": 1}, False),
        ("A STRUCT<F INT, G INT>", {"F": 1, "G": None}, {"F": 1, "H": None}, True),
        ("A STRUCT<F INT, G INT>", {"F": 1, "G": None}, {"F": 1, "H": 2}, False),
        ("A STRUCT<F INT, G INT>", {"F": 1, "G": 2}, {"F": 1, "G": None}, False),
        ("A STRING", None, "", False),
    ],
)
def test_values_are_compared_by_the_type_of_their_column(
    of: str, found: object, wanted: object, *, is_same: bool
) -> None:
    assert same({"A": found}, {"a": wanted}, JSON, columns(of), "value") is is_same


def test_a_single_column_is_unwrapped_in_keys_and_unwrapped_values() -> None:
    one = columns("A INT")

    assert same(1, 1, JSON, one, "key")
    assert same(1, 1, SqlFormat("JSON", wrap=False), one, "value")
    assert not same(1, {"A": 1}, JSON, one, "value")


def test_lines_are_compared_as_texts() -> None:
    assert same(
        "1.50,a", "1.50,a", SqlFormat("DELIMITED"), columns("A DECIMAL(4,2), B STRING"), "value"
    )
    assert not same("1.5", D("1.50"), SqlFormat("DELIMITED"), columns("A DECIMAL(4,2)"), "key")


@pytest.mark.parametrize(
    ("of", "name", "value", "data"),
    [
        ("A INT", "KAFKA", 7, b"\0\0\0\7"),
        ("A STRING", "KAFKA", 7, b"7"),
        ("A BYTES", "KAFKA", "AP8=", b"\x00\xff"),
        ("A DECIMAL(4,2)", "JSON", {"A": D("1.50")}, b'{"A":1.50}'),
        ("A INT, B INT", "DELIMITED", "1,2", b"1,2"),
        ("A BOOLEAN", "DELIMITED", True, b"true"),
        ("A INT", "NONE", 1, None),
    ],
)
def test_the_input_of_a_case_is_written_in_its_format(
    of: str, name: str, value: object, data: bytes | None
) -> None:
    found = encode(SqlFormat(name), columns(of), value)

    assert found == data
    if data is not None:
        assert same(
            decode(SqlFormat(name), columns(of), data), value, SqlFormat(name), columns(of), "value"
        )


def test_a_schema_registry_format_is_reported_as_missing() -> None:
    with pytest.raises(NotImplementedError, match="no schema registry is configured"):
        encode(SqlFormat("AVRO"), columns("A INT"), {"A": 1})
