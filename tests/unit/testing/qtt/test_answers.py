"""Answers of a SELECT over the topics of a case, and their comparison."""

from typing import Any

import pytest
from sqlglot import exp

from duolog.ksql.session import SqlSession
from duolog.plan.partitioner import partition_of
from duolog.plan.types import DOUBLE, INT, STRING
from duolog.runtime.sql.duck.clauses import ResultColumn
from duolog.testing.qtt.answers import Answer, Answering, ensure_answer
from duolog.testing.qtt.conditions import Mismatch
from duolog.testing.qtt.topics import Topics

COLUMNS = [ResultColumn("ID", STRING), ResultColumn("N", INT)]
HEADER = {"header": {"schema": "`ID` STRING KEY, `N` INTEGER"}}


def rows(*found: tuple[object, ...]) -> list[dict[str, Any]]:
    return [HEADER, *({"row": {"columns": list(row)}} for row in found)]


def in_four(_topic: str, key: bytes | None) -> int:
    """Return the partition of a key, of four."""
    return 0 if key is None else partition_of(key, 4)


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
def test_a_table_returns_its_last_rows_and_a_stream_all_records(
    answering: Answering, text: str, wanted: list[tuple[object, ...]]
) -> None:
    ((select, _),) = answering.session.read(text)
    assert isinstance(select, exp.Query)

    found = answering.answer(select)

    assert [column.name for column in found.columns] == ["ID", "N"]
    assert found.rows == wanted


@pytest.mark.parametrize(("mode", "wanted"), [("strict", ["b", "y", "d"]), ("", ["b", "c", "d"])])
def test_limit_returns_the_first_rows_by_partition_if_strict_else_by_key(
    mode: str, wanted: list[str]
) -> None:
    session = SqlSession(given={"ksql.compatibility": mode})
    with_json = "WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON')"
    list(session.run(f"CREATE TABLE T (ID STRING PRIMARY KEY, N INT) {with_json};"))
    topics = Topics(partition=in_four)
    for key in (b"y", b"d", b"c", b"b"):
        topics.write("t", key, b'{"N":1}', 0)
    ((select, _),) = session.read("SELECT ID FROM T LIMIT 3;")
    assert isinstance(select, exp.Query)

    found = Answering(session, topics).answer(select)

    assert {one.key: one.partition for one in topics.written["t"]} == {
        b"b": 0,
        b"y": 0,
        b"d": 1,
        b"c": 2,
    }
    assert [row[0] for row in found.rows] == wanted


def test_offsets_count_per_partition() -> None:
    topics = Topics(partition=in_four)

    given = [("t", b"x"), ("t", None), ("t", b"x"), ("u", b"x")]
    written = [topics.write(topic, key, b"", 0) for topic, key in given]

    assert [(one.topic, one.partition, one.offset) for one in written] == [
        ("t", 2, 0),
        ("t", 0, 0),
        ("t", 2, 1),
        ("u", 2, 0),
    ]


def test_rows_are_compared_in_any_order_with_keys_as_plain_columns() -> None:
    ensure_answer(Answer(COLUMNS, [("a", 1), ("b", 2)]), rows(("b", 2), ("a", 1)), in_order=False)


def test_if_the_order_matters_another_order_is_a_difference() -> None:
    with pytest.raises(Mismatch, match="row 0"):
        ensure_answer(
            Answer(COLUMNS, [("a", 1), ("b", 2)]), rows(("b", 2), ("a", 1)), in_order=True
        )


@pytest.mark.parametrize("found", [[("a", 1)], [("a", 1), ("a", 1)], [("a", 1), ("b", None)]])
def test_a_missing_or_different_row_is_a_difference(found: list[tuple[object, ...]]) -> None:
    with pytest.raises(Mismatch):
        ensure_answer(Answer(COLUMNS, found), rows(("a", 1), ("b", 2)), in_order=False)


def test_a_column_with_another_name_or_type_is_a_difference() -> None:
    other = [ResultColumn("ID", STRING), ResultColumn("N", DOUBLE)]

    with pytest.raises(Mismatch, match="columns"):
        ensure_answer(Answer(other, [("a", 1.0)]), rows(("a", 1)), in_order=False)


def test_answers_include_deletions_the_end_and_the_query_id() -> None:
    found = Answer(
        COLUMNS, [("a", 1), ("a", None)], "transient_T_1", limited=True, deleted=frozenset({1})
    )
    parts: list[dict[str, Any]] = [
        {"header": {"queryId|starts_with": "transient_"}},
        {"row": {"columns": ["a", 1]}},
        {"row": {"columns": ["a", None], "tombstone": True}},
        {"finalMessage": "Limit Reached"},
    ]

    ensure_answer(found, parts, in_order=True)
    others: list[dict[str, Any]] = [
        {"header": {"queryId|starts_with": "SCALABLE"}},
        {"finalMessage": "Query Completed"},
    ]
    for other in others:
        with pytest.raises(Mismatch):
            ensure_answer(found, [other, *parts[1:3]], in_order=True)
    with pytest.raises(Mismatch, match="row 1"):
        ensure_answer(found, [parts[1], *rows(("a", None))], in_order=True)


def test_header_columns_are_moved_in_the_answer() -> None:
    header: dict[str, Any] = {"header": {"schema": "`N` INTEGER HEADER('n'), `ID` STRING"}}

    ensure_answer(Answer(COLUMNS, []), [header], in_order=False)
