"""Tables whose rows expire: WITH (TTL = '10 MILLISECONDS')."""

import pytest

from duolog.ksql.catalog.declarations import declaration
from duolog.ksql.errors import SqlError
from duolog.ksql.session import SqlSession
from duolog.plan.nodes import AggregateNode, TableSource, ToTable
from unit.ksql.join_queries import BEGIN, STRICT, Given, in_kernel, planned, run

BRIEF = """CREATE TABLE brief (id INT PRIMARY KEY, a INT, h BYTES HEADER('h'))
    WITH (kafka_topic='brief', format='JSON', ttl='10 MILLISECONDS');"""
STAYS = "CREATE TABLE brief (id INT PRIMARY KEY, a INT) WITH (kafka_topic='brief', format='JSON');"
PLAIN = BRIEF.replace(", h BYTES HEADER('h')", "")


COUNTED = "CREATE TABLE made WITH (ttl='10 MILLISECONDS') AS SELECT id, COUNT(*) AS n, MAX(km) AS km FROM ends GROUP BY id"
ENDS: tuple[Given, ...] = (
    ("ends", 1, {"KM": 5}, 0),
    ("ends", 1, {"KM": 3}, 9),
    ("ends", 2, {"KM": 3}, 18),
    ("ends", 1, {"KM": 4}, 18),
    ("ends", 2, {"KM": 3}, 30),
    ("ends", 1, {"KM": 1}, 30),
)


def test_an_expired_group_starts_from_its_initial_value() -> None:
    written = run(COUNTED, *ENDS)

    assert [(key, value["N"], value["KM"]) for key, value, _ in written] == [  # type: ignore[index]
        (1, 1, 5),
        (1, 2, 5),
        (2, 1, 3),
        (1, 3, 5),
        (2, 1, 3),
        (1, 1, 1),
    ]


@pytest.mark.spark
def test_the_kernel_expires_the_same_rows() -> None:
    query = f"{BRIEF} CREATE STREAM made AS SELECT e.id, b.a FROM ends e LEFT JOIN brief b ON e.id = b.id"

    assert in_kernel(COUNTED, *ENDS) == run(COUNTED, *ENDS)
    assert in_kernel(query, *JOINED) == run(query, *JOINED)


def test_expired_distinct_rows_are_emitted_again() -> None:
    written = run(
        "CREATE TABLE made WITH (ttl='10 MILLISECONDS') AS SELECT DISTINCT city FROM rides",
        *(("rides", 1, {"CITY": "Bonn"}, at) for at in (0, 20)),
    )

    assert [(key, at) for key, _, at in written] == [("Bonn", 0), ("Bonn", 20)]


JOINED: tuple[Given, ...] = (
    ("brief", 1, {"A": 1}, 0),
    ("brief", 2, {"A": 2}, 5),
    ("ends", 1, {"KM": 5}, 6),
    ("brief", 3, {"A": 3}, 12),
    ("ends", 1, {"KM": 5}, 13),
    ("ends", 2, {"KM": 5}, 13),
)


@pytest.mark.parametrize("declared", [PLAIN, BRIEF])
def test_a_join_does_not_match_expired_rows(declared: str) -> None:
    written = run(
        f"{declared} CREATE STREAM made AS SELECT e.id, b.a FROM ends e LEFT JOIN brief b ON e.id = b.id",
        *JOINED,
    )

    assert [value["A"] for _, value, _ in written] == [1, None, 2]  # type: ignore[index]


def test_results_derived_from_a_row_expire_with_it() -> None:
    session = SqlSession()
    list(
        session.run(
            f"{BEGIN}{BRIEF} CREATE TABLE big AS SELECT id, a FROM brief WHERE a > 1; "
            "CREATE TABLE counts WITH (ttl='7 days') AS SELECT id, COUNT(*) AS n FROM ends GROUP BY id; "
            "CREATE TABLE both AS SELECT big.id, a, n FROM big JOIN counts ON big.id = counts.id; "
            "CREATE STREAM seen AS SELECT e.id, n FROM ends e JOIN counts c ON e.id = c.id;"
        )
    )
    sources = session.state.catalog.sources

    assert [sources[name].ttl_ms for name in ("BRIEF", "BIG", "COUNTS", "BOTH", "SEEN")] == [
        10,
        10,
        604_800_000,
        10,
        None,
    ]
    nodes = [node for query in session.state.queries.values() for node in query.planned.plan.nodes]
    kept = [node for node in nodes if isinstance(node, TableSource | ToTable | AggregateNode)]
    assert {node.ttl_ms for node in kept} == {10, 604_800_000}


def test_the_time_to_live_may_be_changed_later() -> None:
    session = SqlSession()
    list(session.run(PLAIN + PLAIN.replace("CREATE", "CREATE OR REPLACE").replace("10", "11")))

    assert session.state.catalog.sources["BRIEF"].ttl_ms == 11


def test_a_topology_s_table_is_declared_with_its_time_to_live() -> None:
    (node,) = [
        one
        for one in planned(f"{PLAIN} CREATE STREAM made AS CHANGES OF brief").plan.nodes
        if isinstance(one, TableSource)
    ]

    assert "TTL = '10 MILLISECONDS'" in declaration(node, "brief", "BRIEF")


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("CREATE STREAM made (a INT) WITH (kafka_topic='t', format='JSON', ttl='1 DAY')", "TTL is only allowed for tables"),
        ("CREATE TABLE made WITH (ttl='1 DAY') AS SELECT * FROM drivers", "TTL applies to groups"),
        ("CREATE TABLE made WITH (ttl='1 MONTH') AS SELECT id, COUNT(*) AS n FROM ends GROUP BY id",
         "The length of a MONTH varies"),
        ("CREATE TABLE made WITH (ttl='soon') AS SELECT id, COUNT(*) AS n FROM ends GROUP BY id",
         "Configuration TTL is invalid: Invalid duration: 'soon'"),
        ("CREATE TABLE made WITH (ttl='0 DAYS') AS SELECT id, COUNT(*) AS n FROM ends GROUP BY id", "Not a positive number"),
        ("CREATE TABLE made WITH (ttl='1 DAY') AS SELECT id, COUNT(*) AS n FROM ends WINDOW TUMBLING (SIZE 1 DAY) GROUP BY id",
         "TTL is not allowed for windows"),
        ("CREATE TABLE made WITH (ttl='1 DAY') AS SELECT home, COUNT(*) AS n FROM drivers GROUP BY home",
         "TTL is not allowed for groups of a table"),
        (f"{PLAIN} CREATE TABLE made AS SELECT a, COUNT(*) AS n FROM brief GROUP BY a", "cannot group table"),
        (f"{PLAIN} CREATE OR REPLACE {STAYS[7:]}", "has TTL = 10 ms which is not upgradeable to none."),
    ],
)  # fmt: skip
def test_unsupported_expirations_are_refused(statement: str, said: str) -> None:
    with pytest.raises(SqlError) as caught:
        planned(statement)

    assert said in caught.value.message


@pytest.mark.parametrize(
    "statement",
    [
        PLAIN,
        "CREATE TABLE made WITH (ttl='1 DAY') AS SELECT id, COUNT(*) AS n FROM ends GROUP BY id",
        f"{PLAIN.replace('ttl', 'window_timezone')}",
    ],
)
def test_strict_mode_has_no_such_property(statement: str) -> None:
    with pytest.raises(SqlError) as caught:
        planned(statement, STRICT)

    assert "Invalid config variable(s) in the WITH clause: " in caught.value.message
