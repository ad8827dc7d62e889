"""Answers in each form."""

import datetime as dt

import pytest

from duolog.cli.sql.answer_formats import write
from duolog.runtime.sql.answers import Rows

NESTED = "ARRAY<STRUCT<`TIME` INTEGER, `AT` TIME, `BY` MAP<STRING, TIME>>>"


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ("json", [
            '{"ID":1,"AT":"10:15:30.120","ALL":[{"TIME":5,"AT":"00:00","BY":{"a":"23:59:59.999","b":null}}]}',
            '{"ID":86400000,"AT":null,"ALL":null}',
        ]),
        ("csv", [
            "ID,AT,ALL",
            '1,10:15:30.120,"[{""TIME"":5,""AT"":""00:00"",""BY"":{""a"":""23:59:59.999"",""b"":null}}]"',
            "86400000,,",
        ]),
        ("table", [
            " ID       | AT           | ALL",
            "----------+--------------+---------------------------------------------------",
            "        1 | 10:15:30.120 | [{TIME=5, AT=00:00, BY={a=23:59:59.999, b=null}}]",
            " 86400000 | null         | null",
            "(2 rows)",
        ]),
    ],
)  # fmt: skip
def test_times_of_a_day_are_written_as_times(
    form: str, message: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    columns = (("ID", "INTEGER"), ("AT", "TIME"), ("ALL", NESTED))
    inside = {"TIME": 5, "AT": 0, "BY": {"a": 86_399_999, "b": None}}
    rows: list[tuple[object, ...]] = [(1, 36_930_120, [inside]), (86_400_000, None, None)]

    assert write(Rows(columns, iter(rows)), form) == 2

    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == message


def test_a_value_that_is_not_a_time_of_day_stays_a_number(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = iter([(-1, dt.date(2024, 5, 1)), (86_400_000, None)])

    write(Rows((("AT", "TIME"), ("ON", "DATE")), rows), "csv")

    assert capsys.readouterr().out.splitlines() == ["AT,ON", "-1,2024-05-01", "86400000,"]
