"""Lambdas over columns in answers are bounded in memory, in a process that may not have more."""

import subprocess
import sys
from typing import Final

_PROGRAM: Final = """
import resource, sys
from duolog.ksql.errors import SqlError
from duolog.ksql.session import SqlSession, parse
from duolog.runtime.sql.duck.queries import Translator, source_columns
from duolog.runtime.sql.duck.answers import Snapshot, answered
from duolog.runtime.sql.duck.sandbox import connect
from duolog.runtime.sql.duck.tables import DuckTable

rows, elements, length, heavy = (int(word) for word in sys.argv[1:5])
expression, where = sys.argv[5:]
session, connection = SqlSession(), connect(threads=1)
list(session.run("CREATE TABLE t (id INT PRIMARY KEY, tags ARRAY<INT>, name STRING) "
                 "WITH (kafka_topic='t', value_format='JSON');"))
table = DuckTable(connection, "T", source_columns(session.catalog.sources["T"]))
lists = [list(range(elements)) if at < heavy else [] for at in range(rows)]
table.add(range(rows), [(at, lists[at], "x" * length, "t", 0, 0, at) for at in range(rows)])
(node,) = parse(f"SELECT {expression} AS found FROM t {where};")
query = Translator(session.catalog, lambda source: source.name).query(node)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30),) * 2)
try:
    print(sum(found for (found,) in answered(Snapshot(connection, ["T"]), query)))
except SqlError as error:
    print(error.message, error.detail)
"""
_TOO_LARGE: Final = "TRANSFORM, FILTER or REDUCE of a row needs more memory than there is"


def asked(
    rows: int, elements: int, length: int, expression: str, where: str = "", *, heavy: int = 10**6
) -> str:
    """Return the sum of an expression over rows, of which `heavy` ones have lists with elements."""
    numbers = map(str, (rows, elements, length, heavy))
    program = [sys.executable, "-c", _PROGRAM, *numbers, expression, where]
    done = subprocess.run(program, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


def test_a_text_that_is_copied_for_each_element_is_an_error_before_it_takes_gigabytes() -> None:
    """2,048 rows with 1,000 copies of 1,000 bytes took 2 GB, which no limit counted."""
    expression = "ARRAY_LENGTH(TRANSFORM(tags, t => CONCAT(name, CAST(t AS STRING))))"

    assert _TOO_LARGE in asked(2_100, 1_000, 1_000, expression)


def test_lists_within_lists_are_an_error_before_they_take_gigabytes() -> None:
    expression = "ARRAY_LENGTH(TRANSFORM(tags, a => ARRAY_LENGTH(TRANSFORM(tags, b => a + b))))"

    assert _TOO_LARGE in asked(2_100, 1_000, 1, expression)


def test_usual_lists_of_many_rows_and_long_ones_of_few_are_computed() -> None:
    many = "ARRAY_LENGTH(TRANSFORM(tags, t => CONCAT(name, CAST(t AS STRING))))"
    long = "REDUCE(FILTER(TRANSFORM(tags, t => t + 1), t => t > 1), 0, (s, t => s + 1))"

    assert asked(5_000, 20, 100, many) == "100000"
    assert asked(1, 100_000, 1, long.replace("(s, t => s + 1)", "(s, t) => s + 1")) == "99999"


def test_a_text_in_a_lambda_within_a_lambda_counts_for_each_inner_element() -> None:
    inner = "ARRAY_LENGTH(TRANSFORM(tags, b => CONCAT(name, CAST(a + b AS STRING))))"

    assert _TOO_LARGE in asked(2_100, 100, 100, f"ARRAY_LENGTH(TRANSFORM(tags, a => {inner}))")


LONG: Final = "ARRAY_LENGTH(TRANSFORM(tags, t => t + 1))"


def test_only_the_rows_that_where_leaves_share_the_memory() -> None:
    """A list of 100,000 elements was an error if the table had 2,048 rows."""
    assert asked(3_000, 100_000, 1, LONG, "WHERE id < 2", heavy=3) == "200000"
    assert asked(3_000, 100_000, 1, LONG, "WHERE id < 2 AND id >= 0 LIMIT 1", heavy=3) == "100000"


def test_a_where_that_leaves_many_rows_or_has_lambdas_does_not_raise_the_bound() -> None:
    for where in (
        "",
        "WHERE id >= 0",
        f"WHERE {LONG} > 0 AND id < 2",
        "WHERE id < (SELECT MAX(id) FROM t)",
        "WHERE id IN (SELECT ARRAY_LENGTH(TRANSFORM(tags, t => t + 1)) FROM t)",
    ):
        assert _TOO_LARGE in asked(3_000, 100_000, 1, LONG, where, heavy=3), where
