"""`duolog schema infer` as a user calls it, over records that a test supplies."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from duolog.cli.commands import schema_infer
from duolog.cli.main import main

Run = Callable[..., tuple[int, str, str]]
RECORDS = [
    b'{"user": "ann", "at": "2024-02-29T10:00:00Z", "by": {"1": 1, "2": 2}}',
    b'{"user": null, "pages": 3}',
    b"hello",
    None,
]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def infer(*words: str, records: list[bytes | None] = RECORDS) -> tuple[int, str, str]:
        def read(_topic: str, _cluster: Any, start: Any, limit: int, seen: Any) -> None:
            asked.append((start.before_end, limit))
            seen.add_all(records)

        monkeypatch.setattr(schema_infer, "_read", read)
        # A broker elsewhere has no default registry.
        status = main(["schema", "infer", "visits", "-b", "broker.example:9092", *words])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    asked: list[tuple[int | None, int]] = []
    infer.asked = asked  # type: ignore[attr-defined]
    return infer


def test_the_schema_is_printed_apart_from_the_evidence(run: Run) -> None:
    status, out, err = run()

    assert status == 0
    schema = json.loads(out)
    assert schema["name"] == "Visits"
    assert {field["name"]: field["type"] for field in schema["fields"]} == {
        "user": ["null", "string"],
        "at": ["null", "string"],
        "by": ["null", {"type": "map", "values": "int"}],
        "pages": ["null", "int"],
    }
    assert "read 2 records; skipped: 1 not JSON, 1 without a value" in err
    assert "looks like a datetime" in err


def test_fields_are_printed_in_the_other_forms(run: Run) -> None:
    _, out, _ = run("-o", "json")

    assert json.loads(out)[0] == {
        "path": "user",
        "type": "str | None",
        "records": 1,
        "of": 2,
        "nulls": 1,
        "note": "",
    }


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--format", "protobuf"), "  optional string user = 1;"),
        (("--format", "json"), '  "title": "Visits",'),
        (("--name", "Seen"), '  "name": "Seen",'),
        (("--logical",), '          "logicalType": "timestamp-micros"'),
    ],
)
def test_options_change_the_schema(run: Run, words: tuple[str, ...], line: str) -> None:
    _, out, _ = run(*words)

    assert line in out.splitlines()


def test_the_first_or_the_last_records_are_read(run: Run) -> None:
    run()
    run("--records", "5", "--latest")

    assert run.asked == [(None, 1000), (5, 5)]  # type: ignore[attr-defined]


def test_a_topic_without_usable_records_is_an_error(run: Run) -> None:
    status, out, err = run(records=[b"hello", b"\0\0\0\0\1x"])
    empty = run(records=[])

    assert status != 0
    assert out == ""
    assert 'cannot propose a schema for topic "visits": no record of it can be used' in err
    assert "1 not JSON, 1 with the id of a schema, but without a registry" in err
    assert "The topic has no records." in empty[2]
