"""Bodies that would hurt are refused quickly and without a crash."""

import pytest

from duolog.registry.http.bodies import MalformedBody, read_json


def test_a_body_is_json_in_utf_8() -> None:
    assert read_json('{"schema": "é", "n": [1, 1.5, true, null]}'.encode()) == {
        "schema": "é",
        "n": [1, 1.5, True, None],
    }


def test_a_byte_order_mark_is_ignored() -> None:
    assert read_json(b"\xef\xbb\xbf{}") == {}


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-16-le", "utf-32", "utf-32-be"])
def test_a_body_in_another_encoding_of_unicode_is_read(encoding: str) -> None:
    assert read_json('{"compatibility": "é"}'.encode(encoding)) == {"compatibility": "é"}


def test_a_surrogate_pair_is_one_character() -> None:
    assert read_json(rb'"\ud83d\ude00"') == "\N{GRINNING FACE}"


@pytest.mark.parametrize(
    "body",
    [
        b"x",
        b"{",
        b'{"a": 1,}',
        b"{} {}",
        b"\xff",
        b'"\xed\xa0\x80"',
        b"NaN",
        b'{"a": -Infinity}',
        b'{"a": ' + b"9" * 10_000 + b"}",
        rb'"\ud800"',
        rb'{"\udc00": 1}',
        r'"\ud800"'.encode("utf-16"),
        '"a"'.encode("utf-16") + b"\x00\xd8",
        b"[" * 10_000,
        b"[" * 1_000_000,
        b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
        b"[" * 100_000 + b"]" * 100_000,
    ],
    ids=lambda body: repr(body[:12]),
)
def test_another_body_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedBody):
        read_json(body)
