"""Rows to insert: their JSON, and requests that wait for acknowledgements."""

import datetime as dt
import json
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from threading import Thread
from typing import Any, ClassVar

import numpy as np
import pytest

import duolog
from duolog.client.errors import DataError, OperationalError
from duolog.client.requests import ROWS_PER_REQUEST, insert_lines


class _Server(BaseHTTPRequestHandler):
    """Reads a request to its end, and then acknowledges up to `acknowledged_max` rows."""

    protocol_version = "HTTP/1.1"
    requests: ClassVar[list[list[bytes]]] = []
    acknowledged_max = 10**9

    def do_POST(self) -> None:
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        lines = body.splitlines()
        self.requests.append(lines)
        count = min(len(lines) - 1, self.acknowledged_max)
        answer = b"".join(b'{"status":"ok","seq":%d}\n' % at for at in range(count))
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - of the library
        pass


@contextmanager
def serving(acknowledged_max: int = 10**9) -> Iterator[tuple[str, list[list[bytes]]]]:
    kept: list[list[bytes]] = []
    handler = type("Handler", (_Server,), {"requests": kept, "acknowledged_max": acknowledged_max})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", kept
        server.shutdown()
        thread.join()


def test_a_request_has_so_few_rows_that_its_acknowledgements_can_wait() -> None:
    """A server that cannot send acknowledgements stops reading: both sides would wait."""
    rows = ({"ID": number} for number in range(2 * ROWS_PER_REQUEST + 1))

    with serving() as (url, requests), duolog.connect(url) as connection:
        count = connection.insert("s", rows)

    assert count == 2 * ROWS_PER_REQUEST + 1
    assert [len(lines) - 1 for lines in requests] == [ROWS_PER_REQUEST, ROWS_PER_REQUEST, 1]
    assert {lines[0] for lines in requests} == {b'{"target":"s"}'}
    ids = [json.loads(line)["ID"] for lines in requests for line in lines[1:]]
    assert ids == list(range(count))


@pytest.mark.parametrize("rows", [[(1, 2)], {"ID": 1}])
def test_rows_without_names_of_columns_are_an_error_that_shows_their_form(rows: Any) -> None:
    with (
        serving() as (url, _),
        duolog.connect(url) as connection,
        pytest.raises(DataError, match="a row to insert is of type") as refused,
    ):
        connection.insert("s", rows)

    assert '[{"ID": 1}]' in refused.value.hint


def test_no_rows_are_one_request_which_finds_that_there_is_no_stream() -> None:
    with serving() as (url, requests), duolog.connect(url) as connection:
        assert connection.insert("s", []) == 0

    assert requests == [[b'{"target":"s"}']]


def test_rows_that_are_not_acknowledged_are_an_error() -> None:
    with (
        serving(acknowledged_max=2) as (url, _),
        duolog.connect(url) as connection,
        pytest.raises(OperationalError) as raised,
    ):
        connection.insert("s", [{"ID": number} for number in range(5)])

    assert "2 of 5" in raised.value.detail


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Decimal("12.30"), "12.30"),
        (Decimal("1E+2"), "100"),
        (Decimal("12345678901234567890.12"), "12345678901234567890.12"),
        (1.5, "1.5"),
        (np.float32(1.5), "1.5"),
        (np.int64(7), "7"),
        (True, "true"),
        (None, "null"),
        ("it's \u2028 é", '"it\'s \u2028 é"'),
        (b"\x00\xff", '"AP8="'),
        (bytearray(b"\x00"), '"AA=="'),
        (dt.date(2026, 1, 31), '"2026-01-31"'),
        (dt.datetime(2026, 1, 2, 3, tzinfo=dt.UTC), '"2026-01-02T03:00:00.000"'),
        ([Decimal("0.5"), None], "[0.5,null]"),
        ({"a": [{"b": Decimal("0.5")}]}, '{"a":[{"b":0.5}]}'),
    ],
)
def test_values_are_written_with_all_their_digits(value: object, text: str) -> None:
    (line,) = islice(insert_lines([{"X": value}]), 1)

    assert line.decode() == f'{{"X":{text}}}\n'


@pytest.mark.parametrize("value", [object(), float("nan"), Decimal("Infinity"), {1: 2}])
def test_a_value_that_cannot_be_inserted_is_an_error_of_the_client(value: object) -> None:
    with pytest.raises(DataError, match='column "X"'):
        list(insert_lines([{"X": value}]))
