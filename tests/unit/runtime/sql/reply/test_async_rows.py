"""Rows of push queries on an event loop."""

import asyncio
import threading
from collections.abc import Callable, Iterator

import pytest

from duolog.core.errors import DuologError
from duolog.runtime.sql.fanout.errors import ClientTooSlow
from duolog.runtime.sql.fanout.positions import Place
from duolog.runtime.sql.fanout.row_buffer import BufferLimits, Emitted, RowBuffer
from duolog.runtime.sql.fanout.shared_readers import SharedReaders, SharedRows
from duolog.runtime.sql.fanout.tokens import Tokens
from duolog.runtime.sql.reply import async_rows
from duolog.runtime.sql.reply.async_rows import AsyncRows
from duolog.runtime.sql.reply.row_source import PushedRows
from duolog.security.clients.brokers import Brokers
from duolog.testing import EmbeddedCluster
from unit.runtime.sql.fanout.pushed_topic import PushedTopic, Rows, take
from waiting import DEADLINE_S, wait_until


@pytest.fixture
def readers(cluster: EmbeddedCluster) -> Iterator[SharedReaders]:
    readers = SharedReaders(Brokers(cluster.bootstrap_servers))
    yield readers
    readers.close()


class _Scripted:
    """A source without wake-ups, as Spark queries are: returns what `results` have in turn."""

    def __init__(self, *results: Rows | Exception) -> None:
        self._results = list(results)
        self.closed = threading.Event()
        self.threads: set[str] = set()

    def next_rows(self, timeout_s: float) -> Rows:
        assert timeout_s > 0, "it must not be polled without waiting"
        self.threads.add(threading.current_thread().name)
        if not self._results:
            self.closed.wait(timeout_s)
            return []
        result = self._results.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    def close(self) -> None:
        self.closed.set()


async def _rows(batches: AsyncRows, count: int) -> Rows:
    found: Rows = []
    async with asyncio.timeout(DEADLINE_S):
        async for batch in batches:
            found += batch.rows
            if len(found) >= count:
                break
    return found


def test_many_clients_need_no_threads(
    cluster: EmbeddedCluster, readers: SharedReaders, service: str
) -> None:
    topic = PushedTopic(cluster, service)
    first = topic.subscribe(readers, "SELECT v FROM s")
    topic.numbers([0])
    take(first, 1)
    before = threading.active_count()
    sources = [topic.subscribe(readers, "SELECT v FROM s") for _ in range(200)]

    async def read() -> list[Rows]:
        clients = [AsyncRows(PushedRows(source)) for source in sources]
        tasks = [asyncio.create_task(_rows(one, 50)) for one in clients]
        await asyncio.to_thread(topic.numbers, range(50))
        assert threading.active_count() <= before + 1, "the thread that writes"
        return await asyncio.gather(*tasks)

    assert asyncio.run(read()) == [[(v,) for v in range(50)]] * 200


def test_a_cancelled_client_leaves_the_reader(
    cluster: EmbeddedCluster, readers: SharedReaders, service: str
) -> None:
    topic = PushedTopic(cluster, service)
    source = topic.subscribe(readers, "SELECT v FROM s")

    async def serve(got: asyncio.Event) -> None:
        async with AsyncRows(PushedRows(source)) as batches:
            async for _ in batches:
                got.set()

    async def run() -> None:
        got = asyncio.Event()
        client = asyncio.create_task(serve(got))
        await asyncio.to_thread(topic.numbers, [1])
        await asyncio.wait_for(got.wait(), DEADLINE_S)
        client.cancel()
        with pytest.raises(asyncio.CancelledError):
            await client

    asyncio.run(run())

    assert readers.sources == []


def test_the_rows_end_with_the_limit_and_the_last_token(
    cluster: EmbeddedCluster, readers: SharedReaders, service: str
) -> None:
    topic = PushedTopic(cluster, service)
    topic.numbers(range(10))
    select = "SELECT v FROM s"

    async def read(source: PushedRows) -> tuple[Rows, list[str | None]]:
        rows, tokens = list[tuple[object, ...]](), list[str | None]()
        async with AsyncRows(source, tokens=True) as batches, asyncio.timeout(DEADLINE_S):
            async for batch in batches:
                rows += batch.rows
                tokens.append(batch.token)
        return rows, tokens

    source = PushedRows(topic.subscribe(readers, select, "earliest"), limit=4)
    rows, tokens = asyncio.run(read(source))
    assert rows == [(0,), (1,), (2,), (3,)]
    assert tokens[-1] is not None
    assert tokens[-1] == source.token()

    rest, _ = asyncio.run(read(PushedRows(topic.subscribe(readers, select, tokens[-1]), limit=6)))
    assert rest == [(v,) for v in range(4, 10)]


def test_tokens_come_at_most_each_second(monkeypatch: pytest.MonkeyPatch) -> None:
    class Continued(_Scripted):
        def token(self, unread: int = 0) -> str:
            return f"token {unread}"

        def when_ready(self, call: Callable[[], None]) -> None:
            call()

        def next_rows(self, timeout_s: float) -> Rows:
            return [(timeout_s,)]

    monkeypatch.setattr(async_rows, "TOKEN_S", 3600.0)

    async def read() -> list[str | None]:
        batches = AsyncRows(PushedRows(Continued(), limit=4), tokens=True)
        return [batch.token async for batch in batches]

    assert asyncio.run(read()) == ["token 0", None, None, None, "token 0"]


def test_rows_that_came_soon_after_a_token_get_one_without_further_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(async_rows, "TOKEN_S", 0.2)
    buffer, tokens = RowBuffer(BufferLimits(), Place({0: 0})), Tokens("test_", "q")

    def offer(offset: int) -> None:
        emitted = Emitted([(offset,)], [(0, offset)], 1)
        buffer.offer(emitted, Place({0: offset}), Place({0: offset + 1}))

    async def read() -> tuple[Rows, Place | None]:
        rows, last = list[tuple[object, ...]](), None
        source = SharedRows(buffer, tokens, lambda: None)
        async with AsyncRows(PushedRows(source), tokens=True) as batches:
            async with asyncio.timeout(DEADLINE_S):
                offer(0)
                while last != Place({0: 3}):
                    batch = await anext(batches)
                    rows += batch.rows
                    last = tokens.place(batch.token) if batch.token else last
                    if batch.rows and len(rows) < 3:
                        offer(len(rows))
        return rows, last

    assert asyncio.run(read()) == ([(0,), (1,), (2,)], Place({0: 3}))


def test_a_slow_client_gets_the_reason_and_a_token(
    cluster: EmbeddedCluster, readers: SharedReaders, service: str
) -> None:
    topic = PushedTopic(cluster, service)
    source = topic.subscribe(readers, "SELECT v FROM s", limits=BufferLimits(rows_max=10))

    async def read() -> str | None:
        batches = AsyncRows(PushedRows(source))
        topic.numbers(range(100))

        def ended() -> bool:
            topic.numbers([0])
            return source._buffer.ended  # noqa: SLF001

        wait_until(ended, "the end of the query")
        with pytest.raises(ClientTooSlow, match="the client read too slowly"):
            await _rows(batches, 10**6)
        return batches.token

    token = asyncio.run(read())
    assert token is not None
    again = PushedRows(topic.subscribe(readers, "SELECT v FROM s", token), limit=100)
    assert list(again) == [(v,) for v in range(100)]


def test_sources_without_wake_ups_are_waited_for_in_threads() -> None:
    source = _Scripted([(1,), (2,)], [], [(3,)])

    async def read() -> Rows:
        async with AsyncRows(PushedRows(source)) as batches:
            return await _rows(batches, 3)

    assert asyncio.run(read()) == [(1,), (2,), (3,)]
    assert source.closed.is_set()
    assert threading.main_thread().name not in source.threads


def test_a_failed_source_raises_its_error_once_and_then_ends() -> None:
    source = _Scripted([(1,)], DuologError("gone"))

    async def read() -> None:
        batches = AsyncRows(PushedRows(source))
        assert (await anext(batches)).rows == [(1,)]
        with pytest.raises(DuologError, match="gone"):
            await anext(batches)
        with pytest.raises(StopAsyncIteration):
            await anext(batches)

    asyncio.run(read())
    assert source.closed.is_set()
