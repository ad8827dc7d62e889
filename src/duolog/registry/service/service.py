"""Answers calls: reads from the replica; writes as the leader, or through it.

    a read                         rules on the replica
    a registration that changes    rules on the replica, on any registry
    nothing
    any other write, leader        rules, append, replay, answer: one write at a time
    any other write, follower      sent to the leader with X-Forward; the answer is passed on when
                                   the replica has what the leader wrote
    a forwarded write, follower    50004: the sender looks for the leader again

A large schema is parsed on a thread first, so that other calls are answered meanwhile.

If the leader changes during a write, the write is tried again for `WRITE_S`. It is not, if it may
have been done already and is not idempotent; then the client gets 50002 or 50003.

Thread: the event loop.
"""

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Protocol

from duolog.core.errors import DuologError
from duolog.registry.election.forwarding import (
    OFFSET_HEADER,
    Forwarder,
    ForwardingFailed,
    LeaderAnswer,
)
from duolog.registry.election.leaders import Leaders
from duolog.registry.errors import RequestError, schema_too_large
from duolog.registry.http.gate import Call
from duolog.registry.http.messages import HttpResponse
from duolog.registry.http.routes import Kind
from duolog.registry.json_text import Json, dump
from duolog.registry.operations import schemas
from duolog.registry.operations.asked import Asked
from duolog.registry.operations.permissions import DENIED
from duolog.registry.operations.raw_text import RawText
from duolog.registry.operations.subjects import registered
from duolog.registry.operations.table import (
    CHECKS,
    IDEMPOTENT,
    READS,
    STATUS,
    WITH_SCHEMA,
    WRITES,
)
from duolog.registry.records import encode
from duolog.registry.rules.answers import Answer, to_json
from duolog.registry.rules.parsing import ParseAhead
from duolog.registry.rules.registry import Registry
from duolog.registry.service.leadership import Leadership, Writer
from duolog.registry.service.replica import Replica
from duolog.registry.service.schemas_on_loop import SchemasOnLoop
from duolog.registry.service.visible_on_loop import VisibleOnLoop
from duolog.registry.store.errors import RecordDamaged, RecordTooLarge, WriterFenced, WriteUncertain
from duolog.registry.store.stored import NewRecord
from duolog.schemas.schema import Schema
from duolog.schemas.source import SchemaSource

logger = logging.getLogger(__name__)

WRITE_S: Final = 30.0
_LOOK_AGAIN_S: Final = 0.3
_CATCH_UP_S: Final = 5.0
_FORWARDS_MAX: Final = 32
_IMPACTS_MAX: Final = 2
"""Each reads records of a topic; others wait."""
RECORD_BYTES_MAX: Final = 1_000_000 - 1_000
"""The limit of librdkafka by default, less the overhead of a record; Kafka allows 1,048,588 bytes.
A larger record is refused before it costs the leader its writer.
"""
_UNKNOWN_LEADER: Final = 50004
_EXTENDED: Final = "confluent-accept-unknown-properties"

IMPACT_RECORDS: Final = 100
IMPACT_RECORDS_MAX: Final = 10_000
"""Numbers of the last records that are read with a schema: by default, and at most."""

ServerAnswer = Callable[[], Json]


class Visible(Protocol):
    """The part of a cluster that the client of a request may see; called from any thread."""

    def may_read_topic(self, topic: str) -> bool: ...
    def may_see_group(self, group: str) -> bool: ...


Impact = Callable[[str, Schema, SchemaSource, int, Visible], Json]
"""Returns what a schema would break as the next version of a subject.

The number is that of the last records to read. Topics and groups that the client may not see are
left out: the registry's own user sees more than its clients.
"""


class RegistryService:
    """One registry of a group.

    Args:
        url: where the other registries reach this one.
        server: answers of the endpoints that need no state, by operation.
        impact: computes what a schema would break; None if this registry cannot.
    """

    def __init__(
        self,
        rules: Registry,
        replica: Replica,
        leadership: Leadership,
        *,
        leaders: Leaders,
        url: str,
        server: Mapping[str, ServerAnswer],
        impact: Impact | None = None,
    ) -> None:
        self._rules = rules
        self._replica = replica
        self._leadership = leadership
        self._leaders = leaders
        self._url = url
        self._server = server
        self._impact = impact
        self._parsing = ThreadPoolExecutor(1, thread_name_prefix="parse")
        # Writes of followers need a thread to forward them while clients ask for impacts.
        self._impacts = ThreadPoolExecutor(_IMPACTS_MAX, thread_name_prefix="impact")
        self._forwarder = Forwarder(encrypted=url.startswith("https://"))
        self._threads = ThreadPoolExecutor(_FORWARDS_MAX, thread_name_prefix="forward")
        self._one_write = asyncio.Lock()

    async def handle(self, call: Call) -> HttpResponse:
        """Answer a call.

        Raises:
            RequestError: the registry refuses it, or cannot do it.
            MalformedParameter: a parameter is not of its type.
        """
        operation = call.endpoint.operation
        if call.endpoint.kind is Kind.SERVER:
            return _response(call, dump(self._server[operation]()))
        if operation not in WITH_SCHEMA:
            return await self._decide(call)
        job = await self._parse_ahead(Asked(call, self._rules))
        try:
            return await self._decide(call)
        finally:
            if job is not None:
                self._rules.release_parsed(job)

    async def _decide(self, call: Call) -> HttpResponse:
        operation = call.endpoint.operation
        if operation in CHECKS and call.query.flag("impact"):
            return await self._with_impact(Asked(call, self._rules))
        if call.endpoint.kind is Kind.READ:
            return _answer(call, READS[operation](Asked(call, self._rules)))
        if operation == "register":
            found = registered(Asked(call, self._rules))
            if found is not None:
                return _answer(call, found)
        return await self._write(call)

    def close(self) -> None:
        """Release threads and connections."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._parsing.shutdown(wait=False, cancel_futures=True)
        self._impacts.shutdown(wait=False, cancel_futures=True)
        self._forwarder.close()

    async def _parse_ahead(self, asked: Asked) -> ParseAhead | None:
        try:
            job = schemas.parse_ahead(asked)
        except RequestError:
            return None  # The operation refuses it, with the first of its errors.
        if job is not None:
            await asyncio.get_running_loop().run_in_executor(self._parsing, job.run)
            self._rules.keep_parsed(job)
        return job

    async def _with_impact(self, asked: Asked) -> HttpResponse:
        """Answer a check of compatibility, with what the schema would break."""
        call, impact = asked.call, self._impact
        checked = to_json(READS[call.endpoint.operation](asked))
        if impact is None:
            raise RequestError("This registry cannot compute the impact of a schema", 501)
        records = call.query.integer("records", IMPACT_RECORDS)
        if not 0 <= records <= IMPACT_RECORDS_MAX:
            raise RequestError(f"records must be between 0 and {IMPACT_RECORDS_MAX}", 422)
        subject, schema = asked.readable, schemas.text_of(asked.schema)
        source = SchemasOnLoop(self._rules, asyncio.get_running_loop())
        visible = VisibleOnLoop(call.client, asyncio.get_running_loop())
        try:
            found = await asyncio.get_running_loop().run_in_executor(
                self._impacts,
                lambda: impact(subject, source.parsed(schema), source, records, visible),
            )
        except RequestError:
            raise
        except DuologError as error:
            raise RequestError(f"Impact cannot be computed: {error.one_line()}", 50001) from error
        assert isinstance(checked, dict), "a check answers with an object"
        return _response(call, dump({**checked, "impact": found}))

    async def _write(self, call: Call) -> HttpResponse:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + WRITE_S
        repeatable = call.endpoint.operation in IDEMPOTENT
        while True:
            self._ensure_replica()
            writer = self._leadership.writer
            if writer is not None:
                try:
                    return await self._write_here(call, writer)
                except WriterFenced:
                    pass  # Nothing was written; the leader decides.
                except WriteUncertain as error:
                    if not repeatable:
                        raise _timed_out(call) from error
            elif not self._leadership.owned:
                if call.forwarded:
                    raise _unknown_leader()
                self._ensure_allowed(call)
                response = await self._through_leader(call, repeatable=repeatable)
                if response is not None:
                    return response
            if loop.time() > deadline:
                raise _unknown_leader()
            await self._leadership.changed(_LOOK_AGAIN_S)

    def _ensure_allowed(self, call: Call) -> None:
        """Refuse a change here: the leader sees this registry's address, not the client's."""
        if not call.client.reads_everything:
            try:
                WRITES[call.endpoint.operation](Asked(call, self._rules))
            except RequestError as error:
                if error.code == DENIED:
                    raise
                # All else is for the leader, whose state is newer.

    def _ensure_replica(self) -> None:
        if self._replica.failure is not None:
            raise _store_failed(self._replica.failure)

    async def _write_here(self, call: Call, writer: Writer) -> HttpResponse:
        async with self._one_write:
            if self._leadership.writer is not writer:
                raise WriterFenced("another writer has been opened", code=0)
            operation = call.endpoint.operation
            decision = WRITES[operation](Asked(call, self._rules))
            if decision.records:
                records = [NewRecord(*encode(record)) for record in decision.records]
                if any(_size(record) > RECORD_BYTES_MAX for record in records):
                    raise schema_too_large()
                try:
                    await self._leadership.append(writer, records)
                except RecordTooLarge as error:
                    raise schema_too_large() from error
                except RecordDamaged as error:
                    raise _store_failed(error) from error
        response = _answer(call, decision.answer)
        if not call.forwarded:
            return response
        offset = (OFFSET_HEADER, str(self._replica.next_offset - 1))
        return HttpResponse(response.status, response.body, response.media_type, (offset,))

    async def _through_leader(self, call: Call, *, repeatable: bool) -> HttpResponse | None:
        """Return the leader's answer, or None if the leader must be looked for again."""
        url = await self._in_thread(self._leaders.url)
        if url is None or url == self._url:
            if url is not None and not self._leadership.owned:
                logger.warning(
                    "the leader has this registry's own URL; set another one with --advertise",
                    extra={"url": url},
                )
            self._leaders.forget(url)
            return None
        request = call.request
        target = request.path + (b"?" + request.query if request.query else b"")
        try:
            answer = await self._in_thread(
                lambda: self._forwarder.send(
                    url, request.method, target.decode("latin-1"), request.headers, request.body
                )
            )
        except ForwardingFailed as error:
            self._leaders.forget(url)
            logger.warning("cannot forward a write", extra={"leader": url, "reason": str(error)})
            if error.sent and not repeatable:
                raise _forwarding_failed(call) from error
            return None
        if _knows_no_leader(answer):
            self._leaders.forget(url)
            return None
        await self._catch_up(answer.offset)
        return HttpResponse(answer.status, answer.body, answer.content_type or call.media_type)

    async def _catch_up(self, offset: int | None) -> None:
        """Wait until this registry answers reads with what the leader has written."""
        if offset is None:
            return
        try:
            async with asyncio.timeout(_CATCH_UP_S):
                await self._replica.reached(offset)
        except TimeoutError:
            logger.warning("this registry lags behind the leader", extra={"offset": offset})

    async def _in_thread(self, call: Callable[[], Any]) -> Any:  # Any: the result of `call`.
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)


def _size(record: NewRecord) -> int:
    return len(record.key) + len(record.value or b"")


def _answer(call: Call, answer: Answer) -> HttpResponse:
    status = STATUS.get(call.endpoint.operation, 200)
    if status == 204:
        return HttpResponse(204)
    if isinstance(answer, RawText):
        return HttpResponse(status, answer.encode(), call.media_type)
    extended = call.request.headers.get(_EXTENDED, "").lower() == "true"
    text = dump(to_json(answer, extended=extended))
    return HttpResponse(status, text.encode(), call.media_type)


def _response(call: Call, text: str) -> HttpResponse:
    return HttpResponse(200, text.encode(), call.media_type)


def _knows_no_leader(answer: LeaderAnswer) -> bool:
    if answer.status != 500:
        return False
    try:
        content = json.loads(answer.body)
    except ValueError:
        return False
    return isinstance(content, dict) and content.get("error_code") == _UNKNOWN_LEADER


def _unknown_leader() -> RequestError:
    return RequestError("Leader not known.", _UNKNOWN_LEADER)


def _store_failed(error: Exception) -> RequestError:
    told = error.message if isinstance(error, DuologError) else str(error)
    return RequestError(f"The topic cannot be read any more: {told}", 50001)


def _timed_out(call: Call) -> RequestError:
    return RequestError(f"The operation {call.endpoint.operation} timed out", 50002)


def _forwarding_failed(call: Call) -> RequestError:
    operation = call.endpoint.operation
    return RequestError(f"Error while forwarding {operation} request to the leader", 50003)
