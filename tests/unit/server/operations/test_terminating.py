"""/ksql/terminate: its body, what it ends, and the state of the server afterwards."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from duolog.core.errors import DuologError, KafkaError
from duolog.runtime.errors import BrokerUnavailable
from duolog.runtime.sql.answers import Rows
from duolog.runtime.sql.errors import ServiceShared
from duolog.runtime.sql.reply.row_source import PushedRows
from duolog.server.access.visible_service import ensure_runs
from duolog.server.errors import RequestRefused
from unit.server.ksql.sessions import Catalog, OneRow
from unit.server.memory import Client, MemoryServer, context
from unit.server.operations.test_ksql import COLUMNS, STREAM, body, in_loop
from unit.server.sockets import SocketClient, target
from unit.server.users import BOB, access_with_users


class Service:
    """Notes what is deleted."""

    def __init__(self) -> None:
        self.ending = ""
        self.last_command = 7
        self.deleted: list[str] = []
        self.fails: DuologError | None = None

    def tables_read(self) -> dict[str, Any]:
        return {}

    def terminate(self, doomed: Callable[[str], bool], interrupt: Callable[[], None]) -> None:
        if isinstance(self.fails, ServiceShared):
            raise self.fails
        self.ending = "TERMINATING"
        interrupt()
        if self.fails is not None:
            raise self.fails
        self.deleted = [one for one in ("TOTALS", "LATE_1", "LATE") if doomed(one)]
        self.ending = "TERMINATED"


def served(service: Service, catalog: Catalog | None = None) -> MemoryServer:
    endpoints = (catalog or Catalog()).endpoints()
    return MemoryServer(context(sql=service, ksql=endpoints))


async def terminated(client: Client, given: bytes) -> Any:
    reply = await client.ask("POST", "/ksql/terminate", given)
    return reply.status, json.loads(reply.body)


@pytest.mark.parametrize(
    ("given", "deleted"),
    [
        (b"", []),
        (b"{}", []),
        (b'{"deleteTopicList": null}', []),
        (b'{"deleteTopicList": ["LATE"]}', ["LATE"]),
        (b'{"deleteTopicList": ["LATE.*", "nope"]}', ["LATE_1", "LATE"]),
        (b'{"deleteTopicList": [".*"]}', ["TOTALS", "LATE_1", "LATE"]),
    ],
)
def test_topics_whose_whole_names_match_are_deleted(given: bytes, deleted: list[str]) -> None:
    @in_loop
    async def test() -> None:
        service = Service()

        status, (entity,) = await terminated(served(service).client(), given)

        assert (status, service.deleted) == (200, deleted)
        assert entity["commandId"] == "cluster/TerminateCluster/terminate"
        assert entity["commandStatus"]["status"] == "SUCCESS"
        assert entity["commandSequenceNumber"] == 7

    test()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (b'{"deleteTopicList": ["("]}', "Invalid pattern: ("),
        (b'{"deleteTopicList": "LATE"}', "deleteTopicList must be a list"),
        (b'{"deleteTopicList": [1]}', "deleteTopicList must be a list"),
        (b"[]", "expected an object"),
    ],
)
def test_an_invalid_request_ends_nothing(given: bytes, message: str) -> None:
    @in_loop
    async def test() -> None:
        service = Service()

        status, error = await terminated(served(service).client(), given)

        assert (status, error["error_code"], service.ending) == (400, 40000, "")
        assert message in error["message"]

    test()


@in_loop
async def test_push_queries_end_and_the_server_reports_its_end() -> None:
    catalog, source, service = Catalog(), OneRow(), Service()
    server = served(service, catalog)
    client = server.client()
    await client.ask("POST", "/ksql", body(STREAM))
    catalog.answers.append(Rows(COLUMNS, PushedRows(source), unbounded=True, query_id="q"))
    following = SocketClient(server, target("SELECT * FROM s EMIT CHANGES;"))
    await following.until_texts(2)

    await terminated(client, b"{}")

    assert (await following.end())[0] == 1001
    info = json.loads((await client.ask("GET", "/info")).body)
    health = json.loads((await client.ask("GET", "/healthcheck")).body)
    ready = await client.ask("GET", "/chc/ready")
    assert info["KsqlServerInfo"]["serverStatus"] == "TERMINATED"
    assert ready.status == 503
    assert (health["isHealthy"], health["details"]["commandRunner"]) == (
        False,
        {"isHealthy": False},
    )


@in_loop
async def test_a_user_without_the_right_ends_nothing() -> None:
    service = Service()
    endpoints = Catalog().endpoints()
    server = MemoryServer(context(access_with_users(), sql=service, ksql=endpoints))

    reply = await server.client().ask("POST", "/ksql/terminate", b"{}", Authorization=BOB)

    assert (reply.status, service.ending) == (403, "")


@pytest.mark.parametrize(("ending", "code"), [("TERMINATING", 50303), ("TERMINATED", 50304)])
def test_a_terminated_service_refuses_statements(ending: str, code: int) -> None:
    service: Any = Service()
    ensure_runs(service)
    service.ending = ending

    with pytest.raises(RequestRefused) as refused:
        ensure_runs(service)

    assert refused.value.code == code


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/ksql/terminate"),
        ("GET", "/v1/queries"),
        ("GET", "/v1/queries/CTAS_TOTALS_0"),
        ("GET", "/v1/lineage"),
        ("GET", "/v1/dead-letters"),
        ("POST", "/v1/dead-letters/wrong/replay"),
    ],
)
def test_a_terminated_service_refuses_what_needs_its_deleted_topics(method: str, path: str) -> None:
    @in_loop
    async def test() -> None:
        client = served(Service()).client()
        await terminated(client, b"{}")

        reply = await client.ask(method, path, b"{}" if method == "POST" else b"")

        assert (reply.status, json.loads(reply.body)["error_code"]) == (503, 50304)

    test()


@in_loop
async def test_after_an_error_statements_stay_refused_and_the_request_can_be_repeated() -> None:
    service = Service()
    service.fails = KafkaError("could not delete a topic", code=41)
    client = served(service).client()

    status, error = await terminated(client, b"{}")
    assert (status, service.ending) == (500, "TERMINATING")
    assert error["message"] == "could not delete a topic"
    service.fails = None

    assert (await terminated(client, b"{}"))[0] == 200
    assert service.ending == "TERMINATED"


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (ServiceShared("default_", "other:8088"), 409, 40900),
        (BrokerUnavailable("no broker answers"), 503, 50302),
    ],
)
def test_the_reason_of_a_refusal_is_in_the_response(
    error: DuologError, status: int, code: int
) -> None:
    @in_loop
    async def test() -> None:
        service = Service()
        service.fails = error

        found, refused = await terminated(served(service).client(), b"{}")

        assert (found, refused["error_code"]) == (status, code)
        assert error.message in refused["message"]
        assert error.detail in refused["message"]

    test()
