import math

import pytest

from duolog.core.errors import SerdeError
from duolog.core.types import parse_columns
from duolog.serde.serde import key_serde, value_serde


@pytest.mark.parametrize(
    ("of", "value", "data"),
    [
        ("INT", -2, b"\xff\xff\xff\xfe"),
        ("BIGINT", 258, b"\0\0\0\0\0\0\1\2"),
        ("DOUBLE", 1.0, b"\x3f\xf0\0\0\0\0\0\0"),
        ("STRING", "é", b"\xc3\xa9"),
        ("STRING", "", b""),
        ("BYTES", b"\0x", b"\0x"),
        ("BOOLEAN", True, b"\1"),
    ],
)
def test_a_value_has_the_same_bytes_as_with_kafkas_serializer(
    of: str, value: object, data: bytes
) -> None:
    serde = key_serde("KAFKA", parse_columns(f"k {of}"))

    assert serde.serialize((value,)) == data
    assert serde.deserialize(data) == (value,)


def test_every_nan_has_the_same_bytes() -> None:
    serde = key_serde("KAFKA", parse_columns("k DOUBLE"))

    assert {serde.serialize((nan,)) for nan in (math.nan, -math.nan)} == {b"\x7f\xf8\0\0\0\0\0\0"}


@pytest.mark.parametrize(
    ("of", "data"),
    [("INT", b"123"), ("BIGINT", b"1234"), ("DOUBLE", b""), ("STRING", b"\xff"), ("BOOLEAN", b"2")],
)
def test_bytes_of_a_wrong_length_or_encoding_are_refused(of: str, data: bytes) -> None:
    with pytest.raises(SerdeError, match='cannot read column "k"'):
        value_serde("KAFKA", parse_columns(f"k {of}")).deserialize(data)


@pytest.mark.parametrize(("of", "value"), [("INT", 2**31), ("STRING", 5), ("DOUBLE", "x")])
def test_writing_a_value_of_another_type_is_refused(of: str, value: object) -> None:
    with pytest.raises(SerdeError, match='cannot write column "k"'):
        value_serde("KAFKA", parse_columns(f"k {of}")).serialize((value,))


def test_a_null_has_no_bytes() -> None:
    serde = key_serde("KAFKA", parse_columns("k INT"))

    assert serde.serialize((None,)) is None
    assert serde.serialize(None) is None
    assert serde.deserialize(None) is None


def test_two_columns_are_refused() -> None:
    with pytest.raises(SerdeError, match="one column of a plain type"):
        value_serde("KAFKA", parse_columns("a INT, b INT"))


def test_format_none_has_no_bytes() -> None:
    serde = key_serde("NONE", ())

    assert serde.serialize(()) is None
    assert serde.deserialize(b"x") is None


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(SerdeError, match='unknown format "XML"'):
        value_serde("XML", parse_columns("a INT"))
