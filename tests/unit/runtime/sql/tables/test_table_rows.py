"""Rows of a table, from records without a broker."""

import json
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pytest

from duolog.ksql.catalog.catalog import SourceInfo
from duolog.ksql.session import SqlSession
from duolog.runtime.sql.tables.stored_rows import Undecodable, number_of
from duolog.runtime.sql.tables.table_rows import TableRows
from duolog.serde.row import Row

_TABLES = """
CREATE TABLE texts (id STRING PRIMARY KEY, v INT) WITH (kafka_topic='t', value_format='JSON');
CREATE TABLE numbers (id BIGINT PRIMARY KEY, v INT) WITH (kafka_topic='t', value_format='JSON');
CREATE TABLE places (area STRING PRIMARY KEY, spot INT PRIMARY KEY, v INT)
  WITH (kafka_topic='t', format='JSON');
CREATE TABLE hourly (id STRING PRIMARY KEY, v INT)
  WITH (kafka_topic='t', value_format='JSON', window_type='TUMBLING', window_size='1 SECOND');
CREATE TABLE brief (id STRING PRIMARY KEY, v INT)
  WITH (kafka_topic='t', value_format='JSON', ttl='10 SECONDS');
CREATE TABLE timed (id STRING PRIMARY KEY, v BIGINT)
  WITH (kafka_topic='t', value_format='JSON', timestamp='v');
"""


@dataclass
class Record:
    """A record as confluent_kafka passes it."""

    key_bytes: bytes | None
    value_bytes: bytes | None
    at: int = 0
    time_ms: int = 1
    number: int = 0

    def key(self) -> bytes | None:
        return self.key_bytes

    def value(self) -> bytes | None:
        return self.value_bytes

    def headers(self) -> list[tuple[str, bytes]]:
        return []

    def timestamp(self) -> tuple[int, int]:
        return 1, self.time_ms

    def partition(self) -> int:
        return self.number

    def offset(self) -> int:
        return self.at


def source(name: str) -> SourceInfo:
    session = SqlSession()
    list(session.run(_TABLES))
    return session.catalog.sources[name]


def rows_of(name: str, records: Iterable[Record], *, checked: bool = False) -> TableRows:
    rows = TableRows(source(name), checked=checked)
    take_all(rows, records)
    return rows


def take_all(rows: TableRows, records: Iterable[Record]) -> None:
    with rows.lock:
        rows.take_all(records)
        rows.expire()


def value(v: object) -> bytes:
    return json.dumps({"V": v}).encode()


def shown(rows: Iterable[Row] | None) -> list[Any]:
    """Return the columns without metadata."""
    assert rows is not None
    return [row[:-4] for row in rows]


def test_the_latest_record_of_a_key_is_its_row() -> None:
    rows = rows_of(
        "TEXTS", [Record(b"a", value(1)), Record(b"b", value(2)), Record(b"a", value(3), at=5)]
    )

    assert rows.find([("a",), ("x",), ("b",)]) == [
        ("a", 3, "t", 1, 0, 5),
        ("b", 2, "t", 1, 0, 0),
    ]
    take_all(rows, [Record(b"a", None), Record(None, value(9))])
    assert shown(rows.everything()) == [("b", 2)]
    assert len(rows) == 1


@pytest.mark.parametrize("number", [0, -1, 2**63 - 1, -(2**63)])
def test_keys_that_are_numbers_keep_their_sign(number: int) -> None:
    rows = rows_of("NUMBERS", [Record(struct.pack(">q", number), value(1))])

    assert shown(rows.find([(number,)])) == [(number, 1)]
    assert rows.find([(number ^ 1,)]) == []


def test_a_range_is_sorted_by_value() -> None:
    numbers = [5, -3, 0, 7, -(2**40), 2**40]
    rows = rows_of("NUMBERS", [Record(struct.pack(">q", n), value(n % 9)) for n in numbers])

    assert [key for key, _ in shown(rows.between((-3,), (7,)))] == [-3, 0, 5, 7]
    assert [key for key, _ in shown(rows.between(None, None))] == sorted(numbers)
    take_all(rows, [Record(struct.pack(">q", 6), value(6)), Record(struct.pack(">q", 0), None)])
    assert [key for key, _ in shown(rows.between((-3,), (7,)))] == [-3, 5, 6, 7]


def test_rows_of_the_first_columns_of_a_key_are_sorted_by_the_others() -> None:
    keys = [("n", 2), ("n", -1), ("nn", 1), ("m", 3)]
    rows = rows_of(
        "PLACES",
        [Record(json.dumps({"SPOT": s, "AREA": a}).encode(), value(1)) for a, s in keys],
    )

    assert shown(rows.find([("n",)])) == [("n", -1, 1), ("n", 2, 1)]
    assert shown(rows.find([("nn", 1)])) == [("nn", 1, 1)]
    assert shown(rows.between(("m",), ("n",))) == [("m", 3, 1), ("n", -1, 1), ("n", 2, 1)]


def test_keys_with_other_bytes_for_the_same_columns_are_one_row() -> None:
    rows = rows_of(
        "PLACES",
        [
            Record(b'{"AREA":"n","SPOT":1}', value(1)),
            Record(b'{ "SPOT": 1, "AREA": "n" }', value(2)),
        ],
    )

    assert shown(rows.everything()) == [("n", 1, 2)]


def test_windows_of_a_key_are_sorted_by_their_start() -> None:
    records = [
        Record(b"a" + struct.pack(">q", start), value(start)) for start in (3000, 1000, 2000)
    ]
    rows = rows_of("HOURLY", [*records, Record(b"ab" + struct.pack(">q", 1000), value(0))])

    assert shown(rows.find([("a",)])) == [
        ("a", start, start + 1000, start) for start in (1000, 2000, 3000)
    ]
    take_all(rows, [Record(b"a" + struct.pack(">q", 2000), None)])
    assert shown(rows.find([("a",)])) == [("a", 1000, 2000, 1000), ("a", 3000, 4000, 3000)]


def test_an_undecodable_value_is_found_by_its_reader_and_skipped_if_checked() -> None:
    records = [
        Record(b"a", value(1)),
        Record(b"a", b"no JSON"),
        Record(b"b", value(2)),
        Record(b"c", value("no INT")),
    ]
    raw, checked = rows_of("TEXTS", records), rows_of("TEXTS", records, checked=True)

    assert shown(raw.find([("b",)])) == [("b", 2)]
    with pytest.raises(Undecodable):
        raw.find([("a",)])
    assert raw.is_undecodable
    assert sorted(shown(checked.everything()), key=str) == [("a", 1), ("b", 2)]
    assert checked.report_skipped() == 2
    assert checked.report_skipped() == 0


def test_undecodable_keys_and_null_values_are_no_rows() -> None:
    rows = rows_of(
        "TEXTS", [Record(b"\xff\xfe", value(1)), Record(b"a", b"null"), Record(b"b", value(2))]
    )
    numbers = rows_of("NUMBERS", [Record(b"short", value(1))])

    assert shown(rows.everything()) == [("b", 2)]
    assert rows.find([("a",)]) == []
    assert list(numbers.everything()) == []
    assert numbers.report_skipped() == 1


def test_expired_rows_are_removed_by_the_time_of_their_row() -> None:
    rows = rows_of("BRIEF", [Record(b"a", value(1), time_ms=1_000)])
    take_all(rows, [Record(b"b", value(2), time_ms=10_999)])
    assert len(rows) == 2

    take_all(rows, [Record(b"c", value(3), time_ms=11_000)])

    assert sorted(shown(rows.everything()), key=str) == [("b", 2), ("c", 3)]


def test_a_row_without_a_timestamp_in_its_column_is_undecodable() -> None:
    rows = rows_of("TIMED", [Record(b"a", value(77)), Record(b"b", value(None))])

    assert rows.find([("a",)]) == [("a", 77, "t", 77, 0, 0)]
    with pytest.raises(Undecodable):
        rows.find([("b",)])


def test_changes_bring_a_copy_up_to_date() -> None:
    rows = rows_of("TEXTS", [Record(b"a", value(1), at=0), Record(b"b", value(1), at=1)])
    copy: dict[int, Row] = {}

    def bring() -> bool:
        changes = rows.changes(copy)
        if changes.whole:
            copy.clear()
        for number in changes.removed:
            del copy[number]
        for key, entry in changes.added:
            (row,) = rows.decoded([(key, entry)])
            assert number_of(entry) not in copy
            copy[number_of(entry)] = row
        return changes.whole

    assert bring()
    take_all(
        rows,
        [
            Record(b"a", value(2), at=2, number=3),
            Record(b"a", value(3), at=3),
            Record(b"c", value(3), at=4),
            Record(b"c", None, at=5),
            Record(b"b", None, at=6),
            Record(b"b", value(9), at=7),
        ],
    )

    assert not bring()
    assert sorted(shown(copy.values()), key=str) == [("a", 3), ("b", 9)]
    assert not rows.changes(copy).removed
    rows.forget_copy()
    assert bring()
    assert sorted(shown(copy.values()), key=str) == [("a", 3), ("b", 9)]


def test_another_copy_gets_all_rows_and_not_the_changes_of_the_first() -> None:
    rows = rows_of("TEXTS", [Record(b"a", value(1), at=0)])
    assert rows.changes("first").whole
    take_all(rows, [Record(b"b", value(1), at=1)])

    changes = rows.changes("second")

    assert changes.whole
    assert len(list(changes.added)) == 2
    assert rows.changes("first").whole, "the changes since its last call were collected for another"


def test_the_changes_of_a_forgotten_copy_take_no_memory() -> None:
    rows = rows_of("TEXTS", [Record(b"a", value(1))])
    rows.changes("copy")

    take_all(rows, [Record(b"%d" % at, value(1), at=at) for at in range(50_000)])

    changes = rows.changes("copy")
    assert changes.whole
    assert len(list(changes.added)) == 50_001


def test_a_number_that_is_too_large_for_the_key_is_not_found() -> None:
    rows = rows_of("NUMBERS", [Record(struct.pack(">q", 1), value(1))])
    places = rows_of("PLACES", [Record(b'{"AREA":"n","SPOT":1}', value(1))])

    assert shown(rows.find([(2**63,), (1,), (-(2**70),)])) == [(1, 1)]
    assert places.find([("n", 2**64)]) == []


def test_too_many_rows_are_none_at_all() -> None:
    rows = rows_of("NUMBERS", [Record(struct.pack(">q", n), value(n)) for n in range(10)])
    places = rows_of("PLACES", [Record(b'{"AREA":"n","SPOT":%d}' % n, value(n)) for n in range(10)])

    assert rows.between((2,), (5,), 3) is None
    assert len(shown(rows.between((2,), (5,), 4))) == 4
    assert rows.find([(1,), (2,), (3,)], 2) is None
    assert len(shown(rows.find([(1,), (2,), (99,)], 2))) == 2
    assert places.find([("n",)], 9) is None
    assert len(shown(places.find([("n",)], 10))) == 10
    assert rows.between((2**63,), None) is None


@pytest.mark.parametrize("name", ["TEXTS", "NUMBERS", "HOURLY", "BRIEF"])
@pytest.mark.parametrize("copied", [False, True], ids=["alone", "copied"])
def test_records_that_are_taken_together_make_the_same_rows_and_changes(
    name: str,
    copied: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    window = {"HOURLY": bytes(8), "NUMBERS": b""}.get(name, b"")
    keys = [b"%08d" % number + window for number in (1, 2, 1, 3, 2)]
    records = [Record(key, value(at), at, at * 1000, at % 2) for at, key in enumerate(keys)]
    records += [Record(keys[0], None, 9), Record(None, value(1)), Record(b"?" * 3, None)]
    copy = object()
    together, apart = TableRows(source(name)), TableRows(source(name))
    for rows in (together, apart):
        rows.expect(1_000)
        if copied:
            rows.changes(copy)
    take_all(together, records)
    with apart.lock:
        for record in records:
            apart.take(record)
        apart.expire()

    assert len(together) == len(apart) > 0
    assert list(together.everything()) == list(apart.everything())
    found = [rows.changes(copy) for rows in (together, apart)]
    assert [(one.whole, sorted(one.removed), sorted(one.added)) for one in found[:1]] == [
        (one.whole, sorted(one.removed), sorted(one.added)) for one in found[1:]
    ]
