"""Statements accepted under older rules keep their meaning under newer ones."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import pytest

from duolog.ksql.catalog.catalog import Registered
from duolog.ksql.errors import SqlError
from duolog.ksql.settings import Settings
from duolog.ksql.syntax.script import parse
from duolog.runtime.sql.command_log.commands import FIRST, Command, decode, encode
from duolog.runtime.sql.command_log.replayed_catalog import ReplayedCatalog
from duolog.runtime.sql.errors import CommandDamaged

if TYPE_CHECKING:
    from duolog.runtime.sql.command_log.command_topic import CommandTopic

STRICT = {"ksql.compatibility": "strict"}
RIDES = "CREATE STREAM rides (id INT KEY, km INT) WITH (kafka_topic='rides', value_format='KAFKA');"
PLAIN = RIDES.replace("KAFKA');", "JSON');")
WINDOWED = PLAIN.replace("');", "', window_type='SESSION');")


class Records:
    """A command topic in memory."""

    name = "commands"

    def __init__(self, *commands: Command) -> None:
        self._commands = commands

    def read(self) -> Iterator[tuple[int, Command]]:
        yield from enumerate(self._commands)


def replayed(*commands: Command) -> ReplayedCatalog:
    return ReplayedCatalog(cast("CommandTopic", Records(*commands)))


def test_a_record_without_a_rules_version_has_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("duolog.runtime.sql.command_log.commands._check", lambda _content: None)
    content = json.loads(encode(Command("CREATE …;", FIRST)))
    del content["rules"]

    assert decode(json.dumps(content).encode(), "commands", 0).rules == 1
    assert decode(encode(Command("CREATE …;", FIRST)), "commands", 0).rules == 3


@pytest.mark.parametrize(("rules", "topic"), [(1, "FAR"), (2, "eu-FAR")])
def test_a_result_topic_keeps_its_name_if_its_prefix_had_no_effect(rules: int, topic: str) -> None:
    prefix = {"ksql.output.topic.name.prefix": "eu-"}
    far = Command("CREATE STREAM far AS SELECT * FROM rides;", 0, prefix, rules=rules)
    found = replayed(Command(PLAIN, FIRST), far)

    found.follow()

    assert found.catalog.sources["FAR"].topic == topic


@pytest.mark.parametrize(
    ("source", "statement"),
    [
        (RIDES, "CREATE TABLE n WITH (value_format='JSON') AS SELECT km, COUNT(*) AS n FROM rides GROUP BY km;"),
        (PLAIN, "CREATE STREAM n WITH (key_format='JSON') AS SELECT km FROM rides PARTITION BY NULL;"),
        (PLAIN, "CREATE TABLE n AS SELECT km, COUNT(*) AS c FROM rides WINDOW SESSION (1 HOUR) GROUP BY km HAVING WINDOWSTART > 3;"),
        (WINDOWED, "CREATE STREAM n AS SELECT id, km FROM rides PARTITION BY km;"),
    ],
)  # fmt: skip
def test_a_statement_accepted_in_strict_mode_still_runs(source: str, statement: str) -> None:
    begin, made = Command(source, FIRST), Command(statement, 0, STRICT)

    older = replayed(begin, replace(made, rules=1))
    older.follow()

    assert "N" in older.catalog.sources
    with pytest.raises(CommandDamaged, match="offset 1"):
        replayed(begin, made).follow()


def test_an_invalid_time_pattern_is_kept_if_it_was_accepted() -> None:
    timed = PLAIN.replace("km INT", "at STRING").replace(
        "');", "', timestamp='at', timestamp_format='{');"
    )

    older = replayed(Command(timed, FIRST, rules=2))
    older.follow()

    assert "RIDES" in older.catalog.sources
    with pytest.raises(CommandDamaged, match="offset 0"):
        replayed(Command(timed, FIRST)).follow()


def test_an_array_as_map_key_is_kept_if_it_was_accepted() -> None:
    mapped = Command(PLAIN.replace("km INT", "m MAP<STRING, INT>"), FIRST)
    made = Command("CREATE STREAM n AS SELECT id, m[ARRAY['a']] AS x FROM rides;", 0)

    older = replayed(mapped, replace(made, rules=2))
    older.follow()

    assert "N" in older.catalog.sources
    with pytest.raises(CommandDamaged, match="has no item"):
        replayed(mapped, made).follow()


def test_a_replacement_of_an_aggregate_is_kept_if_it_was_accepted() -> None:
    counted = "CREATE TABLE n AS SELECT km, COUNT(*) AS c FROM rides GROUP BY km;"
    made = Command(counted, 0, STRICT)
    other = Command(counted.replace("TABLE", "OR REPLACE TABLE").replace("(*)", "(1)"), 1, STRICT)

    older = replayed(Command(PLAIN, FIRST), made, replace(other, rules=2))
    older.follow()

    assert "COUNT(1)" in older.catalog.sources["N"].statement
    with pytest.raises(CommandDamaged, match="matching aggregationFunctions"):
        replayed(Command(PLAIN, FIRST), made, other).follow()


_ONLY_NULLS = "CREATE STREAM n AS SELECT id, {} AS x FROM rides;"


@pytest.mark.parametrize(
    "statement",
    [
        *map(_ONLY_NULLS.format, ("CONCAT(NULL, NULL)", "GREATEST(NULL, NULL)", "LEAST(NULL)", "CONCAT_WS(NULL, NULL, NULL)")),
        _ONLY_NULLS.format("CAST(NULL AS STRUCT<a INT, a STRING>)"),
        "CREATE STREAM n (s STRUCT<a INT, a STRING>) WITH (kafka_topic='n', value_format='JSON', partitions=1);",
        "CREATE STREAM n (s INT) WITH (kafka_topic='n', value_format='JSON', partitions=-1);",
    ],
)  # fmt: skip
@pytest.mark.parametrize("given", [{}, STRICT], ids=["default", "strict"])
def test_an_earlier_accepted_statement_still_runs(statement: str, given: dict[str, str]) -> None:
    found = replayed(Command(PLAIN, FIRST), Command(statement, 0, given, rules=1))

    found.follow()

    assert "N" in found.catalog.sources


@pytest.mark.parametrize("call", ["CONCAT(NULL, NULL)", "GREATEST(NULL, NULL)", "LEAST(NULL)"])
def test_calls_with_nulls_only_are_refused_in_strict_mode_only(call: str) -> None:
    made = Command(_ONLY_NULLS.format(call), 0)
    found = replayed(Command(PLAIN, FIRST), made)

    found.follow()

    assert "N" in found.catalog.sources
    with pytest.raises(CommandDamaged, match="ambiguous method parameters"):
        replayed(Command(PLAIN, FIRST), replace(made, properties=STRICT)).follow()


def test_a_statement_is_replayed_with_the_schemas_that_it_found_and_the_registry_of_now() -> None:
    kept = [{"id": 7, "text": '"int"', "columns": [["A", "INT", "VALUE"]]}]
    command = Command(
        "CREATE STREAM s WITH (kafka_topic='t', value_format='AVRO');",
        FIRST,
        {"ksql.schema.registry.url": "http://old"},
        schemas=kept,
    )
    topic = cast("CommandTopic", Records(command))

    now, moved = ReplayedCatalog(topic), ReplayedCatalog(topic, "http://new")
    now.follow()
    moved.follow()

    sources = [one.catalog.sources["S"] for one in (now, moved)]
    assert [[str(column) for column in one.columns] for one in sources] == [["`A` INTEGER"]] * 2
    assert [one.value_format.registered for one in sources] == [
        Registered("http://old", 7, '"int"'),
        Registered("http://new", 7, '"int"'),
    ]


def test_a_query_gets_the_smallest_free_number_and_keeps_it() -> None:
    """The numbers decide which server runs a query: gaps would make the parts of servers unequal."""
    statements = [
        (PLAIN, 0),
        *((f"CREATE STREAM q{n} AS SELECT * FROM rides;", n) for n in range(3)),
        ("TERMINATE CSAS_Q1_1;", 3),
        ("INSERT INTO q0 SELECT * FROM rides;", 3),
        ("CREATE OR REPLACE STREAM q2 AS SELECT * FROM rides WHERE km > 3;", 4),
        ("CREATE STREAM q4 AS SELECT * FROM rides;", 4),
    ]
    found = replayed(
        *(Command(one, at - 1, begun=begun) for at, (one, begun) in enumerate(statements))
    )

    found.follow()

    assert {query_id: one.number for query_id, one in found.wanted.items()} == {
        "CSAS_Q0_0": 0,
        "CSAS_Q2_2": 2,  # A replaced query stays on its server.
        "INSERTQUERY_3": 1,  # The number of the ended query is used again.
        "CSAS_Q4_4": 3,
    }


def test_secrets_of_the_server_s_properties_are_in_no_command() -> None:
    written: list[Command] = []

    class Writable(Records):
        last = FIRST

        def append(self, command: Command) -> int:
            written.append(command)
            self._commands = (*self._commands, command)
            self.last = 0
            return self.last

        def read(self) -> Iterator[tuple[int, Command]]:
            found, self._commands = self._commands, ()
            yield from enumerate(found)

    given = {
        "auto.offset.reset": "earliest",
        "consumer.ssl.keystore.password": "swordfish",
        "producer.sasl.jaas.config": "password='swordfish';",
        "ksql.schema.registry.basic.auth.user.info": "ann:swordfish",
    }
    (node,) = parse(PLAIN)

    ReplayedCatalog(cast("CommandTopic", Writable())).run(
        node, PLAIN, Settings(given), lambda _done, _state: {}
    )

    assert [one.properties for one in written] == [{"auto.offset.reset": "earliest"}]
    assert b"swordfish" not in encode(written[0])


def test_a_query_knows_the_queries_that_it_has_replaced() -> None:
    """A server to which it moves restores their state, if it was not upgraded before."""
    far = "CREATE STREAM far AS SELECT * FROM rides WHERE km > {};"
    texts = [
        PLAIN,
        far.format(0),
        *(far.format(km).replace("CREATE", "CREATE OR REPLACE") for km in range(1, 11)),
    ]
    commands = [
        Command(text, offset - 1, begun=offset, query="CSAS_FAR_1" if offset else "")
        for offset, text in enumerate(texts)
    ]
    commands.append(Command("PAUSE CSAS_FAR_1;", len(commands) - 1))
    found = replayed(*commands[:2])
    found.follow()
    (query_id,) = found.wanted
    first = found.wanted[query_id].query
    assert found.wanted[query_id].earlier == ()

    found = replayed(*commands[:3])
    found.follow()
    assert [one.statement for one in found.wanted[query_id].earlier] == [first.statement]
    found = replayed(*commands)
    found.follow()

    statements = [one.statement for one in found.wanted[query_id].earlier]
    assert statements == texts[10:2:-1]


@pytest.mark.parametrize("text", ["", "DROP TYPE a; DROP TYPE b;", "SHOW TYPES;", "DROP TYPE"])
def test_a_text_that_is_not_its_statement_is_not_written(text: str) -> None:
    """It would damage the topic: no server of the service could read its catalog again."""
    found = replayed(Command("CREATE TYPE a AS INT;", FIRST))
    (node,) = parse("CREATE TYPE b AS INT;")

    with pytest.raises(SqlError):
        found.run(node, text, Settings(), lambda _done, _state: {})

    assert found.catalog.types.keys() == {"A"}
