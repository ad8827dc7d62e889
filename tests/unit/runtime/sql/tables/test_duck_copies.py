"""Copies of tables in DuckDB: their end, and their errors."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from duolog.ksql.catalog.catalog import SourceInfo
from duolog.ksql.errors import SqlError
from duolog.ksql.session import SqlSession
from duolog.runtime.sql.duck import tables
from duolog.runtime.sql.tables.duck_copies import DuckCopies
from duolog.runtime.sql.tables.table_rows import TableRows
from unit.runtime.sql.tables.test_table_rows import Record
from waiting import DEADLINE_S

_TABLE = (
    "CREATE TABLE t (id STRING PRIMARY KEY, v INT) WITH (kafka_topic='t', value_format='JSON');"
)


@pytest.fixture(scope="module")
def source() -> SourceInfo:
    session = SqlSession()
    list(session.run(_TABLE))
    return session.catalog.sources["T"]


def names(copies: DuckCopies) -> list[str]:
    found = copies.database.cursor().execute("SELECT table_name FROM duckdb_tables()").fetchall()
    return sorted(str(name) for (name,) in found)


def ids(copies: DuckCopies, name: str) -> list[str]:
    found = copies.database.cursor().execute(f"SELECT c0 FROM {name}").fetchall()
    return sorted(str(one) for (one,) in found)


def test_rows_that_are_dropped_while_a_copy_is_made_are_dropped_after_it(
    source: SourceInfo,
) -> None:
    """The garbage collector may end an answer in the thread that copies, at any point."""
    copies = DuckCopies()
    stream, rows = copies.new(source), TableRows(source)
    changes = rows.changes

    def collected(copy: object) -> object:
        copies.drop(stream)
        return changes(copy)

    rows.changes = collected  # type: ignore[method-assign, assignment]
    done = threading.Event()

    def copy() -> None:
        copies.copied(source, rows)
        done.set()

    threading.Thread(target=copy, daemon=True).start()

    assert done.wait(30)
    assert names(copies) == ["t1"]
    copies.close()


def test_a_copy_of_rows_that_were_forgotten_before_is_not_kept(source: SourceInfo) -> None:
    """A table may be dropped while an answer waits for its topic."""
    copies = DuckCopies()
    rows = TableRows(source)

    copies.forget(rows)
    name = copies.copied(source, rows)
    assert names(copies) == [name], "the answer reads it"
    other = copies.copied(source, TableRows(source))

    assert names(copies) == [other]
    copies.close()


def test_an_answer_whose_rows_are_forgotten_meanwhile_has_all_of_them(source: SourceInfo) -> None:
    """A statement of another client may drop or replace the table between copy and copy."""
    copies = DuckCopies()
    rows = TableRows(source)
    with rows.lock:
        rows.take(Record(b"a", b'{"V": 1}'))
    copies.copied(source, rows)

    copies.forget(rows)
    name = copies.copied(source, rows)

    assert ids(copies, name) == ["a"]
    copies.close()


def test_a_copy_that_is_dropped_before_its_answer_uses_it_is_made_again(
    source: SourceInfo,
) -> None:
    copies = DuckCopies()
    rows = TableRows(source)
    with rows.lock:
        rows.take(Record(b"a", b'{"V": 1}'))
    copies.copied(source, rows)
    using = copies._using  # noqa: SLF001 - the moment between finding a copy and its lock

    def late(copy: Any) -> Any:
        copies._using = using  # type: ignore[method-assign]  # noqa: SLF001
        copies.forget(rows)
        return using(copy)

    copies._using = late  # type: ignore[method-assign]  # noqa: SLF001
    name = copies.copied(source, rows)

    assert ids(copies, name) == ["a"]
    copies.close()


def test_a_copy_that_does_not_fit_into_the_memory_is_an_error_of_the_query(
    source: SourceInfo,
) -> None:
    copies = DuckCopies()
    table = copies.new(source)
    copies.database.execute("SET GLOBAL memory_limit = '1MB'")
    row = ("k" * 1000, 1, "t", 1, 0, 0)

    with pytest.raises(SqlError, match="memory"):
        copies.add(table, [row] * 20_000)

    copies.database.execute("RESET GLOBAL memory_limit")
    copies.drop(table)
    assert names(copies) == []
    copies.close()


def test_copies_of_other_tables_are_made_while_one_takes_long(source: SourceInfo) -> None:
    copies, slow, other = DuckCopies(), TableRows(source), TableRows(source)
    started, may_go_on = threading.Event(), threading.Event()
    changes = slow.changes

    def held(copy: object) -> object:
        started.set()
        assert may_go_on.wait(DEADLINE_S)
        return changes(copy)

    slow.changes = held  # type: ignore[method-assign, assignment]
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(copies.copied, source, slow)
        assert started.wait(DEADLINE_S)

        assert pool.submit(copies.copied, source, other).result(DEADLINE_S) == "t1"
        stream = copies.new(source)
        copies.add(stream, [("k", 1, "t", 1, 0, 0)])
        copies.drop(stream)
        copies.forget(slow)
        assert names(copies) == ["t0", "t1"], "the copy that is being made is dropped after it"

        may_go_on.set()
        assert first.result(DEADLINE_S) == "t0"
    copies.copied(source, other)
    assert names(copies) == ["t1"]
    copies.close()


def test_a_copy_whose_rows_are_replaced_again_and_again_does_not_grow(source: SourceInfo) -> None:
    copies, rows, sizes = DuckCopies(), TableRows(source), []
    for turn in range(60):
        with rows.lock:
            for number in range(4_000):
                rows.take(Record(b"%d" % number, b'{"V": %d}' % turn))
        name = copies.copied(source, rows)
        memory = "SELECT sum(memory_usage_bytes) FROM duckdb_memory()"
        sizes.append(copies.database.cursor().execute(memory).fetchall()[0][0])

    found = copies.database.cursor().execute(f"SELECT count(*), min(c1), max(c1) FROM {name}")
    assert found.fetchall() == [(4_000, 59, 59)]
    assert max(sizes[30:]) <= 1.5 * max(sizes[:30])
    copies.close()


def test_an_answer_reads_a_copy_while_another_one_makes_it_anew(
    source: SourceInfo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "_CLEARED_MAX", 0)
    copies, rows = DuckCopies(), TableRows(source)
    with rows.lock:
        rows.take(Record(b"a", b'{"V": 1}'))
    name = copies.copied(source, rows)
    reading = copies.database.cursor()
    reading.begin()
    before = reading.execute(f"SELECT c1 FROM {name}").fetchall()

    rows.forget_copy()
    with rows.lock:
        rows.take(Record(b"a", b'{"V": 2}'))
    again = copies.copied(source, rows)

    assert (again, before) == (name, [(1,)])
    assert reading.execute(f"SELECT c1 FROM {name}").fetchall() == [(1,)]
    assert copies.database.cursor().execute(f"SELECT c1 FROM {name}").fetchall() == [(2,)]
    reading.commit()
    copies.close()
