"""A large schema is parsed on a thread, and other calls are answered meanwhile."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

import pytest

from duolog.registry.access.authentication import NoAuthentication
from duolog.registry.http.gate import Gate
from duolog.registry.http.hosts import AllowedHosts
from duolog.registry.http.messages import HttpRequest
from duolog.registry.records import BARRIER, encode
from duolog.registry.rules import Registry
from duolog.registry.rules.parsing import LARGE_CHARS
from duolog.registry.service.leadership import Leadership
from duolog.registry.service.replica import Replica
from duolog.registry.service.service import Impact, RegistryService
from duolog.registry.store.stored import NewRecord
from duolog.schemas.languages import parse
from duolog.schemas.schema import Language, Schema
from unit.registry.service.fakes import MemoryTopic
from unit.registry.turns import until

if TYPE_CHECKING:
    from duolog.registry.election.leaders import Leaders

LARGE = json.dumps(
    {
        "type": "record",
        "name": "Large",
        "fields": [{"name": f"field{number}", "type": "string"} for number in range(500)],
    }
)
assert len(LARGE) > LARGE_CHARS
BROKEN = LARGE.replace('"string"', '"unknown"', 1)
SMALL = '"int"'


class WatchedParse:
    """Parses schemas, and holds large ones until the test allows it."""

    def __init__(self) -> None:
        self.free = threading.Event()
        self.started = threading.Event()
        self.threads: list[str] = []

    def __call__(
        self, language: Language, text: str, references: Mapping[str, str], *, strict: bool = True
    ) -> Schema:
        if len(text) > LARGE_CHARS:
            self.threads.append(threading.current_thread().name)
            self.started.set()
            assert self.free.wait(60), "the test never allows it"
        return parse(language, text, references, strict=strict)


class Served:
    """A registry that leads, with its HTTP interface but without sockets."""

    def __init__(self, impact: Impact | None = None) -> None:
        self.parse = WatchedParse()
        topic = MemoryTopic()
        rules = Registry(parse=self.parse)
        replica = Replica(
            lambda record: rules.replay(record.key, record.value, timestamp=record.timestamp_ms)
        )
        replica.attach(asyncio.get_running_loop())
        topic.replicas.append(replica)
        self.leadership = Leadership(replica, topic.open_writer, NewRecord(*encode(BARRIER)))
        self.service = RegistryService(
            rules,
            replica,
            self.leadership,
            leaders=cast("Leaders", None),
            url="http://localhost:8081",
            server={},
            impact=impact,
        )
        self._gate = Gate(AllowedHosts([]), NoAuthentication(), self.service.handle)

    async def lead(self) -> None:
        self.leadership.gain()
        await until(lambda: self.leadership.writer is not None)

    async def ask(self, method: str, path: str, schema: str = "") -> tuple[int, Any]:
        body = json.dumps({"schema": schema}).encode() if schema else b""
        headers = {"host": "localhost:8081", "content-type": "application/json"}
        target, _, query = path.partition("?")
        request = HttpRequest(method, target.encode(), query.encode(), headers, body)
        answer = await self._gate.answer(request)
        return answer.status, json.loads(answer.body)

    async def stop(self) -> None:
        self.parse.free.set()
        await self.leadership.stop()
        self.service.close()


def run(scenario: Callable[[Served], Awaitable[None]], impact: Impact | None = None) -> None:
    async def whole() -> None:
        served = Served(impact)
        await served.lead()
        try:
            await scenario(served)
        finally:
            await served.stop()

    asyncio.run(whole())


def test_other_calls_are_answered_while_a_large_schema_is_parsed() -> None:
    async def scenario(served: Served) -> None:
        large = asyncio.create_task(served.ask("POST", "/subjects/large/versions", LARGE))
        await until(served.parse.started.is_set)

        assert await served.ask("GET", "/subjects") == (200, [])
        assert await served.ask("POST", "/subjects/small/versions", SMALL) == (200, {"id": 1})
        assert not large.done()

        served.parse.free.set()
        assert await large == (200, {"id": 2})
        assert all(name.startswith("parse") for name in served.parse.threads)

    run(scenario)


def test_a_look_up_and_a_check_do_not_parse_on_the_loop_either() -> None:
    async def scenario(served: Served) -> None:
        served.parse.free.set()
        await served.ask("POST", "/subjects/large/versions", LARGE)
        served.parse.threads.clear()
        changed = LARGE.replace("field7", "field_7")

        assert (await served.ask("POST", "/subjects/large", LARGE))[0] == 200
        path = "/compatibility/subjects/large/versions/latest"
        assert (await served.ask("POST", path, changed))[0] == 200

        assert {name.partition("_")[0] for name in served.parse.threads} == {"parse"}

    run(scenario)


def test_a_large_schema_that_is_invalid_is_refused_as_a_small_one() -> None:
    async def scenario(served: Served) -> None:
        served.parse.free.set()

        status, body = await served.ask("POST", "/subjects/large/versions", BROKEN)

        assert (status, body["error_code"]) == (422, 42201)
        assert all(name.startswith("parse") for name in served.parse.threads)

    run(scenario)


def test_a_check_can_tell_what_a_schema_breaks() -> None:
    asked: list[tuple[str, str, int]] = []

    def impact(subject: str, schema: Schema, source: Any, records: int, visible: Any) -> Any:
        assert visible.may_read_topic("a")
        assert threading.current_thread().name.startswith("impact")
        latest = source.latest(subject)
        asked.append((subject, schema.canonical, records))
        return {"verdict": "safe", "latest": source.by_id(latest.schema_id).canonical}

    async def scenario(served: Served) -> None:
        await served.ask("POST", "/subjects/a/versions", SMALL)
        path = "/compatibility/subjects/a/versions/latest"

        assert await served.ask("POST", f"{path}?impact=true&records=7", '"long"') == (
            200,
            {"is_compatible": True, "impact": {"verdict": "safe", "latest": '"int"'}},
        )
        assert await served.ask("POST", path, '"long"') == (200, {"is_compatible": True})
        status, _ = await served.ask("POST", f"{path}?impact=true&records=-1", '"long"')
        assert status == 422

    run(scenario, impact)
    assert asked == [("a", '"long"', 7)]


def test_the_impact_of_a_large_schema_is_not_computed_on_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads: set[str] = set()

    def watched(
        language: Language, text: str, references: Mapping[str, str], *, strict: bool = True
    ) -> Schema:
        threads.add(threading.current_thread().name.partition("_")[0])
        return parse(language, text, references, strict=strict)

    monkeypatch.setattr("duolog.schemas.source.parse", watched)

    def impact(subject: str, schema: Schema, source: Any, _records: int, _visible: Any) -> Any:
        latest = source.latest(subject)
        return source.by_id(latest.schema_id).canonical == schema.canonical

    async def scenario(served: Served) -> None:
        served.parse.free.set()
        await served.ask("POST", "/subjects/a/versions", LARGE)
        path = "/compatibility/subjects/a/versions/latest?impact=true"

        assert (await served.ask("POST", path, LARGE))[1]["impact"] is True

    run(scenario, impact)
    assert threads == {"impact"}


def test_a_registry_without_a_cluster_says_that_it_cannot() -> None:
    async def scenario(served: Served) -> None:
        path = "/compatibility/subjects/a/versions?impact=true"

        assert (await served.ask("POST", path, SMALL))[0] == 501

    run(scenario)
