"""The rights of each kind of statement, and what users without them see."""

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from sqlglot import exp

from duolog.core.errors import DuologError
from duolog.ksql.session import Done, SqlSession
from duolog.ksql.settings import Settings
from duolog.ksql.statements.state import SessionState
from duolog.ksql.syntax import nodes
from duolog.runtime.sql.answers import Rows
from duolog.runtime.sql.service import Ensure
from duolog.security.authorization.operations import Operation, ResourceType
from duolog.security.identity.principal import USER, Identity, Principal
from duolog.server.access.checks import EVERYTHING, Checks
from duolog.server.access.client import Client
from duolog.server.access.client_properties import ClientProperties
from duolog.server.access.guarded_session import GuardedSession
from duolog.server.access.statement_rights import Known, rights_before
from duolog.server.access.visible_service import VisibleService
from duolog.server.errors import SHUT_DOWN, SHUTTING_DOWN, RequestRefused
from waiting import DEADLINE_S

CATALOG = """
CREATE STREAM orders (id INT, price INT) WITH (KAFKA_TOPIC='orders', VALUE_FORMAT='JSON');
CREATE STREAM secret (id INT, price INT) WITH (KAFKA_TOPIC='vault', VALUE_FORMAT='JSON');
CREATE STREAM every (id INT) WITH (TOPIC_PATTERN='a.*', VALUE_FORMAT='JSON');
CREATE STREAM copied AS SELECT * FROM orders;
CREATE STREAM leaked AS SELECT * FROM secret;
"""
TOPICS = {"orders": 1, "vault": 1, "a1": 1, "COPIED": 1, "LEAKED": 1}


def catalog() -> SqlSession:
    session = SqlSession()
    session.catalog.partitions.update(TOPICS)
    list(session.run(CATALOG))
    session.catalog.partitions.update(TOPICS)
    return session


class Grants:
    """An authorizer with a few grants."""

    epoch = 0

    def __init__(self, *grants: tuple[str, str]) -> None:
        """Each is an operation and `TYPE:NAME`; of DESCRIBE, READ is enough."""
        self.grants = set(grants)
        self.refused: list[str] = []
        self.threads: set[int] = set()

    def allows(
        self, client: Identity, operation: Operation, resource: ResourceType, name: str
    ) -> bool:
        self.threads.add(threading.get_ident())
        assert client.principal.name == "ann"
        full = f"{resource.name}:{name}"
        implied = operation is Operation.DESCRIBE and any(
            (other.name, full) in self.grants
            for other in (Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER)
        )
        return implied or (operation.name, full) in self.grants

    def allows_any(self, client: Identity, operation: Operation, resource: ResourceType) -> bool:
        return self.allows(client, operation, resource, "")

    def operations(self, client: Identity, resource: ResourceType, name: str) -> int:
        del client, resource, name
        return 0

    def note_refusal(
        self, client: Identity, operation: Operation, resource: ResourceType, name: str
    ) -> None:
        del client
        self.refused.append(f"{operation.name} {resource.name}:{name}")


class Service:
    """The part of a service that sessions use."""

    service_id = "default_"

    def __init__(self) -> None:
        self._state = catalog().state
        self.version = 7
        self.ending = ""

    def state_for(self, _node: exp.Expression, mine: SessionState) -> SessionState:
        state = self._state
        return SessionState(
            state.catalog.copy(), mine.settings, mine.variables, dict(state.queries), state.begun
        )

    def change(self, node: exp.Expression, text: str, given: Settings, ensure: Ensure) -> Done:
        before = self._state
        after = SqlSession(before.catalog.copy())
        done = after.execute(node.copy(), text)
        assert given is not None
        ensure(before, after.state)
        return done


class Redeclared(Service):
    """Stream ORDERS is over the topic of SECRET as soon as a client has looked at it."""

    def state_for(self, node: exp.Expression, mine: SessionState) -> SessionState:
        state = super().state_for(node, mine)
        sources = self._state.catalog.sources
        sources["ORDERS"] = replace(sources["SECRET"], name="ORDERS")
        return state


class Inner:
    """Runs statements on the state that its service shows."""

    def __init__(self, service: Any) -> None:
        self.service = service
        self.session = SqlSession(of_tests=False)
        self.ran: list[str] = []

    def sandbox(self) -> SqlSession:
        copy = SqlSession(of_tests=False)
        copy.state = self.service.state_for(exp.Null(), self.session.state)
        return copy

    def perform(self, node: exp.Expression, text: str) -> Done:
        if isinstance(node, nodes.DropSource):
            done: Done = self.service.change(node, text, self.session.state.settings)
            self.ran.append(text)
            return done
        self.session.state = self.service.state_for(node, self.session.state)
        self.ran.append(text)
        return self.session.execute(node, text)

    def insert_all(self, rows: Sequence[nodes.InsertValues]) -> list[DuologError | None]:
        self.ran += [text for _, text in rows]
        return [None for _ in rows]

    def select(self, node: exp.Query, text: str) -> Rows:
        del node
        self.ran.append(text)
        return None  # type: ignore[return-value]

    def printed(self, node: nodes.PrintTopic) -> Rows:
        del node
        self.ran.append("PRINT")
        return None  # type: ignore[return-value]


def session_of(
    grants: Grants | None, service: Service | None = None
) -> tuple[GuardedSession, Inner]:
    checks = Checks(Client(Identity(Principal(USER, "ann"), "127.0.0.1"), grants), None)
    inner = Inner(VisibleService(service or Service(), checks))  # type: ignore[arg-type]
    return GuardedSession(inner, "default_", checks), inner


def run(session: GuardedSession, text: str) -> list[Any]:
    done: list[Any] = []
    for node, written in session.session.read(text):
        match node:
            case exp.Query():
                done.append(session.select(node, written))
            case nodes.PrintTopic():
                done.append(session.printed(node))
            case _:
                done.append(session.perform(node, written))
    return done


def needed(text: str) -> set[str]:
    state = catalog().state
    known = Known("default_", state.catalog.sources, state.queries)
    ((node, _),) = SqlSession().read(text)
    return {
        f"{right.operation.name} {right.resource.name}:{right.name}"
        for right in rights_before(node, known)
    }


@pytest.mark.parametrize(
    ("text", "rights"),
    [
        ("SELECT * FROM orders;", {"READ SOURCE:default_.ORDERS"}),
        (
            "SELECT * FROM orders JOIN secret ON orders.id = secret.id EMIT CHANGES;",
            {"READ SOURCE:default_.ORDERS", "READ SOURCE:default_.SECRET"},
        ),
        (
            "SELECT (SELECT MAX(id) FROM secret) FROM orders;",
            {"READ SOURCE:default_.ORDERS", "READ SOURCE:default_.SECRET"},
        ),
        (
            "WITH secret AS (SELECT * FROM secret) SELECT * FROM secret;",
            {"READ SOURCE:default_.SECRET"},
        ),
        ("PRINT vault;", {"READ TOPIC:vault"}),
        ("PRINT 'vault' FROM BEGINNING;", {"READ TOPIC:vault"}),
        (
            "CREATE STREAM x (id INT) WITH (KAFKA_TOPIC='vault', VALUE_FORMAT='JSON');",
            {"CREATE SOURCE:default_.X"},
        ),
        (
            "CREATE OR REPLACE STREAM x AS SELECT * FROM secret;",
            {"CREATE SOURCE:default_.X", "ALTER SOURCE:default_.X", "READ SOURCE:default_.SECRET"},
        ),
        (
            "INSERT INTO orders SELECT * FROM secret;",
            {"WRITE SOURCE:default_.ORDERS", "WRITE TOPIC:orders", "READ SOURCE:default_.SECRET"},
        ),
        (
            "INSERT INTO secret (id) VALUES (1);",
            {"WRITE SOURCE:default_.SECRET", "WRITE TOPIC:vault"},
        ),
        ("DROP STREAM secret;", {"DELETE SOURCE:default_.SECRET"}),
        (
            "DROP STREAM secret DELETE TOPIC;",
            {"DELETE SOURCE:default_.SECRET", "DELETE TOPIC:vault"},
        ),
        ("DROP STREAM every DELETE TOPIC;", {"DELETE SOURCE:default_.EVERY", "DELETE TOPIC:"}),
        ("ALTER STREAM secret ADD COLUMN x INT;", {"ALTER SOURCE:default_.SECRET"}),
        ("TERMINATE CSAS_COPIED_1;", {"ALTER SOURCE:"}),
        ("PAUSE ALL;", {"ALTER SOURCE:"}),
        ("CREATE TYPE t AS INT;", {"ALTER SOURCE:"}),
        ("DROP TYPE t;", {"ALTER SOURCE:"}),
        ("DESCRIBE secret;", {"DESCRIBE SOURCE:default_.SECRET"}),
        ("DESCRIBE FUNCTION lcase;", set()),
        ("EXPLAIN SELECT * FROM secret;", {"DESCRIBE SOURCE:default_.SECRET"}),
        ("SHOW STREAMS;", set()),
        ("SET 'auto.offset.reset' = 'earliest';", set()),
        ("DEFINE a = 'b';", set()),
        ("ASSERT TOPIC vault;", {"DESCRIBE TOPIC:vault"}),
        ("CREATE FUNCTION f FROM 'os.system';", {"ALTER CLUSTER:kafka-cluster"}),
        ("ALTER SYSTEM 'a' = 'b';", {"ALTER CLUSTER:kafka-cluster"}),
        ("RUN SCRIPT '/etc/passwd';", {"ALTER CLUSTER:kafka-cluster"}),
    ],
)
def test_each_kind_of_statement_has_its_rights(text: str, rights: set[str]) -> None:
    assert needed(text) == rights


def test_a_query_is_ended_by_a_right_on_its_target() -> None:
    state = catalog().state
    (query_id,) = (name for name, query in state.queries.items() if query.sink == "COPIED")

    assert needed(f"TERMINATE {query_id};") == {"ALTER SOURCE:default_.COPIED"}


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM secret;",
        "SELECT * FROM missing;",
        "PRINT vault;",
        "DESCRIBE secret;",
        "DESCRIBE missing;",
        "DROP STREAM secret;",
        "DROP STREAM missing;",
        "INSERT INTO secret (id) VALUES (1);",
        "INSERT INTO missing (id) VALUES (1);",
        "CREATE STREAM mine AS SELECT * FROM secret;",
        "CREATE FUNCTION f FROM 'os.system';",
        "PAUSE ALL;",
        "TERMINATE CSAS_LEAKED_9;",
    ],
)
def test_a_refused_statement_does_not_run_and_does_not_reveal_what_exists(text: str) -> None:
    grants = Grants(("READ", "SOURCE:default_.ORDERS"), ("CREATE", "SOURCE:default_.MINE"))
    session, inner = session_of(grants)

    with pytest.raises(RequestRefused) as refused:
        run(session, text)

    assert (refused.value.code, refused.value.message) == (
        40300,
        "You are forbidden from using this cluster.",
    )
    assert inner.ran == []
    assert len(grants.refused) == 1


@pytest.mark.parametrize(
    ("text", "source_right", "topic_right"),
    [
        ("DROP STREAM orders DELETE TOPIC;", "DELETE", "DELETE"),
        ("INSERT INTO orders (id) VALUES (1);", "WRITE", "WRITE"),
    ],
)
def test_rights_are_those_on_the_stream_that_a_statement_changes(
    text: str, source_right: str, topic_right: str
) -> None:
    """A client could declare its stream over a topic that it may only read, between two checks."""
    grants = Grants((source_right, "SOURCE:default_.ORDERS"), (topic_right, "TOPIC:orders"))
    session, inner = session_of(grants, Redeclared())

    with pytest.raises(RequestRefused):
        run(session, text)

    assert inner.ran == []
    assert grants.refused == [f"{topic_right} TOPIC:vault"]
    session, inner = session_of(grants)
    run(session, text)
    assert inner.ran == [text]


def test_a_stream_over_a_topic_needs_the_right_to_read_the_topic() -> None:
    text = "CREATE STREAM mine (id INT) WITH (KAFKA_TOPIC='vault', VALUE_FORMAT='JSON');"
    create = ("CREATE", "SOURCE:default_.MINE")
    session, inner = session_of(Grants(create))
    with pytest.raises(RequestRefused):
        run(session, text)
    with pytest.raises(RequestRefused):
        session.sandbox().execute(next(session.session.read(text))[0], text)
    assert inner.ran == []

    session, inner = session_of(Grants(create, ("READ", "TOPIC:vault")))
    run(session, text)
    assert inner.ran == [text]


def test_a_stream_over_a_pattern_of_topics_needs_a_right_on_all_topics() -> None:
    text = "CREATE STREAM mine (id INT) WITH (TOPIC_PATTERN='v.*', VALUE_FORMAT='JSON');"
    create = ("CREATE", "SOURCE:default_.MINE")
    session, _ = session_of(Grants(create, ("READ", "TOPIC:vault"), ("READ", "TOPIC:v.*")))
    with pytest.raises(RequestRefused):
        run(session, text)

    session, inner = session_of(Grants(create, ("READ", "TOPIC:")))
    run(session, text)
    assert inner.ran == [text]


def test_a_derived_stream_needs_the_right_to_write_its_topic() -> None:
    text = "CREATE STREAM mine WITH (KAFKA_TOPIC='vault') AS SELECT * FROM orders;"
    rights = (("CREATE", "SOURCE:default_.MINE"), ("READ", "SOURCE:default_.ORDERS"))
    session, _ = session_of(Grants(*rights, ("READ", "TOPIC:vault")))
    with pytest.raises(RequestRefused):
        run(session, text)

    session, inner = session_of(Grants(*rights, ("WRITE", "TOPIC:vault")))
    run(session, text)
    assert inner.ran == [text]


def test_listings_leave_out_what_a_user_may_not_describe() -> None:
    session, _ = session_of(Grants(("READ", "SOURCE:default_.ORDERS"), ("READ", "TOPIC:orders")))
    run(session, "SHOW STREAMS;")
    state = session.session.state

    assert set(state.catalog.sources) == {"ORDERS"}
    assert set(state.catalog.partitions) == {"orders"}
    assert state.queries == {}


def test_a_query_over_a_hidden_source_is_hidden_although_its_target_is_not() -> None:
    session, _ = session_of(
        Grants(("READ", "SOURCE:default_.LEAKED"), ("READ", "SOURCE:default_.COPIED"),
               ("READ", "SOURCE:default_.ORDERS"))
    )  # fmt: skip
    run(session, "SHOW QUERIES;")

    assert {query.sink for query in session.session.state.queries.values()} == {"COPIED"}


def test_without_rules_every_statement_runs_except_scripts() -> None:
    session, inner = session_of(None)
    run(session, "SELECT * FROM secret; CREATE TYPE t AS INT; PRINT vault;")
    assert len(inner.ran) == 3
    assert set(session.session.state.catalog.sources) >= {"ORDERS", "SECRET"}

    with pytest.raises(RequestRefused):
        run(session, "RUN SCRIPT '/etc/passwd';")
    with pytest.raises(RequestRefused):
        session.sandbox().execute(nodes.RunScript(this=exp.Literal.string("/etc/passwd")))


def test_a_client_does_not_set_the_address_and_the_password_of_the_registry() -> None:
    session, inner = session_of(None)
    for name in (
        "ksql.schema.registry.url",
        "ksql.schema.registry.basic.auth.user.info",
        "ksql.schema.registry.basic.auth.credentials.source",
        "ksql.service.id",
    ):
        text = f"SET '{name}' = 'http://evil.example';"
        with pytest.raises(RequestRefused, match="prohibited"):
            run(session, text)
        with pytest.raises(RequestRefused, match="prohibited"):
            session.sandbox().execute(next(session.session.read(text))[0], text)
    assert inner.ran == []


@pytest.mark.parametrize(
    ("server", "client", "allowed"),
    [("1000", "1000", True), ("1000", "1001", False), ("1000", "0", False), ("1000", "-1", False),
     ("1000", "x", False), ("0", "5000", True), (None, "5000", True)],
)  # fmt: skip
def test_a_client_may_lower_a_limit_and_not_raise_it(
    server: str | None, client: str, *, allowed: bool
) -> None:
    name = "ksql.query.pull.memory.bytes.max"
    rules = ClientProperties(EVERYTHING, {name: server})

    if allowed:
        rules.ensure({name: client})
    else:
        with pytest.raises(RequestRefused, match="at most 1000"):
            rules.ensure({name: client})


def test_dead_letters_go_to_a_topic_that_the_client_may_write() -> None:
    name = "errors.dead.letter.queue.topic.name"
    session, inner = session_of(Grants(("WRITE", "TOPIC:mine")))
    with pytest.raises(RequestRefused):
        run(session, f"SET '{name}' = 'vault';")

    run(session, f"SET '{name}' = 'mine';")

    assert len(inner.ran) == 1


def test_rights_are_checked_on_the_loop_of_the_authorizer() -> None:
    grants = Grants(("READ", "SOURCE:default_.ORDERS"))

    async def test() -> tuple[frozenset[str], int]:
        loop = asyncio.get_running_loop()
        client = Client(Identity(Principal(USER, "ann"), "127.0.0.1"), grants)
        checks = Checks(client, loop)
        names = ["default_.ORDERS", "default_.SECRET"]
        seen = await asyncio.to_thread(checks.visible, ResourceType.SOURCE, names)
        with pytest.raises(RequestRefused):
            await asyncio.to_thread(checks.ensure, rights_before(*_one("DROP STREAM orders;")))
        return seen, threading.get_ident()

    seen, loop_thread = asyncio.run(test())

    assert seen == {"default_.ORDERS"}
    assert grants.threads == {loop_thread}


@pytest.mark.parametrize("closed_before", [False, True])
def test_a_statement_does_not_wait_for_a_loop_that_has_ended(*, closed_before: bool) -> None:
    loop = asyncio.new_event_loop()
    client = Client(Identity(Principal(USER, "ann"), "127.0.0.1"), Grants())
    checks = Checks(client, loop)
    if closed_before:
        loop.close()
    with ThreadPoolExecutor(1) as threads:
        found = threads.submit(checks.visible, ResourceType.SOURCE, ["a"])
        loop.close()

        with pytest.raises(RequestRefused) as refused:
            found.result(DEADLINE_S)

    assert refused.value.code == SHUTTING_DOWN


def _one(text: str) -> tuple[exp.Expression, Known]:
    ((node, _),) = SqlSession().read(text)
    return node, Known("default_", {}, {})


@pytest.mark.parametrize("text", ["INSERT INTO orders (id) VALUES ('a');", "DROP STREAM orders;"])
def test_a_session_refuses_statements_after_its_service_was_terminated(text: str) -> None:
    service = Service()
    session, inner = session_of(None, service)
    ((node, written),) = session.session.read(text)
    service.ending = "TERMINATED"

    with pytest.raises(RequestRefused) as refused:
        session.perform(node, written)

    assert refused.value.code == SHUT_DOWN
    assert inner.ran == []
