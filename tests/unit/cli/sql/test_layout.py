from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from duolog.cli.main import cli
from duolog.cli.sql.layout import WIDTH, formatted
from duolog.ksql.errors import SqlError
from duolog.ksql.session import parse

LONG = """
-- Late flights.
create table late with (kafka_topic='late', partitions=2) as select f.carrier, count(*) as n, -- how many
 sum(case when f.delay > 10 then 1 when f.delay is null then -1 else 0 end) as weight, f.origin->code->name as origin_name
 from flights f left join airlines a on f.carrier=a.carrier where f.delay between 1 and 5 and (f.x=-1 or f.y in (1,2))
 group by f.carrier emit changes;
"""
LAID_OUT = """\
-- Late flights.
CREATE TABLE late WITH (kafka_topic = 'late', partitions = 2) AS
SELECT
  f.carrier,
  COUNT(*) AS n, -- how many
  SUM(CASE WHEN f.delay > 10 THEN 1 WHEN f.delay IS NULL THEN -1 ELSE 0 END) AS weight,
  f.origin->code->name AS origin_name
FROM flights f
LEFT JOIN airlines a ON f.carrier = a.carrier
WHERE f.delay BETWEEN 1 AND 5 AND (f.x = -1 OR f.y IN (1, 2))
GROUP BY f.carrier
EMIT CHANGES;
"""


def test_clauses_and_items_of_a_long_statement_are_on_separate_lines() -> None:
    assert formatted(LONG) == LAID_OUT
    assert formatted(LAID_OUT) == LAID_OUT


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("show   streams;show tables;", "SHOW STREAMS;\nSHOW TABLES;\n"),
        ("show streams;\n\n\n\nshow tables;", "SHOW STREAMS;\n\nSHOW TABLES;\n"),
        ("select Key, `a b`.x from Stream s emit changes;", "SELECT Key, `a b`.x FROM Stream s EMIT CHANGES;\n"),
        ("insert into s (a) values (-1.5e3, 'it''s');", "INSERT INTO s (a) VALUES (-1.5e3, 'it''s');\n"),
        ("select m['k'], a[1], -b, c - -1 from s;", "SELECT m['k'], a[1], -b, c - -1 FROM s;\n"),
        (
            "create stream s (a map<string, array<struct<b int>>>, c decimal(4,2)) with (x='y');",
            "CREATE STREAM s (a MAP<STRING, ARRAY<STRUCT<b INT>>>, c DECIMAL(4, 2)) WITH (x = 'y');\n",
        ),
        ("select transform(a, (x,y) => x+y) from s;", "SELECT TRANSFORM(a, (x, y) => x + y) FROM s;\n"),
        ("show streams; -- all\n-- the end", "SHOW STREAMS; -- all\n\n-- the end\n"),
        ("define v='x'; select ${v} from ${v};", "DEFINE v = 'x';\nSELECT ${v} FROM ${v};\n"),
        ("select a -- one\n + len(b) from s;", "SELECT\n  a -- one\n    + LEN(b)\nFROM s;\n"),
        ("/* two\n   lines */ show streams;", "/* two\n   lines */\nSHOW STREAMS;\n"),
        ("-- a file\n\n\n-- one\nshow streams;\nshow tables;", "-- a file\n\n-- one\nSHOW STREAMS;\nSHOW TABLES;\n"),
        ("assert null values t (a) key(1);", "ASSERT NULL VALUES t (a) KEY (1);\n"),
    ],
)  # fmt: skip
def test_words_are_capitals_and_names_are_as_they_were_written(text: str, wanted: str) -> None:
    assert formatted(text) == wanted
    assert formatted(wanted) == wanted


_NAMES = st.sampled_from(
    ["a", "`B c`", "delay", "f.x", "STDDEV_SAMPLE(some_column)", "'text'", "12"]
)
_EXPRESSIONS = st.recursive(
    _NAMES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "=", "and", "or", "between 1 and", "-"]), inner).map(
            " ".join
        ),
        inner.map("({})".format),
        inner.map("case when {} then -1 else f(1, 2) end".format),
        inner.map("{} -- note\n".format),
    ),
    max_leaves=12,
)


@given(st.lists(_EXPRESSIONS, min_size=1, max_size=5))
def test_nothing_is_lost_and_lines_stay_as_they_were_laid_out(items: list[str]) -> None:
    listed, condition = ", ".join(items), items[0]
    text = f"select {listed} from flights f where {condition} emit changes;"  # noqa: S608 - never executed
    try:
        once = formatted(text)
    except SqlError:
        return  # A condition in an invalid position.

    assert formatted(once) == once
    assert once.count("-- note") == text.count("-- note")
    assert all(len(line) <= WIDTH or "-- note" in line for line in once.splitlines())


def test_check_names_what_would_change_and_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.sql"
    path.write_text(LONG)
    runner = CliRunner()

    checked = runner.invoke(cli, ["sql", "fmt", "--check", str(path)], standalone_mode=False)
    assert (checked.return_value, path.read_text()) == (1, LONG)
    assert f"would format {path}" in checked.stderr

    runner.invoke(cli, ["sql", "fmt", str(path)], standalone_mode=False)
    assert path.read_text() == LAID_OUT
    again = runner.invoke(cli, ["sql", "fmt", "--check", str(path)], standalone_mode=False)
    assert again.return_value == 0


def test_a_file_that_cannot_be_read_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "a.sql"
    path.write_text("selct  1;")

    done = CliRunner().invoke(cli, ["sql", "fmt", str(path)], standalone_mode=False)

    assert (done.return_value, path.read_text()) == (2, "selct  1;")
    assert f"{path}:1:1: " in done.stderr


QUERIES = """
create table t with (kafka_topic='t') as with big as (select customer, amount from orders where amount > 1000 and customer is not null
and item in ('a', 'b')), small(a,b) as (select customer, amount from orders) select customer, count(*) as n from big -- the big ones
 inner join (select customer, city from customers where city is not null and customer is not null and age > 17) c on big.customer=c.customer
group by customer emit changes;
insert into s select id, name, something_long_as_a_name, another_long_name from first_stream union all select id, name, x, y from second_stream;
create or replace stream changes_of_a_table_with_a_long_name with (kafka_topic='changes-of-it') as changes of a_long_name;
insert into orders (customer, item, amount, currency, ordered_at) values ('ann', 'tea', 12, 'EUR', 1700039100000);
select customer, sum(amount) over(partition by customer order by at) from orders qualify amount > 10 order by customer desc, amount limit 5 offset 3;
"""
QUERIES_LAID_OUT = """\
CREATE TABLE t WITH (kafka_topic = 't') AS
WITH
  big AS (
    SELECT customer, amount
    FROM orders
    WHERE amount > 1000 AND customer IS NOT NULL AND item IN ('a', 'b')
  ),
  small (a, b) AS (SELECT customer, amount FROM orders)
SELECT customer, COUNT(*) AS n
FROM big -- the big ones
INNER JOIN (
  SELECT customer, city
  FROM customers
  WHERE city IS NOT NULL AND customer IS NOT NULL AND age > 17
) c ON big.customer = c.customer
GROUP BY customer
EMIT CHANGES;

INSERT INTO s
SELECT id, name, something_long_as_a_name, another_long_name
FROM first_stream
UNION ALL
SELECT id, name, x, y
FROM second_stream;

CREATE OR REPLACE STREAM changes_of_a_table_with_a_long_name WITH (
  kafka_topic = 'changes-of-it'
) AS
CHANGES OF a_long_name;

INSERT INTO orders (customer, item, amount, currency, ordered_at)
VALUES ('ann', 'tea', 12, 'EUR', 1700039100000);

SELECT customer, SUM(amount) OVER (PARTITION BY customer ORDER BY at)
FROM orders
QUALIFY amount > 10
ORDER BY customer DESC, amount
LIMIT 5
OFFSET 3;
"""


def test_queries_within_statements_are_laid_out_as_queries() -> None:
    assert formatted(QUERIES) == QUERIES_LAID_OUT
    assert formatted(QUERIES_LAID_OUT) == QUERIES_LAID_OUT


_PLAIN_QUERIES = st.builds(
    "select {} as x, some_column, another_column from orders where {} is not null".format,
    _NAMES,
    _NAMES,
)
_NESTED = st.recursive(
    _PLAIN_QUERIES,
    lambda inner: st.one_of(
        inner.map("select x, count(*) as n from ({}) as inner_rows group by x".format),
        st.tuples(inner, _PLAIN_QUERIES).map("{0[1]} union all {0[0]}".format),
        st.tuples(inner, inner).map(
            "select l.x from ({0[0]}) l -- note\n join ({0[1]}) r on l.x = r.x and l.y = r.y".format
        ),
    ),
    max_leaves=5,
)


@given(_NESTED, _NESTED)
def test_nested_queries_keep_their_meaning_when_formatted(one: str, two: str) -> None:
    text = f"create table t as with a as ({one}), /* two */ b (x) as ({two}) select x from a emit changes;"  # noqa: S608 - never executed
    wanted = parse(text)

    once = formatted(text)

    assert formatted(once) == once
    assert parse(once) == wanted
    assert once.count("-- note") == text.count("-- note")
    assert once.count("/* two */") == 1
    assert all(len(line) <= WIDTH or "--" in line or "/*" in line for line in once.splitlines())
