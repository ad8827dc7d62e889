"""A push query that makes many rows of each record."""

from collections.abc import Iterator
from typing import NamedTuple

import pytest
from sqlglot import exp

from duolog.ksql.catalog.catalog import Catalog, SourceInfo
from duolog.ksql.session import SqlSession, parse
from duolog.runtime.sql.duck.tables import DuckTable
from duolog.runtime.sql.fanout.batch_database import BatchDatabase, BatchTables
from duolog.runtime.sql.fanout.errors import TooManyRows
from duolog.runtime.sql.fanout.evaluators import Shape

DECLARED = (
    "CREATE STREAM s (id STRING KEY, v INT) "
    "WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON', PARTITIONS = 1);"
)
FILLED = "SELECT id, EXPLODE(GENERATE_SERIES(1, v)) FROM s;"


class Opened(NamedTuple):
    catalog: Catalog
    source: SourceInfo
    tables: BatchTables

    def answer(self, sql: str) -> list[tuple[object, ...]]:
        (select,) = parse(sql)
        assert isinstance(select, exp.Select)
        return self.tables.answer(Shape.of(select, self.catalog, self.source).query)

    def load(self, *values: int) -> None:
        self.tables.load([("k", value, "s", 0, 0, offset) for offset, value in enumerate(values)])


@pytest.fixture
def opened() -> Iterator[Opened]:
    catalog = Catalog()
    (statement,) = parse(DECLARED)
    SqlSession(catalog).execute(statement, DECLARED)
    database = BatchDatabase()
    tables = database.tables(catalog.sources["S"])
    yield Opened(catalog, catalog.sources["S"], tables)
    tables.close()
    database.close()


def test_a_batch_whose_rows_do_not_fit_into_memory_ends_its_query(opened: Opened) -> None:
    opened.load(1_000_000)

    with pytest.raises(TooManyRows, match="more than 500,000 rows"):
        opened.answer(FILLED)

    opened.load(2)
    assert len(opened.answer(FILLED)) == 2


def test_the_limit_counts_the_rows_of_all_records(opened: Opened) -> None:
    opened.load(*[20_000] * 26)

    with pytest.raises(TooManyRows):
        opened.answer(FILLED)


def test_series_of_few_records_are_in_memory_at_once(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    add = DuckTable.add

    def noted(self: DuckTable, ids: range, rows: list[tuple[object, ...]]) -> None:
        sizes.append(len(rows))
        add(self, ids, rows)

    monkeypatch.setattr(DuckTable, "add", noted)
    opened.load(*range(1, 41))

    found = opened.answer(FILLED)

    assert [row[1] for row in found] == [n for v in range(1, 41) for n in range(1, v + 1)]
    assert sizes == [40, 16, 16, 8, 40]
    assert len(opened.answer("SELECT v FROM s;")) == 40
