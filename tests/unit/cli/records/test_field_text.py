import struct

import pytest

from duolog.cli.records.field_forms import PLAIN, form_of_type
from duolog.cli.records.field_text import as_bytes, as_json, problem_of, read_json_field
from duolog.core.errors import SerdeError

BIGINT = form_of_type("bigint")


def test_bytes_of_another_form_are_shown_as_they_are() -> None:
    assert as_json(BIGINT, b"bob") == {"base64": "Ym9i"}
    assert as_bytes(BIGINT, b"bob") == b"bob"
    assert as_json(BIGINT, b"\xff") == {"base64": "/w=="}
    assert as_json(form_of_type("boolean"), b"\2") == {"base64": "Ag=="}
    assert problem_of(BIGINT, b"bob", "key") == (
        "the key is shown unchanged: 3 bytes are not a BIGINT, which has 8"
    )


@pytest.mark.parametrize(
    ("data", "hint"),
    [
        (struct.pack(">i", 5), "--key 'id INT'"),
        (struct.pack(">q", 5), "--key 'id BIGINT'"),
        (b"SFO" + bytes(8), "--key-window 1h"),
        (b"\x00", "--key or --like"),
    ],
)
def test_a_binary_key_is_reported_with_the_option_that_may_decode_it(
    data: bytes, hint: str
) -> None:
    assert hint in problem_of(PLAIN, data, "key")


def test_text_keys_are_not_reported() -> None:
    assert problem_of(PLAIN, "Zürich 12".encode(), "key") == ""
    assert problem_of(PLAIN, b"\xff", "value") == ""


def test_null_and_base64_are_read_in_every_form() -> None:
    assert read_json_field(BIGINT, "key", "null") is None
    assert read_json_field(BIGINT, "key", '{"base64": "/w=="}') == b"\xff"
    assert read_json_field(BIGINT, "key", '"5"') == read_json_field(BIGINT, "key", "5")
    assert read_json_field(form_of_type("json"), "key", '"bob"') == b'"bob"'
    with pytest.raises(SerdeError):
        read_json_field(BIGINT, "key", '{"base64": 5}')
