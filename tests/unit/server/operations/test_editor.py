"""Completion and checks over a connection: places, rights, limits, hostile texts."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from sqlglot import exp

from duolog.ksql.session import SqlSession
from duolog.ksql.statements.state import SessionState
from duolog.runtime.sql.statement_runner import StatementRunner
from duolog.schemas.languages import parse
from duolog.schemas.schema import Language, Schema
from duolog.schemas.source import SchemaText, Version, provide
from duolog.security.authorization.operations import Operation, ResourceType
from duolog.security.identity.principal import Identity
from duolog.server.access.checks import Checks
from duolog.server.access.guarded_session import GuardedSession
from duolog.server.access.visible_service import VisibleService
from unit.server.ksql.sessions import Catalog
from unit.server.memory import MemoryServer, Reply, context
from unit.server.users import ANN, BOB, Rules, access_with_users

STREAM = (
    "CREATE STREAM s (id STRING KEY, n INT, secret STRING) "
    "WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=1);"
)
TABLE = (
    "CREATE TABLE t (id STRING PRIMARY KEY, n INT) "
    "WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', PARTITIONS=1);"
)

SECRETS = SchemaText(
    Language.AVRO,
    '{"type":"record","name":"r","fields":[{"name":"salary","type":"int"}]}',
)


class Names(Rules):
    """Ann may do everything; bob may do what the test says, by name."""

    def __init__(self, **allowed: set[str]) -> None:
        super().__init__()
        self._allowed = allowed

    def allows(
        self, client: Identity, operation: Operation, resource: ResourceType, name: str
    ) -> bool:
        if client.principal.name == "ann":
            return True
        return name.removeprefix("default_.") in self._allowed.get(operation.name.lower(), set())


@pytest.fixture
def catalog() -> Catalog:
    made = Visible()
    for _ in SqlSession(made.state.catalog).run(STREAM + TABLE):
        pass
    made.state.catalog.partitions.update({"s": 1, "t": 1, "hidden-topic": 1})
    return made


class Shared:
    """A service over the catalog of a test, for sessions that see what their client may see."""

    service_id = "default_"
    ending = ""
    brokers = topics = data = None

    def __init__(self, catalog: Catalog) -> None:
        self._state = catalog.state

    def state_for(self, node: exp.Expression, mine: SessionState) -> SessionState:
        del node
        copy = self._state.catalog.copy()
        return SessionState(copy, mine.settings, mine.variables, dict(self._state.queries))


class Visible(Catalog):
    """A catalog whose sessions are those of a real server."""

    def session(
        self, properties: Mapping[str, str], variables: Mapping[str, str], checks: Checks
    ) -> GuardedSession:
        mine = super().session(properties, variables, checks).session
        service: Any = VisibleService(Shared(self), checks)  # type: ignore[arg-type]
        return GuardedSession(StatementRunner(service, mine), "default_", checks)


def ask(
    catalog: Catalog,
    path: str,
    body: dict[str, Any],
    authorization: str | None = None,
    rules: Rules | None = None,
) -> Reply:
    async def run() -> Reply:
        access = None if rules is None else access_with_users(rules)
        server = MemoryServer(context(access, ksql=catalog.endpoints()))
        headers = {} if authorization is None else {"Authorization": authorization}
        return await server.client().ask("POST", path, json.dumps(body).encode(), **headers)

    return asyncio.run(run())


def checked(
    catalog: Catalog, sql: str, authorization: str = "", rules: Rules | None = None, **more: Any
) -> dict[str, Any]:
    reply = ask(catalog, "/v1/check", {"sql": sql, **more}, authorization or None, rules)
    assert reply.status == 200, reply
    found: dict[str, Any] = json.loads(reply.body)
    return found


def marked(sql: str, found: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the marked texts with their messages."""
    units = sql.encode("utf-16-le")
    return [
        (
            units[2 * one["start"]["offset"] : 2 * one["end"]["offset"]].decode("utf-16-le"),
            one["message"],
        )
        for one in found["diagnostics"]
        if one["severity"] == "error"
    ]


def offered(
    catalog: Catalog, text: str, authorization: str = "", rules: Rules | None = None, **more: Any
) -> dict[str, Any]:
    offset = len(text[: text.index("|")].encode("utf-16-le")) // 2
    body = {"sql": text.replace("|", ""), "offset": offset, **more}
    reply = ask(catalog, "/v1/completion", body, authorization or None, rules)
    assert reply.status == 200, reply
    found: dict[str, Any] = json.loads(reply.body)
    return found


def texts(found: dict[str, Any]) -> list[str]:
    return [one["text"] for one in found["candidates"]]


def test_a_valid_text_has_statements_with_places_and_kinds(catalog: Catalog) -> None:
    sql = "-- all\nSHOW STREAMS;\nSELECT * FROM t; SELECT * FROM s EMIT CHANGES;PRINT 's'"

    found = checked(catalog, sql)

    assert found["diagnostics"] == []
    assert found["complete"] is True
    assert [one["kind"] for one in found["statements"]] == ["show", "pull", "push", "print"]
    first = found["statements"][0]
    assert first["start"] == {"offset": 7, "line": 2, "column": 1}
    assert sql[first["start"]["offset"] : first["end"]["offset"]] == "SHOW STREAMS;"


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("CREATE TYPE a AS INT;", "ddl"),
        ("CREATE STREAM a AS SELECT * FROM s;", "query"),
        ("INSERT INTO s (n) VALUES (1);", "insert"),
        ("DROP STREAM s;", "ddl"),
        ("EXPLAIN SELECT * FROM s;", "show"),
        ("ASSERT TOPIC nope;", "assert"),
        ("SELECT FROM", "unknown"),
    ],
)
def test_kinds(sql: str, kind: str, catalog: Catalog) -> None:
    assert [one["kind"] for one in checked(catalog, sql)["statements"]] == [kind]


@pytest.mark.parametrize(
    ("sql", "text", "message"),
    [
        ("SELECT COUNT(1 FROM s;", "FROM", "Expecting ')', found 'FROM'"),
        ("SELECT 1;\n  SELECT m FROM s EMIT CHANGES;", "m", "column 'M' cannot be resolved"),
        ("SELECT m FROM t;", "m", "column 'M' cannot be resolved"),
        ("SELECT * FROM tt;", "tt", "TT does not exist"),
        ("SELECT '😀', NOPE(n) FROM t;", "NOPE", "any functions with the name 'NOPE'"),
        ("SELECT 'a FROM t;", "'a FROM t;", "Expecting ' to close the text"),
        ("DROP STREAM s DELETE;", "DELETE", ""),
        ("PRINT 'nope';", "'nope'", "Could not find topic 'nope'"),
        ("SELECT id, COUNT(m) FROM s GROUP BY id EMIT CHANGES;", "m", "cannot be resolved"),
        ("RUN SCRIPT 'x.sql';", "RUN", "reads a file"),
        ("SELECT", "SELECT", ""),
    ],
)
def test_an_error_marks_the_token_that_it_is_about(
    sql: str, text: str, message: str, catalog: Catalog
) -> None:
    found = marked(sql, checked(catalog, sql))

    assert [one[0] for one in found if message in one[1]] == [text]


def test_a_hint_names_what_was_probably_meant(catalog: Catalog) -> None:
    (one,) = checked(catalog, "SELECT secre FROM s EMIT CHANGES;")["diagnostics"]

    assert one["hint"] == "Did you mean SECRET?"
    assert one["start"] == {"offset": 7, "line": 1, "column": 8}


def test_later_statements_see_what_earlier_ones_declare(catalog: Catalog) -> None:
    sql = (
        "CREATE STREAM a AS SELECT id, n AS m FROM s; SELECT m FROM a EMIT CHANGES;"
        "DEFINE c = 'm'; SELECT ${c} FROM a EMIT CHANGES; DROP TABLE t; SELECT * FROM t;"
    )

    assert marked(sql, checked(catalog, sql)) == [("t", "T does not exist.")]


def test_a_broken_declaration_is_reported_once(catalog: Catalog) -> None:
    sql = "CREATE STREAM a AS SELECT nope FROM s; SELECT * FROM a EMIT CHANGES;"

    assert [one[0] for one in marked(sql, checked(catalog, sql))] == ["nope"]
    sql = "CREATE STREAM a AS SELECT FROM FROM s; SELECT * FROM a EMIT CHANGES;"
    assert len(marked(sql, checked(catalog, sql))) == 1


def test_nothing_is_run_or_changed(catalog: Catalog) -> None:
    before = dict(catalog.state.catalog.sources)
    performed = list(catalog.performed)

    checked(
        catalog,
        "CREATE STREAM a AS SELECT * FROM s; DROP TABLE t; INSERT INTO s (n) VALUES (1);"
        "CREATE FUNCTION boom FROM 'duolog_boom:boom'; SELECT * FROM a EMIT CHANGES;",
    )

    assert catalog.state.catalog.sources == before
    assert catalog.state.queries == {}
    assert catalog.performed == performed
    assert catalog.selected == []


def test_a_checked_statement_registers_no_schema(catalog: Catalog) -> None:
    class Registry:
        """Refuses to be written."""

        def latest(self, subject: str) -> Version | None:
            del subject
            return None

        def id_of(self, subject: str, schema: SchemaText) -> int | None:
            del subject, schema
            return None

        def register(self, subject: str, schema: SchemaText) -> int:
            raise AssertionError((subject, schema))

    provide("mock://checked-only", Registry())  # type: ignore[arg-type]
    catalog.state.settings.given["ksql.schema.registry.url"] = "mock://checked-only"
    sql = (
        "CREATE STREAM a (n INT) WITH (KAFKA_TOPIC='a', VALUE_FORMAT='AVRO', PARTITIONS=1);"
        "CREATE STREAM b AS SELECT n + 1 AS m FROM a; SELECT m FROM b EMIT CHANGES;"
    )

    assert marked(sql, checked(catalog, sql)) == []


def test_variables_and_properties_of_the_session_count(catalog: Catalog) -> None:
    sql = "SELECT ${col}, x FROM t;"

    assert [one[0] for one in marked(sql, checked(catalog, sql))] == ["${col}"]
    found = checked(catalog, sql, sessionVariables={"col": "n"})
    assert [one[0] for one in marked(sql, found)] == ["x"]
    found = checked(catalog, sql, sessionVariables={"col": "nope"})
    assert marked(sql, found)[0][0] == "${col}"


@pytest.mark.parametrize(("name", "value"), [("nope", "1"), ("auto.offset.reset", "earl")])
def test_a_property_that_cannot_be_set_is_a_finding_and_the_text_is_checked_nevertheless(
    name: str, value: str, catalog: Catalog
) -> None:
    properties = {name: value}
    found = checked(catalog, "SELECT m FROM t;", properties=properties)

    assert [one["kind"] for one in found["statements"]] == ["pull"]
    first, second = found["diagnostics"]
    assert (first["rule"], first["severity"], first["start"]["offset"]) == ("session", "error", 0)
    assert name in first["message"]
    assert "'M' cannot be resolved" in second["message"]
    assert "ID" in texts(offered(catalog, "SELECT | FROM t;", properties=properties))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM s WHERE secret LIKE 'a%' AND n BETWEEN 1 AND 1e5 EMIT CHANGES;",
        "CREATE TABLE c AS SELECT id, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY id;",
        "SET 'auto.offset.reset' = 'earliest'; DEFINE x = 'y'; PRINT 's' FROM BEGINNING LIMIT 3;",
        "INSERT INTO s (id, n) VALUES ('é😀', CAST(1 AS INT)); EXPLAIN SELECT * FROM s;",
    ],
)
def test_no_text_is_a_bad_request_while_it_is_being_typed(sql: str, catalog: Catalog) -> None:
    for end in range(len(sql) + 1):
        typed = sql[:end]

        assert checked(catalog, typed)["version"] == 1
        offered(catalog, f"{typed}|")


def test_a_number_without_its_exponent_is_an_error_at_its_place(catalog: Catalog) -> None:
    sql = "SELECT id, n FROM s WHERE n > 1e"

    assert marked(sql, checked(catalog, sql)) == [("1e", "Invalid number: 1e")]


def test_statements_of_the_session_say_what_they_change(catalog: Catalog) -> None:
    sql = "SET 'auto.offset.reset' = 'earliest'; UNSET 'auto.offset.reset'; DEFINE a = '1';"

    assert [one["change"] for one in checked(catalog, sql)["statements"]] == [
        {"of": "property", "name": "auto.offset.reset", "value": "earliest"},
        {"of": "property", "name": "auto.offset.reset", "value": None},
        {"of": "variable", "name": "A", "value": "1"},
    ]


def test_likely_mistakes_are_warnings(catalog: Catalog) -> None:
    sql = "SELECT id FROM s WHERE id LIKE 'x' EMIT CHANGES; SET 'ksql.streams.x' = '1';"

    found = checked(catalog, sql)["diagnostics"]

    assert [(one["severity"], one["rule"]) for one in found] == [
        ("warning", "like-without-wildcard"),
        ("warning", "without-effect"),
    ]


def test_a_client_is_not_told_of_what_it_cannot_see(catalog: Catalog) -> None:
    rules = Names(describe={"T"}, read={"T"})
    hidden = checked(catalog, "SELECT secre FROM s EMIT CHANGES;", BOB, rules)
    missing = checked(catalog, "SELECT secre FROM x EMIT CHANGES;", BOB, rules)

    assert json.dumps(hidden).replace("S does", "X does") == json.dumps(missing)
    assert b"SECRET" not in json.dumps(hidden).encode()
    assert marked("SELECT n FROM t;", checked(catalog, "SELECT n FROM t;", BOB, rules)) == []
    topics = offered(catalog, "PRINT '|", BOB, Names(describe={"t"}))
    assert texts(topics) == ["t"]
    assert texts(offered(catalog, "SELECT * FROM |", BOB, rules)) == ["T"]
    assert texts(offered(catalog, "SELECT secr| FROM s;", BOB, rules)) == []
    assert rules.refused == [], "nothing was asked for, so there is nothing for the audit log"


def test_a_missing_right_is_an_error_of_the_statement(catalog: Catalog) -> None:
    rules = Names(describe={"T", "S", "s"}, read={"T"})
    sql = "SELECT n FROM s EMIT CHANGES; PRINT 's'; DROP TABLE t; SELECT n FROM t;"

    found = checked(catalog, sql, BOB, rules)

    assert [one["message"] for one in found["diagnostics"]] == [
        'you have no right to read source "default_.S"',
        'you have no right to read topic "s"',
        'you have no right to delete source "default_.T"',
    ]
    assert marked(sql, checked(catalog, sql, ANN, rules)) == [("t", "T does not exist.")]


def test_completion_counts_utf16_code_units(catalog: Catalog) -> None:
    found = offered(catalog, "SELECT '😀', secr| FROM s;")

    assert texts(found) == ["secret"]
    assert (found["from"], found["to"], found["complete"]) == (13, 17, True)


def test_completion_knows_the_variables_and_properties_of_the_session(catalog: Catalog) -> None:
    found = offered(catalog, "SELECT ${|", sessionVariables={"a": "1"})

    assert found["candidates"] == [{"text": "A}", "kind": "variable", "detail": "1", "help": ""}]


def test_the_user_of_the_registry_is_not_shown(catalog: Catalog) -> None:
    name = "ksql.schema.registry.basic.auth.user.info"
    catalog.state.settings.given[name] = "me:swordfish"

    found = offered(catalog, "SET 'ksql.schema.registry.basic.auth.u|")

    assert texts(found) == [name]
    assert "swordfish" not in json.dumps(found)


@pytest.mark.parametrize(
    "body",
    [
        {"sql": "x"},
        {"sql": "x", "offset": -1},
        {"sql": "x", "offset": "1"},
        {"sql": "x", "offset": True},
        {"sql": 7, "offset": 1},
        {"offset": 1},
    ],
)
def test_a_request_that_cannot_be_read(body: dict[str, Any], catalog: Catalog) -> None:
    assert ask(catalog, "/v1/completion", body).status == 400


def test_a_place_after_the_end_is_the_end(catalog: Catalog) -> None:
    reply = ask(catalog, "/v1/completion", {"sql": "SHO", "offset": 10**12})

    assert json.loads(reply.body)["candidates"][0]["text"] == "SHOW"


def test_a_text_of_a_megabyte_is_refused(catalog: Catalog) -> None:
    for path in ("/v1/check", "/v1/completion"):
        reply = ask(catalog, path, {"sql": "x" * 1_000_000, "offset": 0})

        assert reply.status == 413
        assert "more than" in json.loads(reply.body)["message"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT " + "(" * 100_000,
        "SELECT " + "1 + " * 50_000 + "1 FROM s EMIT CHANGES;",
        "SELECT " + "CASE WHEN " * 5_000,
        "SELECT a" + "->b" * 60_000 + " FROM s EMIT CHANGES;",
        ";" * 200_000,
        "SHOW STREAMS;" * 19_000,
        "SELECT m FROM s EMIT CHANGES;" * 900,
        "'" * 200_001,
        "/*" * 100_000,
        "`" * 200_001,
        "\x00\u202e\ud7ff" * 1000,
        "CREATE TYPE a AS " + "STRUCT<a " * 5_000,
    ],
    ids=range(12),
)
def test_hostile_texts_are_answered(sql: str, catalog: Catalog) -> None:
    found = checked(catalog, sql)

    assert len(found["diagnostics"]) <= 200
    assert found["diagnostics"] or not sql.strip(";")
    for one in found["diagnostics"]:
        assert 0 <= one["start"]["offset"] <= one["end"]["offset"] <= len(sql)
    assert ask(catalog, "/v1/completion", {"sql": sql, "offset": len(sql)}).status == 200


def test_long_values_of_variables_cost_no_memory(catalog: Catalog) -> None:
    found = checked(catalog, "SELECT " + "${a}" * 1000, sessionVariables={"a": "x" * 1_000_000})

    assert "longer than" in found["diagnostics"][0]["message"]


def test_after_the_deadline_no_statement_is_begun(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duolog.server.operations.editor.CHECK_S", -1.0)

    found = checked(catalog, "SELECT nope FROM nope;")

    assert (found["complete"], found["diagnostics"]) == (False, [])


def test_a_session_state_is_a_copy(catalog: Catalog) -> None:
    before: SessionState = catalog.state
    checked(catalog, "DEFINE a = '1'; SET 'auto.offset.reset' = 'latest';")

    assert before.variables == {}
    assert before.settings["auto.offset.reset"] == "earliest"


def test_columns_of_a_schema_are_not_shown_without_the_right_to_read_the_topic(
    catalog: Catalog,
) -> None:
    asked: list[str] = []

    class Registry:
        """Has a schema with a secret column."""

        def latest(self, subject: str) -> Version | None:
            asked.append(subject)
            return Version(subject, 1, 1, SECRETS)

        def by_id(self, schema_id: int) -> Schema:
            del schema_id
            return parse(SECRETS.language, SECRETS.text, {}, strict=False)

    provide("mock://secrets", Registry())  # type: ignore[arg-type]
    catalog.state.settings.given["ksql.schema.registry.url"] = "mock://secrets"
    sql = (
        "CREATE STREAM a WITH (KAFKA_TOPIC='hidden-topic', VALUE_FORMAT='AVRO');"
        "SELECT salar FROM a EMIT CHANGES;"
    )

    may_create = checked(catalog, sql, BOB, Names(create={"A"}, describe={"A"}, read={"A"}))
    assert asked
    asked.clear()
    may_not = checked(catalog, sql, BOB, Names())

    assert asked == []
    assert b"SALARY" not in json.dumps([may_create, may_not]).encode()
    assert b"SALARY" in json.dumps(checked(catalog, sql)).encode()
    assert [one["message"] for one in may_create["diagnostics"]] == [
        'you have no right to read topic "hidden-topic"'
    ]
