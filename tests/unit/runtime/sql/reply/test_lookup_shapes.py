"""A look-up of a known shape is what binding the statement returns."""

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from sqlglot import exp

from duolog.ksql.catalog.catalog import Catalog
from duolog.ksql.session import SqlSession, parse
from duolog.runtime.sql.reply.lookup import Lookup, lookup_of
from duolog.runtime.sql.reply.lookup_shapes import LookupShapes, shape_of

if TYPE_CHECKING:
    from collections.abc import Callable

_TABLES = """
CREATE TABLE texts (id STRING PRIMARY KEY, n INT, b BIGINT, d DOUBLE) WITH (kafka_topic='t', value_format='JSON');
CREATE TABLE numbers (id BIGINT PRIMARY KEY, n INT) WITH (kafka_topic='t', value_format='JSON');
CREATE TABLE places (area STRING PRIMARY KEY, spot INT PRIMARY KEY, n INT)
  WITH (kafka_topic='t', format='JSON');
CREATE TABLE hourly (id STRING PRIMARY KEY, n INT)
  WITH (kafka_topic='t', value_format='JSON', window_type='TUMBLING', window_size='1 SECOND');
"""
_STATEMENTS = (
    "SELECT n FROM texts WHERE id = {s};",
    "SELECT n AS x, d FROM texts WHERE {s} = id AND n > {i} LIMIT {i};",
    "SELECT * FROM texts WHERE id IN ({s}, {s}, {s}) AND b <= {l} AND d < {i};",
    "SELECT * FROM texts WHERE id = {s} AND n = -{i} AND d >= -{l};",
    "select N from NUMBERS where ID in ({i}, {l}, -{i})",
    "SELECT n FROM places WHERE spot IN ({i}, {i}) AND area IN ({s}, {s});",
    "SELECT n, WINDOWSTART FROM hourly WHERE id = {s} AND WINDOWSTART >= {l} AND WINDOWEND < {l};",
    "SELECT n FROM texts WHERE id >= {s} AND id < {s} AND n > {i};",
    "SELECT n FROM places WHERE area IN ({s}, {s}) AND n = {i};",
    "SELECT n FROM places WHERE area > {s} AND spot = {i};",
    "SELECT n FROM texts t WHERE t.id = {s} AND ROWTIME > {i};",
)


class Binding:
    """Binds statements, and counts how often."""

    def __init__(self) -> None:
        self.session = SqlSession()
        list(self.session.run(_TABLES))
        self.shapes = LookupShapes()
        self.bound = 0

    def bind(self, text: str) -> Lookup | None:
        self.bound += 1
        (node,) = parse(text)
        return lookup_of(node, self.session.catalog) if isinstance(node, exp.Query) else None

    def find(self, text: str, *options: object) -> Lookup | None:
        shaped = shape_of(text)
        if shaped is None:
            return None
        return self.shapes.find(shaped, options, lambda: self.session.catalog, self.bind)


def _filled(text: str, source: random.Random) -> str:
    made: dict[str, Callable[[], str]] = {
        "s": lambda: source.choice(["'a'", "''", "'it''s'", "'5'", "'x;y'", "'é'", "'?s'"]),
        "i": lambda: str(source.choice([0, 1, 7, 2**31 - 1, source.randrange(10**9)])),
        "l": lambda: str(source.choice([2**31, 10**17, source.randrange(2**31, 10**18 - 1)])),
    }
    for kind, make in made.items():
        while f"{{{kind}}}" in text:
            text = text.replace(f"{{{kind}}}", make(), 1)
    return text


@pytest.mark.parametrize("statement", _STATEMENTS)
def test_a_known_shape_gives_the_look_up_of_the_statement(statement: str) -> None:
    binding, source = Binding(), random.Random(4)  # noqa: S311 - the same statements each time
    texts = [_filled(statement, source) for _ in range(80)]

    found = [(text, binding.find(text)) for text in texts]

    known = [(text, lookup) for text, lookup in found if lookup is not None]
    assert len(known) >= 40
    for text, lookup in known:
        assert lookup == binding.bind(text), text


def test_a_known_shape_is_not_bound_again() -> None:
    binding = Binding()
    first = [binding.find(f"SELECT n FROM texts WHERE id = 'k{at}';") for at in range(2)]
    assert first[0] is None
    assert first[1] is not None
    bound = binding.bound

    assert all(binding.find(f"SELECT n FROM texts WHERE id = 'k{at}';") for at in range(50))

    assert binding.bound == bound
    assert binding.find("SELECT n FROM texts WHERE id = 'k' ;") is None, "another shape"
    assert binding.find("SELECT n FROM texts WHERE id = 'k1';", "strict") is None, "other settings"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT n FROM texts WHERE id = 'a' OR n = 5;",
        "SELECT n + 1 FROM texts WHERE id = 'a';",
        "SELECT n FROM texts WHERE id = 5;",
        "SELECT n FROM hourly WHERE id = 'a' AND WINDOWSTART > '2026-01-01';",
        "SELECT n FROM texts WHERE id = 'a' AND n > 1.5;",
        "SELECT n FROM texts WHERE id = 'a' AND 1 = 1;",
        "SELECT `n` FROM texts WHERE id = 'a';",
        "SELECT n FROM texts WHERE id = '${x}';",
        "SELECT n FROM texts WHERE id = 'a' -- comment",
        "SELECT n FROM missing WHERE id = 'a';",
        "SELECT n FROM texts WHERE id = 'a'; SELECT n FROM texts WHERE id = 'b';",
        "SELECT COUNT(*) FROM texts WHERE id = 'a';",
        "SELECT n FROM",
    ],
)
def test_other_statements_are_parsed_each_time(text: str) -> None:
    binding = Binding()

    def bind(one: str) -> Lookup | None:
        nodes = parse(one)
        assert len(binding.shapes._forms) == 1  # noqa: SLF001
        return binding.bind(one) if len(nodes) == 1 else None

    shaped = shape_of(text)
    if shaped is not None:

        def catalog() -> Catalog:
            return binding.session.catalog

        for _ in range(5):
            assert binding.shapes.find(shaped, (), catalog, bind) is None
        assert binding.bound <= 2, "it is tried once"


def test_a_shape_is_learned_again_when_its_table_has_changed() -> None:
    binding = Binding()
    text = "SELECT n FROM texts WHERE id = 'a';"
    assert [binding.find(text) is not None for _ in range(3)] == [False, True, True]

    list(binding.session.run("DROP TABLE texts;"))
    assert binding.find(text) is None
    assert binding.bind(text) is None
    list(
        binding.session.run(
            "CREATE TABLE texts (id STRING PRIMARY KEY, x INT, n STRING) "
            "WITH (kafka_topic='t', value_format='JSON');"
        )
    )
    found = [binding.find(text) for _ in range(3)]

    assert found[-1] == binding.bind(text)
    assert found[-1] is not None
    assert found[-1].places == (2,)


def test_a_shape_whose_meaning_depends_on_a_literal_is_not_used() -> None:
    binding = Binding()
    shaped = shape_of("SELECT n FROM texts WHERE id = 'special';")
    assert shaped is not None

    def bind(text: str) -> Lookup | None:
        found = binding.bind(text)
        assert found is not None
        return replace(found, limit=1) if "special" in text else found

    for _ in range(4):
        assert binding.shapes.find(shaped, (), lambda: binding.session.catalog, bind) is None


def test_few_shapes_are_kept() -> None:
    binding = Binding()
    for at in range(3_000):
        binding.find(f"SELECT n AS x{at} FROM texts WHERE id = 'a';")

    assert len(binding.shapes._forms) <= 1_000  # noqa: SLF001
    assert len(binding.shapes._tried) <= 1_000  # noqa: SLF001


@pytest.mark.parametrize("number", ["1.0", "1E0", "1.00"])
@pytest.mark.parametrize(
    "query", ["SELECT n FROM numbers WHERE id = {};", "SELECT n FROM numbers WHERE id > {};"]
)
def test_a_whole_number_with_a_point_finds_an_integer_key(query: str, number: str) -> None:
    binding = Binding()

    # `1.0` and `1` are equal in Python, but only the latter can be a key.
    assert repr(binding.bind(query.format(number))) == repr(binding.bind(query.format("1")))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT n FROM numbers WHERE id = 1.5;",
        "SELECT n FROM numbers WHERE id > 1.5;",
        "SELECT n FROM places WHERE area = 'a' AND spot = 1E-1;",
    ],
)
def test_an_integer_key_and_a_number_with_a_fraction_are_compared_by_duckdb(query: str) -> None:
    assert Binding().bind(query) is None
