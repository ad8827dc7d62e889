import json

import pytest

from duolog.cli.terminal.output import Column, help_text, write_rows

COLUMNS = (Column("topic", "string", "its name"), Column("records", "bigint", "how many"))
ROWS: list[dict[str, object]] = [
    {"topic": "orders", "records": 12},
    {"topic": "a,b", "records": None},
]


def test_json_is_one_array(capsys: pytest.CaptureFixture[str]) -> None:
    write_rows(ROWS, COLUMNS, "json")

    assert json.loads(capsys.readouterr().out) == ROWS


def test_jsonl_is_one_object_per_line(capsys: pytest.CaptureFixture[str]) -> None:
    write_rows(ROWS, COLUMNS, "jsonl")

    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == ROWS


def test_csv_has_a_header_quotes_and_empty_nulls(capsys: pytest.CaptureFixture[str]) -> None:
    write_rows(ROWS, COLUMNS, "csv")

    assert capsys.readouterr().out == 'topic,records\norders,12\n"a,b",\n'


def test_a_table_without_rows_still_names_its_columns(capsys: pytest.CaptureFixture[str]) -> None:
    write_rows([], COLUMNS, "table")

    assert capsys.readouterr().out == "TOPIC  RECORDS\n"


def test_help_shows_name_type_and_meaning_of_each_column() -> None:
    assert "records  bigint  how many" in help_text(COLUMNS)
