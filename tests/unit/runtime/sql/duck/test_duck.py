"""Queries in DuckDB, by ksqlDB's rules; without a broker or a JVM."""

import datetime as dt
import math
import re
from collections.abc import Callable
from decimal import Decimal

import pytest
from duckdb import DuckDBPyConnection
from sqlglot import exp

from duolog.ksql.errors import SqlError
from duolog.ksql.session import SqlSession, parse
from duolog.runtime.sql.duck.aggregates import AGGREGATES
from duolog.runtime.sql.duck.answers import answered
from duolog.runtime.sql.duck.queries import Translator, source_columns
from duolog.runtime.sql.duck.sandbox import connect
from duolog.runtime.sql.duck.tables import DuckTable
from duolog.serde.row import Row

Ask = Callable[[str], list[tuple[object, ...]]]

_SOURCES = """
CREATE TABLE users (
  id BIGINT PRIMARY KEY, name STRING, age INT, score DOUBLE, money DECIMAL(6, 2), tags ARRAY<STRING>,
  props MAP<STRING, INT>, addr STRUCT<city STRING, `City` INT>, born DATE, at TIMESTAMP, t TIME, raw BYTES
) WITH (kafka_topic='users', value_format='JSON');
CREATE TABLE orders (oid INT PRIMARY KEY, uid BIGINT, amount INT) WITH (kafka_topic='orders', value_format='JSON');
"""
_AT = dt.datetime(2020, 1, 2, 3, 4, 5, 6000, tzinfo=dt.UTC)
_ANN: Row = (1, "Ann", 30, 1.5, Decimal("10.50"), ["a", "b"], {"x": 1, "y": None}, {"CITY": "Bonn", "City": 5},
        dt.date(2020, 1, 2), _AT, 36_000_000, b"\x00A")  # fmt: skip
_BOB: Row = (2, "Bob", *[None] * 10)
_CY: Row = (
    3,
    "Cy",
    40,
    -2.5,
    Decimal("-3.00"),
    [],
    {},
    {"CITY": None, "City": None},
    None,
    None,
    None,
    b"",
)
_ROWS: dict[str, list[Row]] = {
    "USERS": [(*_ANN, "u", 1000, 0, 7), (*_BOB, "u", 2000, 1, 8), (*_CY, "u", 3000, 0, 9)],
    "ORDERS": [
        (1, 1, 10, "o", 1, 0, 0),
        (2, 1, 20, "o", 2, 0, 1),
        (3, 2, 30, "o", 3, 0, 2),
        (4, 9, 5, "o", 4, 0, 3),
    ],
}


@pytest.fixture(scope="module")
def ask() -> Ask:
    session, connection = SqlSession(), connect()
    list(session.run(_SOURCES))
    for name, rows in _ROWS.items():
        columns = source_columns(session.catalog.sources[name])
        DuckTable(connection, name, columns).add(range(len(rows)), rows)

    def answer(text: str) -> list[tuple[object, ...]]:
        (node,) = parse(text)
        assert isinstance(node, exp.Query)
        query = Translator(session.catalog, lambda source: source.name).query(node)
        return list(answered(connection, query))

    return answer


def test_values_of_all_types_survive_a_round_trip(ask: Ask) -> None:
    assert ask("SELECT * FROM users ORDER BY id;") == [_ANN, _BOB, _CY]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("age + 2147483647", -2147483619),
        ("-7 / 2", -3),
        ("-7 % 3", -1),
        ("age / 0", None),
        ("score / 0", float("inf")),
        ("money / 3", Decimal("3.5000000000000")),
        ("money * 2", Decimal("21.00")),
        ("CAST(2 AS DECIMAL(2,0)) / CAST(3 AS DECIMAL(2,0))", Decimal("0.666667")),
        ("tags[1] || tags[-1]", "ab"),
        ("tags[0]", None),
        ("props['x'] + 1", 2),
        ("addr->city + '!'", "Bonn!"),
        ("addr->`City`", 5),
        ("name = 'Ann' AND NOT (age = 31)", True),
        ("props['y'] = 1", False),
        ("props['y'] IS DISTINCT FROM 1", True),
        ("age IN (1, 30)", True),
        ("name LIKE 'A%'", True),
        ("CASE WHEN age > 35 THEN 'old' ELSE 'young' END", "young"),
        ("CAST('1.5' AS INT)", None),
        ("CAST(-1.9 AS INT)", -1),
        ("CAST('ye' AS BOOLEAN)", True),
        ("CAST('-0x1p99999' AS DOUBLE)", -math.inf),
        ("CAST('0x1.8p1d' AS DOUBLE)", 3.0),
        ("CAST(score AS STRING)", "1.5"),
        ("CAST(12345678.5 AS STRING)", "12345678.5"),
        ("CAST(1.5e7 AS STRING)", "1.5E7"),
        ("CAST(1e-5 AS STRING)", "1.0E-5"),
        ("CAST(props AS STRING)", "{x=1, y=null}"),
        ("CAST(at AS STRING)", "2020-01-02T03:04:05.006"),
        ("CAST(t AS STRING)", "10:00"),
        ("CAST(at AS TIME)", 11_045_006),
        ("ROUND(-2.5e0)", -2),
        ("ROUND(CAST('2.345' AS DECIMAL(4,3)), 2)", Decimal("2.350")),
        ("SUBSTRING(name, -2, 1)", "n"),
        ("SUBSTRING(name, 0)", "Ann"),
        ("LPAD(name, 5, 'xy')", "xyAnn"),
        ("LPAD(name, 5, '')", None),
        ("CONCAT(name, CAST(NULL AS STRING), '!')", "Ann!"),
        ("REGEXP_EXTRACT('x', name)", None),
        ("REGEXP_REPLACE('banana', '(n)', '<$1>')", "ba<n>a<n>a"),
        ("EXTRACTJSONFIELD('{\"a\":{\"b\":1}}', '$.a.b')", "1"),
        ("ARRAY_SORT(ARRAY[3, NULL, 1], 'DESC')", [3, 1, None]),
        ("ARRAY_DISTINCT(ARRAY[1, NULL, 1, NULL])", [1, None]),
        ("AS_MAP(ARRAY['a', 'b', 'a'], ARRAY[1, 2, 3])", {"b": 2, "a": 3}),
        ("MAP('k' := 1, 'k' := 2)", {"k": 2}),
        ("MAP('k' := 1)", {"k": 1}),
        ("STRUCT(a := id, b := tags)", {"A": 1, "B": ["a", "b"]}),
        ("TRANSFORM(tags, x => UCASE(x))", ["A", "B"]),
        ("FILTER(props, (k, v) => v > 0)", {"x": 1}),
        ("REDUCE(ARRAY[1, 2], 10, (s, x) => s - x)", 7),
        ("TRANSFORM(ARRAY[1, 2], x => REDUCE(ARRAY[10, 20], x, (s, y) => s + x * y))", [31, 62]),
        ("TRANSFORM(props, (k, v) => k, (k, v) => v + 1)", None),
        ("FORMAT_TIMESTAMP(at, 'yyyy-MM-dd''T''HH:mm')", "2020-01-02T03:04"),
        ("PARSE_DATE('05.01.2020', 'dd.MM.yyyy')", dt.date(2020, 1, 5)),
        ("TIMESTAMPADD(MONTHS, 1, at)", _AT.replace(month=2)),
        ("TIMESUB(HOURS, 11, t)", 82_800_000),
        ("UNIX_TIMESTAMP(at)", 1_577_934_245_006),
        ("born = '2020-01-02'", True),
        ("TO_BYTES('QQ==', 'base64')", b"A"),
        ("GEO_DISTANCE(37.4, -122.1, 37.5, -122.2) > 14", True),
        ("(SELECT MAX(amount) FROM orders WHERE uid = id)", 20),
    ],
)
def test_an_expression_has_the_value_that_ksqldb_gives_it(
    ask: Ask, expression: str, value: object
) -> None:
    rows = ask(f"SELECT {expression} AS found FROM users WHERE id = 1;")

    assert rows == [(value,)]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (
            (
                "SELECT u.name, SUM(o.amount) AS s, COUNT(o.oid) FROM users u LEFT JOIN orders o ON u.id = o.uid "
                "GROUP BY u.name ORDER BY 2 DESC, u.name;"
            ),
            [("Ann", 30, 2), ("Bob", 30, 1), ("Cy", 0, 0)],
        ),
        (
            "SELECT uid, SUM(amount) AS s FROM orders GROUP BY uid HAVING s > 5 ORDER BY uid;",
            [(1, 30), (2, 30)],
        ),
        (
            (
                "SELECT uid, amount, ROW_NUMBER() OVER (PARTITION BY uid ORDER BY amount DESC) AS n FROM orders "
                "QUALIFY n = 1 ORDER BY uid;"
            ),
            [(1, 20, 1), (2, 30, 1), (9, 5, 1)],
        ),
        (
            "SELECT uid, SUM(SUM(amount)) OVER (ORDER BY uid) FROM orders GROUP BY uid ORDER BY uid;",
            [(1, 30), (2, 60), (9, 65)],
        ),
        (
            (
                "WITH big (who) AS (SELECT uid FROM orders WHERE amount > 10) "
                "SELECT name FROM users WHERE id IN (SELECT who FROM big) ORDER BY name;"
            ),
            [("Ann",), ("Bob",)],
        ),
        (
            "SELECT name FROM users u WHERE NOT EXISTS (SELECT oid FROM orders WHERE uid = u.id);",
            [("Cy",)],
        ),
        (
            "SELECT id FROM users UNION SELECT uid FROM orders ORDER BY id;",
            [(1,), (2,), (3,), (9,)],
        ),
        ("SELECT oid FROM orders EXCEPT SELECT id FROM users;", [(4,)]),
        ("SELECT DISTINCT uid FROM orders ORDER BY uid LIMIT 1 OFFSET 1;", [(2,)]),
        (
            "SELECT COUNT(*) FILTER (WHERE amount > 10), COUNT(DISTINCT uid), TOPK(amount, 2), AVG(amount) FROM orders;",
            [(2, 3, [30, 20], 16.25)],
        ),
        ("SELECT addr->* FROM users WHERE id = 1;", [("Bonn", 5)]),
        ("SELECT id FROM users WHERE ROWPARTITION = 0 AND ROWOFFSET > 7;", [(3,)]),
        ("SELECT x.n FROM (SELECT COUNT(*) AS n FROM users) x;", [(3,)]),
        ("SELECT a.oid FROM orders a JOIN orders b ON a.uid = b.uid AND a.oid < b.oid;", [(1,)]),
        (
            "SELECT LAG(amount, 1, 0) OVER (ORDER BY oid) AS p FROM orders ORDER BY oid;",
            [(0,), (10,), (20,), (30,)],
        ),
    ],
)
def test_queries_support_the_clauses_of_duckdb(
    ask: Ask, text: str, rows: list[tuple[object, ...]]
) -> None:
    assert ask(text) == rows


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "SELECT * FROM users WHERE name = 11;",
            "Error in WHERE expression: Cannot compare NAME (STRING) to 11",
        ),
        (
            "SELECT * FROM users WHERE name = NULL;",
            "Comparison with NULL not supported: STRING = NULL",
        ),
        ("SELECT name, COUNT(*) FROM users;", "not part of GROUP BY: NAME"),
        (
            "SELECT name FROM users WHERE SUM(age) > 1;",
            "WHERE cannot have an aggregate function: SUM",
        ),
        ("SELECT name, name FROM users;", "Duplicate value columns found in schema: `NAME` STRING"),
        (
            "SELECT * FROM users WINDOW TUMBLING (SIZE 1 SECOND);",
            "Pull queries don't support WINDOW clauses.",
        ),
        (
            "SELECT id FROM users WHERE name IN (SELECT uid FROM orders);",
            "Cannot compare NAME (STRING) to the result of the subquery after IN (BIGINT)",
        ),
        ("SELECT nope FROM users;", "SELECT column 'NOPE' cannot be resolved"),
        ("SELECT * FROM nowhere;", "NOWHERE does not exist."),
        (
            "SELECT LATEST_BY_OFFSET(x.n) FROM (SELECT COUNT(*) AS n FROM users) x;",
            "its rows have no offsets",
        ),
        ("SELECT LATEST_BY_OFFSET(name, 0) FROM users;", "a number of values, at least 1"),
        (
            "SELECT SUM(age) FROM users GROUP BY -1;",
            "There is no column -1; the query has 1 column",
        ),
        ("SELECT id FROM users ORDER BY (0);", "There is no column 0; the query has 1 column"),
        ("SELECT id FROM users ORDER BY 'a';", "ORDER BY a constant has no effect"),
        ("SELECT SUM(MAX(age)) FROM users;", "SUM cannot contain an aggregate function"),
        (
            "SELECT SUM(ROW_NUMBER() OVER ()) FROM users;",
            "SUM cannot contain an aggregate function",
        ),
        (
            "SELECT age FROM users GROUP BY ROW_NUMBER() OVER ();",
            "GROUP BY cannot have an aggregate function: ROW_NUMBER",
        ),
        ("SELECT COUNT(*) FROM users WHERE 'x' > (SELECT 1 AS q FROM users);", "Cannot compare"),
        (
            "SELECT (SELECT oid FROM orders) AS o FROM users;",
            "a subquery returned several rows",
        ),
        ("SELECT NTILE(0) OVER () FROM users;", "an argument must be at least 1"),
        (
            "SELECT PARSE_TIMESTAMP(name, 'HH zzzz') FROM users;",
            "PARSE_TIMESTAMP(STRING, STRING) with these arguments",
        ),
        (
            "SELECT FORMAT_TIMESTAMP(at, CONCAT('zz', 'zz'), 'Europe/Paris') FROM users;",
            "zzzz in a pattern of times is not supported in pull queries",
        ),
        (
            "SELECT REGEXP_EXTRACT('\\p{L}+', name) FROM users;",
            "REGEXP_EXTRACT(STRING, STRING) with these arguments",
        ),
        (
            "SELECT id FROM users UNION SELECT oid, uid FROM orders;",
            "must have the same number of columns",
        ),
        ("SELECT * FROM users JOIN users ON 1 = 1;", "Two sides of the join have the name USERS"),
    ],
)
def test_unsupported_constructs_are_refused_by_name(ask: Ask, text: str, said: str) -> None:
    with pytest.raises(SqlError) as error:
        ask(text)

    assert said in str(error.value)


def test_a_limit_without_order_returns_the_smallest_keys(ask: Ask) -> None:
    assert ask("SELECT oid FROM orders LIMIT 2;") == [(1,), (2,)]
    assert ask("SELECT oid FROM orders WHERE oid > 2 LIMIT 1;") == [(3,)]


@pytest.mark.parametrize(
    ("item", "value"),
    [
        ("EARLIEST_BY_OFFSET(age)", 30),
        ("LATEST_BY_OFFSET(age)", 40),
        ("LATEST_BY_OFFSET(addr->city)", "Bonn"),
        ("LATEST_BY_OFFSET(addr->city, false)", None),
        ("EARLIEST_BY_OFFSET(age, 5)", [30, 40]),
        ("EARLIEST_BY_OFFSET(age, 2, false)", [30, None]),
        ("LATEST_BY_OFFSET(name, 2)", ["Bob", "Cy"]),
        ("LATEST_BY_OFFSET(age, 2, false)", [None, 40]),
        ("LATEST_BY_OFFSET(tags, 1)", [[]]),
        ("LATEST_BY_OFFSET(name) FILTER (WHERE id < 3)", "Bob"),
        ("LATEST_BY_OFFSET(CAST(NULL AS INT), 2)", []),
    ],
)
def test_elements_are_selected_by_subscript(ask: Ask, item: str, value: object) -> None:
    assert ask(f"SELECT {item} FROM users;") == [(value,)]


def test_an_error_of_duckdb_shows_none_of_its_own_sql(ask: Ask) -> None:
    with pytest.raises(SqlError) as error:
        ask("SELECT (SELECT oid FROM orders) AS o FROM users;")

    reported = str(error.value)
    assert "hint: Return one row: LIMIT 1" in reported
    assert not any(word in reported for word in ("Error:", "LINE", "SET ", "a0."))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("SELECT ATTR(uid) FROM orders WHERE oid < 3;", 1),
        ("SELECT ATTR(uid) FROM orders;", None),
        ("SELECT ATTR(age) FROM users;", None),
        ("SELECT SUM_LIST(ARRAY[amount, 1]) FROM orders;", 69),
        ("SELECT AVG(amount) FROM orders WHERE oid > 100;", 0.0),
        ("SELECT SUM(amount * 1.5E0) FROM orders WHERE oid > 100;", 0.0),
        (
            "SELECT SUM(CAST(amount AS DECIMAL(30, 2))) FROM orders WHERE oid > 100;",
            Decimal("0.00"),
        ),
        ("SELECT STDDEV_SAMP(amount) FROM orders WHERE oid < 3;", 50.0),
        ("SELECT STDDEV_SAMPLE(amount) FROM orders WHERE oid < 2;", 0.0),
        ("SELECT STDDEV_SAMPLE(DISTINCT amount * 0) FROM orders;", 0.0),
        ("SELECT STDDEV_SAMP(CAST('Infinity' AS DOUBLE)) FROM orders WHERE oid < 2;", 0.0),
        ("SELECT STDDEV_SAMPLE(amount * 1E200) FROM orders;", math.inf),
        ("SELECT VAR_POP(amount * 1E200) IS NULL FROM orders;", False),
        ("SELECT VAR_SAMP(amount) FROM orders WHERE oid < 2;", None),
        ("SELECT CORRELATION(amount, 2 * amount) FROM orders;", 1.0),
        ("SELECT CORRELATION(amount, 1) = 0 FROM orders;", False),
    ],
)
def test_aggregates_of_ksqldb_are_available(ask: Ask, text: str, value: object) -> None:
    assert ask(text) == [(value,)]


# 10, 0, 10, 5 as INT, BIGINT, DECIMALs and DOUBLE; lists of which two have the same sum.
_REPEATED = """(SELECT i, CAST(i AS BIGINT) AS b, CAST(i AS DECIMAL(6, 2)) AS d, CAST(i AS DECIMAL(30, 2)) AS w,
    CAST(i AS DOUBLE) AS f, CASE WHEN i = 5 THEN ARRAY[4, 6] ELSE ARRAY[i] END AS l
    FROM (SELECT amount % 20 AS i FROM orders) AS o) AS r"""
_DISTINCT: dict[str, object] = {
    "COUNT(DISTINCT {0})": 3,
    "COUNT_DISTINCT(DISTINCT {0})": 3,
    "SUM(DISTINCT {0})": 15,
    "AVG(DISTINCT {0})": 5.0,
    "MIN(DISTINCT {0})": 0,
    "MAX(DISTINCT {0})": 10,
    "ARRAY_SORT(COLLECT_LIST(DISTINCT {0}))": [0, 5, 10],
    "ARRAY_SORT(COLLECT_SET(DISTINCT {0}))": [0, 5, 10],
    "STDDEV_SAMPLE(DISTINCT {0})": 5.0,
    "STDDEV_SAMP(DISTINCT {0})": 25.0,
    "VAR_SAMP(DISTINCT {0})": 25.0,
    "ROUND(VAR_POP(DISTINCT {0}), 3)": 16.667,
    "ROUND(STDDEV_POP(DISTINCT {0}), 3)": 4.082,
    "MEDIAN(DISTINCT {0})": 5.0,
    "CORRELATION(DISTINCT {0}, 2 * {0})": 1.0,
    "TOPK(DISTINCT {0}, 2)": [10, 5],
    "TOPKDISTINCT(DISTINCT {0}, 2)": [10, 5],
    "ARRAY_MAX(MAP_VALUES(HISTOGRAM(DISTINCT {0})))": 1,
    "ATTR(DISTINCT {0})": None,
    "SUM_LIST(DISTINCT ARRAY[{0}, {0}])": 30,
    "ARG_MIN(DISTINCT {0}, {0})": 0,
    "ARG_MAX(DISTINCT {0}, {0})": 10,
}


@pytest.mark.parametrize("column", "ibdwf")
@pytest.mark.parametrize("call", _DISTINCT)
def test_each_aggregate_takes_equal_values_once_with_distinct(
    ask: Ask, call: str, column: str
) -> None:
    """AVG was a syntax error of DuckDB, SUM of a long DECIMAL too; HISTOGRAM and SUM_LIST took all values."""
    written = call.format(column)
    filtered = written.replace(")", ") FILTER (WHERE i >= 0)", 1)

    assert ask(f"SELECT {written} FROM {_REPEATED};") == [(_DISTINCT[call],)]
    if written.count(")") == 1:
        assert ask(f"SELECT {filtered} FROM {_REPEATED};") == [(_DISTINCT[call],)]


def test_each_aggregate_is_tried_with_distinct() -> None:
    tried = {word for call in _DISTINCT for word in re.findall(r"(\w+)\(DISTINCT", call)}

    assert tried | {"ANY_VALUE"} == set(AGGREGATES)


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("SUM_LIST(DISTINCT l)", 20),
        ("AVG(DISTINCT i) OVER ()", 5.0),
        ("AVG(DISTINCT w / 3) > 1.6666", True),
        ("CORRELATION(DISTINCT i, 1) IS NULL", False),
        ("CORRELATION(DISTINCT i * 1E200, i) IS NULL", False),
        ("AVG(DISTINCT CASE WHEN i > 100 THEN i END)", 0.0),
        ("AVG(DISTINCT CASE WHEN i > 100 THEN d END)", 0.0),
        ("SUM(DISTINCT CASE WHEN i > 100 THEN w END)", Decimal("0.00")),
    ],
)
def test_distinct_with_frames_lists_and_nothing(ask: Ask, call: str, value: object) -> None:
    assert set(ask(f"SELECT {call} FROM {_REPEATED};")) == {(value,)}


def test_keywords_of_pull_queries_are_identifiers_in_persistent_queries() -> None:
    (node,) = parse(
        "CREATE TABLE x AS SELECT order, offset, COUNT(*) FROM s GROUP BY order, offset;"
    )

    query = node.args["expression"]
    assert [item.name for item in query.expressions[:2]] == ["ORDER", "OFFSET"]


def test_a_deleted_row_is_not_returned() -> None:
    session, connection = SqlSession(), connect()
    list(session.run(_SOURCES))
    columns = source_columns(session.catalog.sources["ORDERS"])
    table = DuckTable(connection, "orders", columns)
    table.add([7, 8], [(1, 1, 10, "o", 1, 0, 0), (2, 1, 20, "o", 2, 0, 1)])

    table.remove([7])

    assert connection.execute("SELECT c0 FROM orders").fetchall() == [(2,)]


def duck_bytes(connection: DuckDBPyConnection) -> int:
    """Return the memory of the tables."""
    found = connection.execute("SELECT sum(memory_usage_bytes) FROM duckdb_memory()").fetchall()
    return int(found[0][0])


def orders() -> tuple[DuckTable, DuckDBPyConnection, list[Row]]:
    session, connection = SqlSession(), connect()
    list(session.run(_SOURCES))
    columns = source_columns(session.catalog.sources["ORDERS"])
    rows: list[Row] = [(number, 1, 10, "o", 1, 0, 0) for number in range(5_000)]
    return DuckTable(connection, "orders", columns), connection, rows


def test_a_table_that_is_cleared_and_filled_again_does_not_grow() -> None:
    table, connection, rows = orders()
    sizes = []

    for _ in range(60):
        table.clear()
        table.add(range(len(rows)), rows)
        sizes.append(duck_bytes(connection))

    assert connection.execute("SELECT count(*) FROM orders").fetchall() == [(5_000,)]
    assert max(sizes[30:]) <= 2 * max(sizes[:30])


def test_a_table_whose_rows_are_replaced_is_bloated_until_it_is_cleared() -> None:
    table, _, rows = orders()
    table.add(range(len(rows)), rows)
    replaced = 0

    while not table.is_bloated:
        table.remove(range(len(rows)))
        table.add(range(len(rows)), rows)
        replaced += 1
    table.clear()

    assert replaced == 11
    assert not table.is_bloated
