"""SQL from Python: `duolog.sql`."""

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING

import pytest

import duolog
from duolog.core.errors import ConfigError
from duolog.plan.types import parse_type
from duolog.runtime.sql import asking
from duolog.runtime.sql.answers import Message, Rows
from duolog.testing.cluster import EmbeddedCluster

if TYPE_CHECKING:
    from pathlib import Path

_SOURCES = """
CREATE TABLE t (id INT PRIMARY KEY, price DECIMAL(4, 2), at TIMESTAMP, t TIME, tags ARRAY<STRING>, home STRUCT<city STRING>)
  WITH (kafka_topic='t', value_format='JSON', partitions=1);
INSERT INTO t (id, price, at, t, tags, home)
  VALUES (1, 2.50, '2026-01-02T03:04:05', '10:00:00', ARRAY['a'], STRUCT(city := 'Bonn'));
"""
_ROW = (1, Decimal("2.50"), dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC), 36_000_000, ["a"], {"CITY": "Bonn"})  # fmt: skip


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[partial[asking.Result]]:
    path: Path = tmp_path_factory.mktemp("asking")
    with EmbeddedCluster(path / "broker") as cluster:
        ask = partial(duolog.sql, bootstrap=cluster.bootstrap_servers, data=path / "data")
        ask(_SOURCES)
        yield ask
        asking._close_all()  # noqa: SLF001 - the broker goes before the process does


def test_rows_are_tuples_and_dicts_and_need_no_semicolon(ask: partial[asking.Result]) -> None:
    found = ask("SELECT * FROM t")

    assert found.rows() == [_ROW]
    assert found.rows() == list(found)
    assert found.to_dicts()[0]["HOME"] == {"CITY": "Bonn"}
    assert "Bonn" in found.to_html()


def test_frames_have_the_types_of_the_columns(ask: partial[asking.Result]) -> None:
    found = ask("SELECT * FROM t WHERE id = 1")

    assert [str(of) for of in found.to_arrow().schema.types] == [
        "int32",
        "decimal128(4, 2)",
        "timestamp[us, tz=UTC]",
        "int32",
        "list<item: string>" if "item" in str(found.to_arrow().schema) else "list<element: string>",
        "struct<CITY: string>",
    ]
    assert found.to_pandas().ID.dtype.name == "Int32"
    assert found.to_polars().height == 1


def test_a_statement_without_rows_has_a_message(ask: partial[asking.Result]) -> None:
    found = ask("CREATE TYPE code AS STRING")

    assert "CODE" in found.message
    assert found.rows() == []


def test_properties_apply_to_these_statements_only(ask: partial[asking.Result]) -> None:
    earliest = {"auto.offset.reset": "earliest"}

    assert ask("SELECT id FROM t EMIT CHANGES LIMIT 1", properties=earliest).rows() == [(1,)]
    shown = {row[0]: row[2] for row in ask("SHOW PROPERTIES").rows()}
    assert shown["auto.offset.reset"] == "latest"


def test_rows_of_push_queries_can_be_iterated(ask: partial[asking.Result]) -> None:
    found = ask("SELECT id FROM t EMIT CHANGES", properties={"auto.offset.reset": "earliest"})

    with pytest.raises(ConfigError, match="do not end"):
        found.rows()
    with found:
        assert next(iter(found)) == (1,)


def test_column_types_are_parsed_from_the_reply() -> None:
    reported = "MAP<STRING, ARRAY<STRUCT<`a b` INTEGER, `D` DECIMAL(4, 2)>>>"
    found = asking.Result(Rows((("x", reported),), iter(())))

    assert found.columns[0].type == parse_type(
        "MAP<STRING, ARRAY<STRUCT<`a b` INT, D DECIMAL(4,2)>>>"
    )
    assert asking.Result(Message("done")).columns == ()
