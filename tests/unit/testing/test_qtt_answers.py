"""What a SELECT answers over the topics of a case, and how that is compared."""

from typing import Any

import pytest
from sqlglot import exp

from duolog.ksql.session import SqlSession
from duolog.plan.types import DOUBLE, INT, STRING
from duolog.runtime.sql.duck.selects import ResultColumn
from duolog.testing.qtt.answers import Answering, ensure_answer
from duolog.testing.qtt.conditions import Mismatch
from duolog.testing.qtt.topics import Topics

COLUMNS = [ResultColumn("ID", STRING), ResultColumn("N", INT)]
HEADER = {"header": {"schema": "`ID` STRING KEY, `N` INTEGER"}}


def rows(*found: tuple[object, ...]) -> list[dict[str, Any]]:
    return [HEADER, *({"row": {"columns": list(row)}} for row in found)]


@pytest.fixture
def answering() -> Answering:
    session = SqlSession(given={"auto.offset.reset": "earliest"})
    with_json = "WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON')"
    list(session.run(f"CREATE TABLE T (ID STRING PRIMARY KEY, N INT) {with_json};"))
    list(session.run(f"CREATE STREAM S (ID STRING KEY, N INT) {with_json};"))
    topics = Topics()
    for key, value in ((b"a", b'{"N":1}'), (b"b", b'{"N":2}'), (b"a", b'{"N":3}'), (b"b", None)):
        topics.write("t", key, value, 0)
    return Answering(session, topics)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("SELECT * FROM T;", [("a", 3)]),
        ("SELECT * FROM S;", [("a", 1), ("b", 2), ("a", 3)]),
        ("SELECT * FROM S WHERE N > 1;", [("b", 2), ("a", 3)]),
        ("SELECT * FROM T WHERE ID = 'c';", []),
    ],
)
def test_a_table_answers_its_last_rows_and_a_stream_all_records(
    answering: Answering, text: str, wanted: list[tuple[object, ...]]
) -> None:
    ((select, _),) = answering.session.read(text)
    assert isinstance(select, exp.Query)

    columns, found = answering.answer(select)

    assert [column.name for column in columns] == ["ID", "N"]
    assert found == wanted


def test_rows_are_the_same_in_any_order_and_keys_as_plain_columns() -> None:
    ensure_answer(COLUMNS, [("a", 1), ("b", 2)], rows(("b", 2), ("a", 1)), in_order=False)


def test_where_the_order_counts_another_one_is_another_answer() -> None:
    with pytest.raises(Mismatch, match="row 0"):
        ensure_answer(COLUMNS, [("a", 1), ("b", 2)], rows(("b", 2), ("a", 1)), in_order=True)


@pytest.mark.parametrize("found", [[("a", 1)], [("a", 1), ("a", 1)], [("a", 1), ("b", None)]])
def test_a_row_too_few_or_another_one_is_another_answer(found: list[tuple[object, ...]]) -> None:
    with pytest.raises(Mismatch):
        ensure_answer(COLUMNS, found, rows(("a", 1), ("b", 2)), in_order=False)


def test_a_column_of_another_name_or_type_is_another_answer() -> None:
    other = [ResultColumn("ID", STRING), ResultColumn("N", DOUBLE)]

    with pytest.raises(Mismatch, match="columns"):
        ensure_answer(other, [("a", 1.0)], rows(("a", 1)), in_order=False)
