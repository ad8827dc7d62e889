import json

import pytest

from duolog.server.dead_letters.requests import read_replay
from duolog.server.errors import RequestRefused


def test_replayed_letters_are_replayed_only_when_asked_for_again() -> None:
    # Without `again`, the selection would become that of all other letters.
    with pytest.raises(RequestRefused, match="'replayed' needs 'again'"):
        read_replay(b'{"replayed": true}')

    assert read_replay(b'{"replayed": true, "again": true}').wanted.replayed is True
    assert read_replay(b'{"replayed": false}').wanted.replayed is False


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"\xff",
        b"[" * 100_000,
        b'{"offset": 1.5}',
        b'{"offset": -1}',
        b'{"offset": "3..x"}',
        b'{"partition": "0,x"}',
        b'{"toPartition": "-1"}',
        b'{"max": 10001}',
        b'{"dryRun": "yes"}',
        b'{"setValue": "x"}',
        b'{"setValue": {"base64": "*"}}',
        b'{"setValue": {"text": "\\ud800"}}',
        b'{"setValue": {"sql": "VALUE"}, "setKey": {"text": "k"}}',
        b'{"unknown": 1}',
    ],
)
def test_invalid_requests_are_refused(body: bytes) -> None:
    with pytest.raises(RequestRefused):
        read_replay(body)


@pytest.mark.parametrize("number", ["12345678901234567.89", "1e999", "NaN", "-Infinity"])
def test_a_number_that_would_be_written_otherwise_is_refused(number: str) -> None:
    with pytest.raises(RequestRefused):
        read_replay(f'{{"setValue": {{"json": {{"amount": {number}}}}}}}'.encode())


def test_a_value_is_text_json_or_bytes() -> None:
    def value(change: object) -> object:
        return read_replay(json.dumps({"setValue": change}).encode()).value.data

    assert value({"text": "é"}) == "é".encode()
    assert value({"json": {"a": 1}}) == b'{"a": 1}'
    assert value({"json": [0.1, 1e22, 2**70]}) == b"[0.1, 1e+22, 1180591620717411303424]"
    assert value({"json": None}) == b"null"
    assert value({"base64": "AP8="}) == b"\x00\xff"
    assert value({"null": True}) is None
