import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from click.testing import CliRunner
from sqlglot import Token
from sqlglot.dialects.dialect import DialectType

from duolog.cli.main import cli
from duolog.cli.sql.lineage import as_json, as_text, relations_of
from duolog.cli.sql.lint import findings_of
from duolog.cli.sql.picture import as_svg
from duolog.ksql.syntax.dialect import Ksql

FLIGHTS = """\
CREATE STREAM flights (carrier STRING KEY, flight BIGINT, delay BIGINT)
  WITH (kafka_topic='flights', value_format='JSON', partitions=2);
"""
TABLES = f"""\
{FLIGHTS}\
CREATE STREAM late AS SELECT carrier, delay + flight AS d, 1 AS one FROM flights WHERE delay > 10;
CREATE TABLE n AS SELECT carrier, COUNT(*) AS n, SUM(d) AS total, MAX(d) + SUM(one) AS m FROM late GROUP BY carrier;
CREATE STREAM named AS SELECT flight AS f, carrier AS c FROM flights PARTITION BY flight;
"""  # noqa: S608 - made of constants


def test_columns_come_from_columns() -> None:
    assert list(as_text(relations_of(TABLES))) == [
        "FLIGHTS (stream over topic flights)",
        "  CARRIER  ◀ topic flights",
        "  FLIGHT   ◀ topic flights",
        "  DELAY    ◀ topic flights",
        "",
        "LATE (stream over topic LATE)",
        "  CARRIER  ◀ FLIGHTS.CARRIER",
        "  D        ◀ FLIGHTS.DELAY, FLIGHTS.FLIGHT",
        "  ONE      ◀ -",
        "",
        "N (table over topic N)",
        "  CARRIER  ◀ LATE.CARRIER",
        "  N        ◀ -",
        "  TOTAL    ◀ LATE.D",
        "  M        ◀ LATE.D, LATE.ONE",
        "",
        "NAMED (stream over topic NAMED)",
        "  F  ◀ FLIGHTS.FLIGHT",
        "  C  ◀ FLIGHTS.CARRIER",
    ]


def test_the_bounds_of_a_window_are_no_columns() -> None:
    hourly = (
        "CREATE TABLE hourly AS SELECT carrier, SUM(delay) AS late FROM flights "
        "WINDOW TUMBLING (SIZE 1 HOUR, GRACE PERIOD 1 MINUTE) GROUP BY carrier;"
    )

    assert list(as_text(relations_of(FLIGHTS + hourly)))[-2:] == [
        "  CARRIER  ◀ FLIGHTS.CARRIER",
        "  LATE     ◀ FLIGHTS.DELAY",
    ]


def test_lineage_is_json_too() -> None:
    rows = {row["name"]: row for row in json.loads(as_json(relations_of(TABLES)))}

    assert rows["N"]["queries"] == ["CTAS_N_1"]
    assert rows["N"]["columns"][2] == {
        "name": "TOTAL",
        "type": "BIGINT",
        "key": False,
        "origins": [{"source": "LATE", "column": "D"}],
    }


def test_the_picture_has_a_box_for_each_and_a_line_for_each_origin() -> None:
    relations = relations_of(TABLES)
    picture = ET.fromstring(as_svg(relations))  # noqa: S314 - our own
    svg = "{http://www.w3.org/2000/svg}"

    boxes = [one for one in picture.iter(f"{svg}rect") if one.get("class") == "box"]
    lines = list(picture.iter(f"{svg}path"))
    assert len(boxes) == len(relations)
    assert len(lines) == sum(len(column.origins) for one in relations for column in one.columns)
    width = float(picture.get("width", "0"))
    rights = [float(one.get("x", "")) + float(one.get("width", "")) for one in boxes]
    assert max(rights) <= width
    # A box is to the right of the boxes it reads.
    x = {one.name: float(box.get("x", "")) for one, box in zip(relations, boxes, strict=True)}
    assert x["FLIGHTS"] < x["LATE"] < x["N"]


def test_boxes_of_a_column_are_equally_wide_and_a_long_type_is_cut_there() -> None:
    of = "STRUCT<A INTEGER, B ARRAY<STRUCT<C STRING, D MAP<STRING, BIGINT>>>>"
    wide = (
        f"CREATE STREAM wide (id INT KEY, a {of}) WITH (kafka_topic='wide', value_format='JSON');"
    )
    picture = ET.fromstring(as_svg(relations_of(FLIGHTS + wide)))  # noqa: S314 - our own
    svg = "{http://www.w3.org/2000/svg}"

    flights, other = (one for one in picture.iter(f"{svg}rect") if one.get("class") == "box")
    assert flights.get("width") == other.get("width")
    assert float(other.get("width", "0")) < len(of) * 8
    (whole,) = picture.iter(f"{svg}title")
    assert (
        whole.text == "STRUCT<`A` INTEGER, `B` ARRAY<STRUCT<`C` STRING, `D` MAP<STRING, BIGINT>>>>"
    )


def test_errors_and_what_is_probably_not_meant_are_found() -> None:
    text = f"""\
{FLIGHTS}\
DEFINE unused = 'x';
CREATE STREAM a AS SELECT carrier, dely FROM flights;
CREATE STREAM b AS SELECT * FROM a;
CREATE TABLE c AS SELECT carrier, COUNT(*) n FROM flights
  WINDOW TUMBLING (SIZE 1 HOUR) WHERE carrier LIKE 'AA' GROUP BY carrier;
CREATE TABLE d AS SELECT carrier, COUNT(*) n FROM flights
  WINDOW TUMBLING (SIZE 1 HOUR) -- lint: ignore window-without-grace
  GROUP BY carrier;
SELCT 1;
SELECT * FROM ${{nothing}};
"""  # noqa: S608 - as above

    assert [(one.line, one.level, one.rule) for one in findings_of(text)] == [
        (3, "warning", "unused-variable"),
        (4, "error", "statement"),
        (7, "warning", "window-without-grace"),
        (7, "warning", "like-without-wildcard"),
        (11, "error", "syntax"),
        (12, "warning", "undefined-variable"),
    ]


@pytest.mark.parametrize(
    ("size", "said"),
    [
        ("1 HOUR", "are accepted for 24 hours"),
        ("1 MONTH", "records that arrive after the end of a window are dropped"),
        ("1 DAY", "records that arrive after the end of a window are dropped"),
    ],
)
def test_the_warning_states_what_happens_to_late_records(size: str, said: str) -> None:
    text = f"{FLIGHTS}CREATE TABLE c AS SELECT carrier, COUNT(*) n FROM flights WINDOW TUMBLING (SIZE {size}) GROUP BY carrier;"  # noqa: S608

    (found,) = findings_of(text)

    assert said in found.text


def test_valid_files_have_no_findings_and_the_exit_status_shows_it(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.sql", tmp_path / "bad.sql"
    good.write_text(TABLES)
    bad.write_text("SELCT 1;")

    right, found = (
        CliRunner().invoke(cli, ["sql", "lint", str(path)], standalone_mode=False)
        for path in (good, bad)
    )

    assert (right.return_value, right.output) == (0, "")
    assert found.return_value == 1
    assert found.output.startswith(f"{bad}:1:1: error: ")
    assert found.output.endswith(" [syntax]\n")


def test_an_unknown_column_is_found_with_the_one_that_was_meant() -> None:
    query = "CREATE STREAM s AS SELECT carrier, delai FROM flights;"

    (found,) = findings_of(f"{FLIGHTS}{query}")

    assert found.level == "error"
    assert found.text == "SELECT column 'DELAI' cannot be resolved.; hint: Did you mean DELAY?"


@pytest.mark.parametrize("blank", ["", "\n", "\n \n  ", "   "])
def test_places_are_positions_in_the_file(blank: str) -> None:
    """Each statement is checked by itself, and its places are shifted to where it is."""
    wrong = "CREATE STREAM\n  a AS SELECT nothing FROM b;"
    before = f"{blank}DEFINE x = 'y'; CREATE TYPE t AS INT;{blank}"

    (alone,) = findings_of(wrong)
    shifted = [one for one in findings_of(before + wrong) if one.level == "error"]
    text = before + wrong
    line, column = before.count("\n"), len(before) - before.rfind("\n") - 1

    assert [(one.text, one.line) for one in shifted] == [(alone.text, alone.line + line)]
    assert shifted[0].column == alone.column + (column if alone.line == 1 else 0), text


def test_the_work_grows_with_the_text_if_it_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    tokenize = Ksql.tokenize

    def counted(self: Ksql, sql: str, dialect: DialectType = None) -> list[Token]:
        read.append(len(sql))
        return tokenize(self, sql, dialect)

    monkeypatch.setattr(Ksql, "tokenize", counted)
    text = " ".join(f"CREATE TYPE t{number} AS INT;" for number in range(100))

    assert findings_of(text) == []
    assert sum(read) <= len(text)
