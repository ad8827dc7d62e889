"""Requests about topics: what is read from addresses and bodies, and what is refused."""

import base64
import json
from typing import Any

import pytest

from duolog.core.errors import KafkaError
from duolog.runtime.browsing.errors import InvalidPredicate
from duolog.runtime.browsing.writing import PartText
from duolog.server.errors import RequestRefused
from duolog.server.topics.changes import read_change, read_new_topic
from duolog.server.topics.cursors import Cursor, cursor_text, read_cursor
from duolog.server.topics.live import Allowance
from duolog.server.topics.producing import read_write
from duolog.server.topics.refusals import refusal_of
from duolog.server.topics.selections import Start, read_filters, read_selection
from duolog.server.topics.shown import text_max


def test_a_selection_begins_at_the_newest_records_by_default() -> None:
    found = read_selection({})

    assert (found.start, found.newest, found.limit) == (Start("end"), True, 50)
    assert not found.filters.selects
    assert found.filters.committed


@pytest.mark.parametrize(
    ("text", "start", "newest"),
    [
        ("beginning", Start("beginning"), False),
        ("end", Start("end"), True),
        ("17", Start("", offset=17), False),
        ("-3", Start("", before_end=3), False),
        ("@5", Start("", time_ms=5), False),
    ],
)
def test_a_start_is_a_name_an_offset_or_a_time(text: str, start: Start, *, newest: bool) -> None:
    found = read_selection({"from": text})

    assert (found.start, found.newest) == (start, newest)
    assert read_selection({"from": text, "order": "newest"}).newest


def test_a_cursor_brings_its_order() -> None:
    text = cursor_text(Cursor("oldest", {0: 2**62, 299: 7}))

    found = read_selection({"cursor": text, "order": "newest"})

    assert not found.newest
    assert found.cursor == Cursor("oldest", {0: 2**62, 299: 7})


@pytest.mark.parametrize(
    "given",
    [
        "x",
        "é",
        "",
        {"o": "up", "p": {}},
        {"o": "newest", "p": []},
        {"o": "newest", "p": {"x": 1}},
        {"o": "newest", "p": {"0": -1}},
        {"o": "newest", "p": {"0": True}},
        {"o": "newest", "p": {"0": 1.5}},
        {"o": "newest", "p": {"-1": 0}},
        {"o": "newest", "p": {"0": 2**63}},
        [],
    ],
)
def test_a_cursor_of_someone_else_is_refused(given: Any) -> None:
    text = given if isinstance(given, str) else base64.urlsafe_b64encode(json.dumps(given).encode())
    with pytest.raises(RequestRefused, match="cursor"):
        read_cursor(text if isinstance(text, str) else text.decode())


def test_followers_have_no_place() -> None:
    assert read_filters({"search": "a", "in": "key"}).parts == {"key"}
    with pytest.raises(RequestRefused, match="'from' is not a parameter"):
        read_filters({"from": "end"})


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"{",
        b'{"name": 5}',
        b'{"name": ""}',
        b'{"name": ".."}',
        b'{"name": "a/b"}',
        b'{"name": "a", "partitions": 0}',
        b'{"name": "a", "partitions": "many"}',
        b'{"name": "a", "partitions": true}',
        b'{"name": "a", "configs": []}',
        b'{"name": "a", "configs": {"x": 1}}',
        b'{"name": "a", "configs": {"x": null}}',
        b'{"name": "a", "replicas": 1}',
        b'{"name": "' + b"x" * 250 + b'"}',
    ],
)
def test_a_topic_that_cannot_be_created_is_refused(body: bytes) -> None:
    with pytest.raises(RequestRefused):
        read_new_topic(body)


def test_a_change_changes_something() -> None:
    assert read_change(b'{"partitions": "3"}').partitions == 3
    assert read_change(b'{"configs": {"a": null}, "dryRun": true}').dry_run
    for body in (b"{}", b'{"dryRun": true}', b'{"partitions": 3, "dryRun": "yes"}'):
        with pytest.raises(RequestRefused):
            read_change(body)


def test_a_record_to_be_written_is_read() -> None:
    body = {
        "key": {"text": "k"},
        "headers": [["a", None], ["a", "é"]],
        "timestamp": "1700000000000",
        "partition": 3,
    }
    found = read_write(json.dumps(body).encode())

    assert (found.key, found.value) == (PartText("STRING", "k"), PartText("NULL"))
    assert found.headers == (("a", None), ("a", "é".encode()))
    assert (found.timestamp_ms, found.partition) == (1_700_000_000_000, 3)
    for wrong in (
        {"headers": {"a": "b"}},
        {"headers": [["a", 5]]},
        {"headers": [["\ud800", "x"]]},
        {"value": {"format": "SQL"}},
        {"value": {"text": 5}},
        {"value": {"subject": "other-value"}},
        {"timestamp": -1},
        {"timestamp": "9" * 200},
        {"partition": 1.5},
    ):
        with pytest.raises(RequestRefused):
            read_write(json.dumps(wrong).encode())


def test_errors_keep_what_helps_the_reader() -> None:
    error = InvalidPredicate("no", detail="why", hint="do", line=2, column=3, length=4)

    body = refusal_of(error).body()

    assert body["position"] == {"line": 2, "column": 3, "length": 4}
    assert (body["message"], body["detail"], body["hint"]) == ("no", "why", "do")
    for code, status in ((3, 404), (36, 409), (29, 403), (17, 400), (-195, 503), (87, 400)):
        assert refusal_of(KafkaError("no", code=code)).status == status, code


def test_a_follower_gets_a_seconds_rows_at_once_and_no_more() -> None:
    now = [100.0]
    allowance = Allowance(50, lambda: now[0])

    assert [allowance.take(40), allowance.take(40), allowance.take(40)] == [40, 10, 0]
    now[0] += 0.5
    assert allowance.take(40) == 25
    now[0] += 3600
    assert allowance.take(1_000) == 50


def test_answers_with_many_records_have_shorter_texts() -> None:
    assert [text_max(0), text_max(50), text_max(100_000)] == [65_536, 65_536, 1_024]
