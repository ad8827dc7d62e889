"""Parameters are read as JAX-RS reads them."""

import pytest

from duolog.registry.http.parameters import MalformedParameter, MalformedQuery, Parameters


@pytest.mark.parametrize(
    ("query", "flag"),
    [
        (b"", False),
        (b"deleted=true", True),
        (b"deleted=TRUE", True),
        (b"deleted", False),
        (b"deleted=", False),
        (b"deleted=1", False),
        (b"deleted=yes", False),
        (b"Deleted=true", False),
        (b"deleted=false&deleted=true", False),
    ],
)
def test_only_the_word_true_is_true(query: bytes, *, flag: bool) -> None:
    assert Parameters.read(query).flag("deleted") is flag


@pytest.mark.parametrize(
    ("query", "number"),
    [
        (b"", 7),
        (b"limit=", 7),
        (b"limit=-1", -1),
        (b"limit=%2B2", 2),
        (b"limit=2147483647", 2**31 - 1),
    ],
)
def test_a_number_is_a_java_int(query: bytes, number: int) -> None:
    assert Parameters.read(query).integer("limit", 7) == number


@pytest.mark.parametrize(
    "text", [b"x", b"1.0", b"2147483648", b"9" * 10_000, b"%20", "٣".encode(), b"1_0"]
)
def test_another_number_is_malformed(text: bytes) -> None:
    with pytest.raises(MalformedParameter):
        Parameters.read(b"limit=" + text).integer("limit", 7)


def test_values_are_decoded_and_kept_in_order() -> None:
    parameters = Parameters.read(b"key=a%20b&value=1&key=c+d&value=%C3%A9&&x")

    assert parameters.texts("key") == ("a b", "c d")
    assert parameters.texts("value") == ("1", "é")
    assert parameters.texts("unknown") == ()
    assert parameters.text("unknown") is None


@pytest.mark.parametrize("query", [b"a=%FF", b"&".join([b"a=1"] * 1001)])
def test_a_query_that_is_not_utf_8_or_too_long_is_malformed(query: bytes) -> None:
    with pytest.raises(MalformedQuery):
        Parameters.read(query)
