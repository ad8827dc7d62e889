"""Look-ups that the event loop answers itself: the same bytes, freshness and rights as in the usual way."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from duolog.core.errors import KafkaError
from duolog.runtime.sql.service import SqlService
from duolog.security.clients.brokers import Brokers
from duolog.server.access.client import NOBODY, Client
from duolog.server.errors import RequestRefused
from duolog.server.ksql.requests import StatementRequest, statement_request, stream_request
from duolog.server.ksql.service_endpoints import endpoints_of, prepared_of
from duolog.server.operations.quick_lookups import QuickLookups, QuickReply
from duolog.server.queries.row_forms import (
    ARRAY,
    DELIMITED,
    OBJECTS,
    PROTOBUF,
    query_form,
    stream_form,
)
from duolog.testing.cluster import EmbeddedCluster
from unit.registry.turns import turns
from waiting import DEADLINE_S

if TYPE_CHECKING:
    from duolog.server.ksql.endpoints import Endpoints, FormOf

_STALE = "ksql.query.pull.staleness.ms.max"
_HOUR = {_STALE: "3600000"}


class Served:
    """A table of a service, asked in both ways."""

    def __init__(self, bootstrap: str, name: str, data: Path) -> None:
        self.name = name
        self.service = SqlService(Brokers(bootstrap), data=data, service_id=f"{name}_")
        self.endpoints: Endpoints = endpoints_of(self.service, "127.0.0.1:1")
        self.prepared: list[str] = []
        self._producer = Producer({"bootstrap.servers": bootstrap})
        admin = AdminClient({"bootstrap.servers": bootstrap})
        admin.create_topics([NewTopic(name, 2)])[name].result(DEADLINE_S)
        self.ksql(
            f"CREATE TABLE {name} (id STRING PRIMARY KEY, v INT, d DECIMAL(6,2)) "
            f"WITH (kafka_topic='{name}', value_format='JSON');"
        )

    def ksql(self, sql: str) -> None:
        reply = self.endpoints.ksql(json.dumps({"ksql": sql}).encode())
        assert reply.status == 200, reply.body

    def quick(self) -> QuickLookups:
        def prepare(sql: str, properties: dict[str, str]) -> object:
            self.prepared.append(sql)
            return prepared_of(self.service, sql, properties)

        return QuickLookups(self.service, prepare)  # type: ignore[arg-type]

    def write(self, key: str, v: int | None) -> None:
        value = None if v is None else json.dumps({"V": v, "D": v / 4})
        self._producer.produce(self.name, key=key, value=value)
        assert not self._producer.flush(DEADLINE_S)

    def sql(self, key: str, columns: str = "*") -> str:
        return f"SELECT {columns} FROM {self.name} WHERE id = '{key}';"  # noqa: S608

    def usual(self, sql: str) -> list[object]:
        """Answer in the usual way, which opens the table; return the rows."""
        reply = self.endpoints.query(json.dumps({"ksql": sql}).encode())
        assert reply.status == 200
        return rows_of(reply.body)


def rows_of(body: bytes) -> list[object]:
    return [one["row"]["columns"] for one in json.loads(body) if "row" in one]


def request(sql: str, properties: dict[str, str] | None = None) -> StatementRequest:
    return StatementRequest(sql, properties or {})


async def asked(
    quick: QuickLookups, sql: str, properties: dict[str, str] | None = None, client: Client = NOBODY
) -> list[object] | None:
    """Return the rows of an answer; None if it was not quick."""
    reply = await quick.reply(request(sql, properties), "", query_form, client)
    return None if reply is None else rows_of(reply.body)


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with EmbeddedCluster(tmp_path_factory.mktemp("quick") / "broker") as cluster:
        yield cluster.bootstrap_servers


@pytest.fixture
def served(bootstrap: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Served]:
    number = len(request.node.nodeid) * 7919 + sum(map(ord, request.node.nodeid))
    found = Served(bootstrap, f"T{number}", tmp_path)
    yield found
    found.service.close()


Test = Callable[[QuickLookups], Awaitable[None]]


def run(served: Served, test: Test) -> None:
    async def within() -> None:
        quick = served.quick()
        try:
            await asyncio.wait_for(test(quick), DEADLINE_S)
        finally:
            quick.close()

    asyncio.run(within())


def test_a_table_is_read_in_the_usual_way_first(served: Served) -> None:
    served.write("a", 1)

    async def test(quick: QuickLookups) -> None:
        assert await asked(quick, served.sql("a")) is None
        served.usual(served.sql("a"))
        assert await asked(quick, served.sql("a")) == [["a", 1, 0.25]]
        assert await asked(quick, served.sql("none")) == []
        assert len(served.prepared) == 1, "the literals are not part of the shape"

    run(served, test)


@pytest.mark.parametrize(
    ("path", "accept"),
    [
        ("query", ""),
        ("query", DELIMITED),
        ("query", PROTOBUF),
        ("query_stream", ""),
        ("query_stream", ARRAY),
        ("query_stream", OBJECTS),
        ("query_stream", PROTOBUF),
    ],
)
@pytest.mark.parametrize("columns", ["*", "v, id, d, ROWTIME > 0 AS x", "d AS e, v"])
def test_the_bytes_are_those_of_the_usual_way(
    served: Served, path: str, accept: str, columns: str
) -> None:
    served.write("it's", 7)
    sql = served.sql("it''s", columns)
    names, form_of, read = (
        (("ksql", "streamsProperties"), query_form, statement_request)
        if path == "query"
        else (("sql", "properties"), stream_form, stream_request)
    )
    body = json.dumps({names[0]: sql, names[1]: {}}).encode()
    usual = getattr(served.endpoints, path)(body, accept)

    async def test(quick: QuickLookups) -> None:
        form: FormOf = form_of
        reply = await quick.reply(read(body), accept, form, NOBODY)
        if "ROWTIME" in columns:
            assert reply is None, "it has an expression"
            return
        assert isinstance(reply, QuickReply)
        assert reply.content_type == usual.content_type
        assert without_id(reply.body) == without_id(usual.body)

    run(served, test)


def without_id(body: bytes) -> bytes:
    head, found, rest = body.partition(b'"queryId":"')
    assert found
    return head + rest.partition(b'"')[2]


def test_an_answer_includes_what_was_written_before_it_was_asked(served: Served) -> None:
    served.usual(served.sql("a"))

    async def test(quick: QuickLookups) -> None:
        for v in range(20):
            served.write("a", v)
            assert await asked(quick, served.sql("a", "v")) == [[v]]
        served.write("a", None)
        assert await asked(quick, served.sql("a", "v")) == []

    run(served, test)


def test_many_answers_share_a_refresh(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    served.write("a", 1)
    served.usual(served.sql("a"))
    refresh, refreshes = served.service.present.refresh, [0]

    def counted(sources: object) -> None:
        refreshes[0] += 1
        refresh(sources)  # type: ignore[arg-type]

    monkeypatch.setattr(served.service.present, "refresh", counted)

    async def test(quick: QuickLookups) -> None:
        assert await asked(quick, served.sql("a", "v")) == [[1]]
        refreshes[0] = 0
        found = await asyncio.gather(*(asked(quick, served.sql("a", "v")) for _ in range(100)))
        assert found == [[[1]]] * 100
        assert refreshes[0] == 2, "that of the first, and one for all others"

    run(served, test)


def test_a_stale_answer_waits_for_no_broker(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.write("a", 1)
    served.usual(served.sql("a"))

    async def test(quick: QuickLookups) -> None:
        assert await asked(quick, served.sql("a", "v"), _HOUR) == [[1]]

        def refuse(_: object) -> None:
            raise KafkaError("asked", code=7)

        monkeypatch.setattr(served.service.present, "refresh", refuse)
        assert await asked(quick, served.sql("a", "v"), _HOUR) == [[1]]
        assert await asked(quick, served.sql("a", "v")) is None, "the usual way has the error"

    run(served, test)


def test_rows_are_refreshed_before_they_are_too_old(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.write("a", 1)
    served.usual(served.sql("a"))
    refreshed = threading.Event()
    refresh = served.service.present.refresh

    def noted(sources: object) -> None:
        refresh(sources)  # type: ignore[arg-type]
        refreshed.set()

    async def test(quick: QuickLookups) -> None:
        assert await asked(quick, served.sql("a", "v"), _HOUR) == [[1]]
        table = served.service.present._tables[served.name]  # noqa: SLF001
        assert table.complete_at_s is not None
        table.complete_at_s -= 2000
        monkeypatch.setattr(served.service.present, "refresh", noted)
        assert await asked(quick, served.sql("a", "v"), _HOUR) == [[1]]
        assert await asyncio.to_thread(refreshed.wait, DEADLINE_S)
        refreshed.clear()
        assert await asked(quick, served.sql("a", "v")) == [[1]], "after that refresh"
        refreshed.clear()
        assert await asked(quick, served.sql("a", "v"), _HOUR) == [[1]]
        assert not refreshed.is_set(), "they are recent"
        table.complete_at_s -= 4000
        assert await asked(quick, served.sql("a", "v"), _HOUR) == [[1]]
        assert refreshed.is_set(), "they were too old: this answer has waited"

    run(served, test)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM {t} WHERE id = 'a';",
        "SELECT * FROM {t};",
        "SELECT * FROM {t} WHERE id > 'a';",
        "SELECT * FROM {t} WHERE v = 1;",
        "SELECT * FROM {t} WHERE id = 'a' EMIT CHANGES;",
        "SELECT * FROM {t} WHERE id = 'a'; SELECT 1;",
        "SELECT * FROM nothing WHERE id = 'a';",
        "SHOW TABLES;",
        "SELECT * FROM {t} WHERE id IN (" + ", ".join(f"'{n}'" for n in range(17)) + ");",  # noqa: S608
        "no SQL",
        "",
        " ; ",
    ],
)
def test_all_else_is_answered_in_the_usual_way(served: Served, sql: str) -> None:
    served.usual(served.sql("a"))

    async def test(quick: QuickLookups) -> None:
        for _ in range(2):
            assert await asked(quick, sql.format(t=served.name)) is None

    run(served, test)


def test_a_prepared_look_up_of_a_terminated_service_is_refused_in_the_usual_way(
    served: Served,
) -> None:
    served.write("a", 1)
    served.usual(served.sql("a"))

    async def test(quick: QuickLookups) -> None:
        assert await asked(quick, served.sql("a")) is not None
        served.service.ending = "TERMINATED"
        for properties in ({}, _HOUR):
            assert await asked(quick, served.sql("a"), properties) is None
        refused = served.endpoints.query(json.dumps({"ksql": served.sql("a")}).encode())
        assert (refused.status, json.loads(refused.body)["error_code"]) == (503, 50304)

    run(served, test)


def test_a_statement_that_cannot_be_prepared_is_answered_in_the_usual_way(served: Served) -> None:
    def fail(_sql: str, _properties: Mapping[str, str]) -> None:
        raise ValueError("a bug")

    async def test(_: QuickLookups) -> None:
        broken = QuickLookups(served.service, fail)
        try:
            assert await asked(broken, served.sql("a")) is None
        finally:
            broken.close()

    run(served, test)


def test_few_statements_wait_to_be_prepared(served: Served) -> None:
    """Without a broker, each takes seconds: the others have threads of their own."""
    may_prepare = threading.Event()

    def prepare(*_: object) -> None:
        assert may_prepare.wait(DEADLINE_S)

    async def test() -> None:
        quick = QuickLookups(served.service, prepare)
        names = ["id", "v", "d", "id, v"]
        waiting = [
            asyncio.ensure_future(asked(quick, served.sql("a", columns))) for columns in names
        ]
        await turns()

        assert await asyncio.wait_for(asked(quick, served.sql("a", "v, d")), DEADLINE_S) is None
        assert not any(one.done() for one in waiting)

        may_prepare.set()
        assert await asyncio.gather(*waiting) == [None] * 4
        quick.close()

    asyncio.run(test())


def test_other_properties_and_variables_are_answered_in_the_usual_way(served: Served) -> None:
    served.write("a", 1)
    served.usual(served.sql("a"))

    async def test(quick: QuickLookups) -> None:
        assert await asked(quick, served.sql("a")) is not None
        sql = served.sql("a")
        for other in (
            StatementRequest(sql, {"ksql.query.pull.consistency": "snapshot"}),
            StatementRequest(sql, {}, {"A": "b"}),
            StatementRequest(sql, {}, {}, 3),
            StatementRequest(sql, {_STALE: "never"}),
        ):
            assert await quick.reply(other, "", query_form, NOBODY) is None

    run(served, test)


def test_a_table_that_was_dropped_or_declared_again_is_not_answered_from_the_old_one(
    served: Served,
) -> None:
    served.write("a", 1)
    served.usual(served.sql("a"))

    async def test(quick: QuickLookups) -> None:
        assert await asked(quick, served.sql("a", "v")) == [[1]]
        served.ksql(f"DROP TABLE {served.name};")
        assert await asked(quick, served.sql("a", "v")) is None
        served.ksql(
            f"CREATE TABLE {served.name} (id STRING PRIMARY KEY, v STRING) "
            f"WITH (kafka_topic='{served.name}', value_format='JSON');"
        )
        assert served.usual(served.sql("a", "v")) == [["1"]]
        for properties in ({}, _HOUR):
            assert await asked(quick, served.sql("a", "v"), properties) == [["1"]]

    run(served, test)


def test_a_value_that_cannot_be_decoded_is_left_to_the_usual_way(served: Served) -> None:
    served.write("a", 1)
    served.usual(served.sql("a"))
    served._producer.produce(served.name, key="a", value="no JSON")  # noqa: SLF001
    assert not served._producer.flush(DEADLINE_S)  # noqa: SLF001

    async def test(quick: QuickLookups) -> None:
        assert await asked(quick, served.sql("a", "v")) is None
        assert served.usual(served.sql("a", "v")) == [[1]]
        assert await asked(quick, served.sql("a", "v")) == [[1]]

    run(served, test)


def test_a_client_without_the_right_to_read_the_table_is_refused(served: Served) -> None:
    served.usual(served.sql("a"))

    class Rules:
        asked: list[tuple[str, ...]] = []  # noqa: RUF012 - of one test

        def allows(self, _identity: object, *right: object) -> bool:
            self.asked.append(tuple(map(str, right)))
            return False

        def note_refusal(self, *_: object) -> None: ...

    async def test(quick: QuickLookups) -> None:
        assert await asked(quick, served.sql("a")) == []
        client = NOBODY._replace(authorizer=Rules())  # type: ignore[arg-type]
        with pytest.raises(RequestRefused) as refused:
            await asked(quick, served.sql("a"), client=client)
        assert refused.value.status == 403
        assert Rules.asked[0][-1] == f"{served.service.service_id}.{served.name}"

    run(served, test)


def test_a_table_that_is_being_read_is_not_waited_for(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop's refreshes would wait for it, and with them the look-ups in other tables."""
    served.usual(served.sql("a"))

    async def test(quick: QuickLookups) -> None:
        assert await asked(quick, served.sql("a")) == []
        served.service.present.forget(served.name)
        assert await asked(quick, served.sql("a")) is None

    run(served, test)
