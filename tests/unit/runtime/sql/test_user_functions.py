"""User-defined functions on a broker: in the command topic, in results, without their module."""

import datetime as dt
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import count
from pathlib import Path

import pytest
from sqlglot import exp

from duolog.core.errors import StatementError
from duolog.ksql.errors import SqlError
from duolog.ksql.session import SqlSession, parse
from duolog.ksql.udf.modules import add_directories
from duolog.runtime.sql.duck.answers import answered
from duolog.runtime.sql.duck.queries import Translator, source_columns
from duolog.runtime.sql.duck.sandbox import connect
from duolog.runtime.sql.duck.tables import DuckTable
from duolog.runtime.sql.engine import SqlEngine
from duolog.runtime.sql.function_modules import define_functions
from duolog.runtime.sql.headless import apply_script
from duolog.testing import EmbeddedCluster
from unit.runtime.sql.fake_queries import FakeStarter, answers_of

GIVEN = "unit.ksql.udf.sample_functions"
WAIT_S = 60.0
_numbers = count()

Ask = Callable[[str], list[tuple[object, ...]]]


@pytest.fixture(scope="module")
def ask() -> Ask:
    """Answers from a table of three rows; k from 0 to 2, the names one letter longer each."""
    session, connection = SqlSession(), connect()
    made = "".join(
        f"CREATE FUNCTION {of} FROM '{GIVEN}:{of}';"
        for of in (
            "score",
            "pick",
            "words",
            "corners",
            "inverse",
            "later",
            "half",
            "shown",
            "Mean",
            "total",
        )
    )
    columns = "k INT PRIMARY KEY, a STRING, p STRUCT<lat DOUBLE, lon DOUBLE>, l ARRAY<TIMESTAMP>, t TIME, d DECIMAL(4,2)"
    list(
        session.run(
            f"{made}CREATE TABLE t ({columns}) WITH (kafka_topic='t', value_format='JSON');"
        )
    )
    (source,) = session.catalog.sources.values()
    of_source = source_columns(source)
    rows = [
        (
            k,
            "abc"[: k + 1],
            {"LAT": float(k), "LON": None},
            [dt.datetime(2026, 1, 1, k, tzinfo=dt.UTC)],
            k * 3_600_000,
            k + 1,
        )
        for k in range(3)
    ]
    behind = (None,) * (len(of_source) - 6)
    DuckTable(connection, "T", of_source).add(range(3), [row + behind for row in rows])

    def answer(query: str) -> list[tuple[object, ...]]:
        (node,) = parse(query)
        assert isinstance(node, exp.Query)
        found = Translator(session.catalog, lambda one: one.name).query(node)
        return list(answered(connection, found))

    return answer


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT k, score(a, k) + 1 AS x FROM t WHERE score(a) > 3 ORDER BY k", [(1, 3), (2, 7)]),
        ("SELECT score(p) AS x, score(p)->lat AS y FROM t WHERE k = 2", [({"LAT": 3.0, "LON": None}, 3.0)]),
        ("SELECT pick(l, k) AS x FROM t ORDER BY k", [(dt.datetime(2026, 1, 1, tzinfo=dt.UTC),), (None,), (None,)]),
        ("SELECT later(l[1], t) AS x FROM t WHERE k = 2", [(dt.datetime(2026, 1, 1, 4, tzinfo=dt.UTC),)]),
        ("SELECT inverse(k) AS x, shown(CAST(null AS STRING)) AS y FROM t ORDER BY k", [(None, "nothing"), (1.0, "nothing"), (0.5, "nothing")]),
        ("SELECT half(d) AS x FROM t WHERE k = 2", [(Decimal("1.50"),)]),
        ("SELECT score(score_of) AS x FROM (SELECT shown(a) AS score_of FROM t) AS q ORDER BY x", [(3,), (6,), (9,)]),
        ("SELECT mean(k) AS x, mean(k, 3) AS y FROM t", [(1.0, 3.0)]),
        ("SELECT k % 2 AS odd, mean(k) FILTER (WHERE k < 2) AS x FROM t GROUP BY k % 2 ORDER BY odd", [(0, 0.0), (1, 1.0)]),
        ("SELECT mean(k) AS x FROM t WHERE k > 10", [(None,)]),
        ("SELECT k, mean(k) OVER (ORDER BY k) AS x FROM t ORDER BY k", [(0, 0.0), (1, 0.5), (2, 1.0)]),
        ("SELECT TRANSFORM(ARRAY[k], i => total(CAST(i AS DOUBLE), 1.0)) AS x FROM t WHERE k = 2", [([3.0],)]),
    ],
)  # fmt: skip
def test_a_pull_query_calls_user_functions(ask: Ask, query: str, rows: list[object]) -> None:
    assert ask(f"{query};") == rows


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT k, words(a || ' x') AS w FROM t WHERE k < 2 ORDER BY k, w", [(0, "a"), (0, "x"), (1, "ab"), (1, "x")]),
        ("SELECT UCASE(words(a, 'x')) AS w FROM t WHERE k = 2 ORDER BY w", [("ABC",), ("X",)]),
        ("SELECT words(a) || words('x y') AS w FROM t WHERE k = 2", [("abcx",), ("y",)]),
        ("SELECT k, words(a) AS v, words('x y') AS w FROM t WHERE k = 2 ORDER BY w", [(2, "abc", "x"), (2, None, "y")]),
        ("SELECT k, words('') AS w FROM t", []),
        ("SELECT k, words(CAST(null AS STRING)) AS w FROM t", []),
        ("SELECT DISTINCT words('x x y') AS w FROM t ORDER BY w LIMIT 1", [("x",)]),
        ("SELECT corners(p)->lat AS x FROM t WHERE k = 2 ORDER BY x", [(-2.0,), (2.0,)]),
        ("SELECT w, COUNT(*) AS n FROM (SELECT words('x y') AS w FROM t) AS q GROUP BY w ORDER BY w", [("x", 3), ("y", 3)]),
        ("SELECT k, EXPLODE(ARRAY[k, 7]) AS x FROM t WHERE k = 1 ORDER BY x", [(1, 1), (1, 7)]),
    ],
)  # fmt: skip
def test_a_table_function_produces_rows_of_a_pull_query(
    ask: Ask, query: str, rows: list[object]
) -> None:
    assert ask(f"{query};") == rows


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT k FROM t WHERE words(a) = 'x'", "WORDS is in WHERE"),
        ("SELECT k FROM t ORDER BY words(a)", "WORDS is in ORDER BY"),
        (
            "SELECT words(a) AS w, COUNT(*) AS n FROM t GROUP BY k",
            "cannot be used with aggregations",
        ),
        ("SELECT COUNT(words(a)) AS n FROM t", "cannot be used with aggregations"),
        (
            "SELECT words(a) AS w, mean(k) OVER (ORDER BY k) AS m FROM t",
            "cannot be used with aggregations",
        ),
        ("SELECT words(words(a)) AS w FROM t", "cannot be nested"),
        ("SELECT CASE WHEN k > 0 THEN words(a) ELSE 'x' END AS w FROM t", "cannot be used in CASE"),
    ],
)
def test_a_misplaced_table_function_is_refused_by_name(ask: Ask, query: str, message: str) -> None:
    with pytest.raises(SqlError, match=message):
        ask(f"{query};")


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    add_directories(tmp_path)
    path = tmp_path / f"shopping{next(_numbers)}.py"
    path.write_text(SHOPPING)
    yield path
    sys.modules.pop(path.stem, None)


SHOPPING = """\
from duolog import udf

@udf
def price(a: int) -> int:
    return a * 2

@udf
def double(a: int) -> int:
    return a * 2
"""

Opened = Callable[[], SqlEngine]


@pytest.fixture
def starter() -> FakeStarter:
    return FakeStarter()


@pytest.fixture
def opened(
    cluster: EmbeddedCluster, service: str, starter: FakeStarter, tmp_path: Path
) -> Iterator[Opened]:
    engines: list[SqlEngine] = []

    def open_one() -> SqlEngine:
        engine = SqlEngine(
            cluster.bootstrap_servers, data=tmp_path / "d", service_id=service, starter=starter
        )
        engines.append(engine)
        return engine

    yield open_one
    for engine in engines:
        engine.close()


def created(service: str, module: Path) -> str:
    return (
        f"CREATE FUNCTION price FROM '{module.stem}:price';"
        f"CREATE STREAM s (k STRING KEY, a BIGINT) WITH (kafka_topic='{service}s', partitions=1, value_format='json');"
        f"CREATE STREAM priced WITH (kafka_topic='{service}priced') AS SELECT k, price(a) AS p FROM s;"
        f"CREATE STREAM copied WITH (kafka_topic='{service}copied') AS SELECT k, a FROM s;"
    )


def test_a_function_is_available_after_a_restart(
    opened: Opened, service: str, module: Path, starter: FakeStarter
) -> None:
    with opened() as engine:
        assert (
            answers_of(engine, created(service, module))[0]
            == f"Function PRICE created from '{module.stem}:price'"
        )
    starter.starts.clear()

    with opened() as engine:
        engine.start()
        assert engine.wait_settled(WAIT_S)
        (facts, _ways) = answers_of(engine, "DESCRIBE FUNCTION price;")

    assert isinstance(facts, list)
    assert ("From", f"{module.stem}:price") in facts
    assert sorted(starter.starts) == ["CSAS_COPIED_1", "CSAS_PRICED_0"]


def test_a_missing_module_is_reported_by_name_and_stops_no_other_query(
    opened: Opened, service: str, module: Path, starter: FakeStarter
) -> None:
    with opened() as engine:
        answers_of(engine, created(service, module))
    module.unlink()
    del sys.modules[module.stem]

    with opened() as engine:
        engine.start()
        assert engine.wait_settled(WAIT_S)
        (facts, ways) = answers_of(engine, "DESCRIBE FUNCTION price;")
        function = engine.catalog.functions["PRICE"]

        assert sorted(starter.running) == ["CSAS_COPIED_1", "CSAS_PRICED_0"]
        assert ways == [("PRICE(a BIGINT)", "BIGINT")]
        assert isinstance(facts, list)
        assert dict(facts)["Missing"].startswith(f'there is no module "{module.stem}"')
        with pytest.raises(
            SqlError, match=f'function "PRICE" from "{module.stem}:price" cannot be called'
        ):
            answers_of(engine, "SELECT price(1) AS x FROM s;")
        assert function.code.missing

        module.write_text(SHOPPING)
        answers_of(engine, f"CREATE OR REPLACE FUNCTION price FROM '{module.stem}:price';")
        assert not function.code.missing, "what holds the one that was missing calls this one"
        assert not engine.catalog.functions["PRICE"].code.missing


def test_later_statements_use_the_recorded_signature_of_a_function(
    opened: Opened, service: str, module: Path
) -> None:
    with opened() as engine:
        answers_of(engine, created(service, module))
    module.write_text(SHOPPING.replace("def price(a: int) -> int", "def price(a: str) -> str"))
    del sys.modules[module.stem]

    with opened() as engine:
        engine.follow()
        function = engine.catalog.functions["PRICE"]

    assert [str(one) for one in engine.catalog.sources["PRICED"].columns] == [
        "`K` STRING KEY",
        "`P` BIGINT",
    ]
    assert function.code.missing.startswith("Its signature was BIGINT (a BIGINT) and has changed.")


def test_replacing_a_function_restarts_its_queries_with_the_new_code(
    opened: Opened, service: str, module: Path, starter: FakeStarter
) -> None:
    with opened() as engine:
        answers_of(engine, created(service, module))
        engine.start()
        assert engine.wait_settled(WAIT_S)
        starter.starts.clear()
        module.write_text(SHOPPING.replace("return a * 2", "return a * 3"))

        answers_of(engine, f"CREATE OR REPLACE FUNCTION price FROM '{module.stem}:price';")
        assert engine.wait_settled(WAIT_S)

        assert starter.starts == ["CSAS_PRICED_0"]
        overload = engine.catalog.functions["PRICE"].overloads[0]
        body = engine.catalog.functions["PRICE"].code.body(overload)
        assert body is not None
        assert body.called(2) == 6


def test_all_functions_of_a_module_are_created_at_once_unless_they_exist(
    opened: Opened, module: Path
) -> None:
    with opened() as engine:
        first = list(define_functions(engine, module.stem))
    with opened() as engine:
        second = list(define_functions(engine, module.stem))
        module.write_text(SHOPPING.replace("def double(a: int)", "def double(a: int, b: int = 2)"))
        del sys.modules[module.stem]
        third = list(define_functions(engine, module.stem))

    assert [len(first), len(second), len(third)] == [2, 0, 1]


def test_a_module_that_cannot_be_imported_is_an_error_of_the_statement(opened: Opened) -> None:
    with opened() as engine:
        with pytest.raises(SqlError, match='there is no module "no_such_module"'):
            list(define_functions(engine, "no_such_module"))
        with pytest.raises(
            StatementError, match="Cannot create function X from 'no_such_module:x'"
        ):
            answers_of(engine, "CREATE FUNCTION x FROM 'no_such_module:x';")


def test_the_second_start_of_a_file_keeps_its_functions(
    opened: Opened, service: str, module: Path, tmp_path: Path
) -> None:
    path = tmp_path / "app.sql"
    path.write_text(created(service, module))
    with opened() as engine:
        first = list(apply_script(engine, path, set()))
    with opened() as engine:
        second = list(apply_script(engine, path, set()))

    assert first[0] == f"Function PRICE created from '{module.stem}:price'"
    assert second == ["S continues", "CSAS_PRICED_0 continues", "CSAS_COPIED_1 continues"]
