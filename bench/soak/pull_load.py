"""Pull queries at a steady rate from a process of its own, each answer checked.

    n of a key never decreases      compared with answers that had arrived before the request
    n is at most the true value     of the events that were sent when the answer arrived

The client is a few lines of HTTP/1.1 on keep-alive connections: a library would need more than a
core for 1,000 requests a second. A request that fails is sent again, and the time without answers
is reported as a failure.
"""

import asyncio
import json
import random
import time
from collections import Counter
from multiprocessing.connection import Connection
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from bench.soak.events import ITEMS, USERS, Event, event
from bench.soak.queries import BIG

CONNECTIONS: Final = 16
_PAUSE_S: Final = 0.1
_TIMEOUT_S: Final = 30.0
_TABLES: Final = ("by_user", "by_item", "big_by_user")
_KEYS: Final = {"by_user": "usr", "by_item": "item", "big_by_user": "usr"}


class Lookup(NamedTuple):
    """A table, and the key of the row that is asked for."""

    table: str
    key: str

    @property
    def sql(self) -> str:
        return f"SELECT n FROM {self.table} WHERE {_KEYS[self.table]} = '{self.key}';"  # noqa: S608


class TrueCounts:
    """Counts over the first events, which grow with the number of events that were sent."""

    def __init__(self) -> None:
        self._counts: Counter[Lookup] = Counter()
        self._total = 0

    def most(self, lookup: Lookup, total: int) -> int:
        """Return the count of a row after `total` events."""
        while self._total < total:
            self._add(event(self._total))
            self._total += 1
        return self._counts[lookup]

    def _add(self, one: Event) -> None:
        self._counts[Lookup("by_user", one.usr)] += 1
        self._counts[Lookup("by_item", one.item)] += 1
        if one.amount >= BIG:
            self._counts[Lookup("big_by_user", one.usr)] += 1


class PullChecks:
    """The answers so far; finds those that cannot be right."""

    def __init__(self) -> None:
        self.violations: list[str] = []
        self._truth = TrueCounts()
        self._floors: dict[Lookup, int] = {}

    def floor(self, lookup: Lookup) -> int:
        """Return the least count that an answer to a request from now on may have."""
        return self._floors.get(lookup, 0)

    def answered(self, lookup: Lookup, floor: int, count: int, sent: int) -> None:
        """Check an answer; `floor` is from before the request, `sent` from after the answer."""
        if count < floor:
            self.violations.append(f"{lookup}: {count} after {floor}")
        if count > (most := self._truth.most(lookup, sent)):
            self.violations.append(f"{lookup}: {count}, but only {most} were sent")
        self._floors[lookup] = max(count, self.floor(lookup))


class PullLoad:
    """The requests of all connections.

    Args:
        url: the SQL server.
        rate: requests per second, all connections together.
        sent: shared with the producer: the number of events that were sent.
    """

    def __init__(self, url: str, rate: float, sent: Any) -> None:
        address = urlsplit(url)
        self._host, self._port = address.hostname or "", address.port or 80
        self._rate = rate
        self._sent = sent
        self._random = random.Random(7)  # noqa: S311 - which rows are asked for
        self._checks = PullChecks()
        self._times_ms: list[float] = []
        self._failures: list[tuple[float, float]] = []
        self._reasons: Counter[str] = Counter()
        self._paced_from = time.monotonic()
        self._count = 0
        self.stopping = False

    async def run(self) -> dict[str, Any]:
        """Send until `stopping`; return the summary."""
        started = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for _ in range(CONNECTIONS):
                group.create_task(self._connection())
        took = time.monotonic() - started
        self._times_ms.sort()
        return {
            "answers": len(self._times_ms),
            "answers_per_s": round(len(self._times_ms) / took, 1),
            "p50_ms": self._quantile(0.5),
            "p99_ms": self._quantile(0.99),
            "failures": self._failures,
            "reasons": dict(self._reasons.most_common(10)),
            "violations": self._checks.violations,
        }

    def _quantile(self, part: float) -> float | None:
        times = self._times_ms
        return round(times[int(part * (len(times) - 1))], 2) if times else None

    async def _connection(self) -> None:
        failing_since: float | None = None
        while not self.stopping:
            try:
                reader, writer = await asyncio.open_connection(self._host, self._port)
                try:
                    while not self.stopping:
                        await self._wait_for_turn()
                        await self._ask(reader, writer)
                        if failing_since is not None:
                            self._failures.append((failing_since, time.monotonic()))
                            failing_since = None
                finally:
                    writer.close()
            except (OSError, EOFError, TimeoutError, _Refused) as error:
                self._reasons[f"{type(error).__name__} {error}"[:120]] += 1
                failing_since = failing_since or time.monotonic()
                await asyncio.sleep(_PAUSE_S)
        if failing_since is not None:
            self._failures.append((failing_since, time.monotonic()))

    async def _wait_for_turn(self) -> None:
        self._count += 1
        due = self._paced_from + self._count / self._rate
        now = time.monotonic()
        if due > now:
            await asyncio.sleep(due - now)
        elif now - due > 1.0:  # Too slow, or an outage: do not catch up with a burst.
            self._paced_from += now - due

    async def _ask(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lookup = self._lookup()
        floor = self._checks.floor(lookup)
        started = time.perf_counter()
        body = json.dumps({"sql": lookup.sql, "properties": {}}).encode()
        writer.write(
            b"POST /query-stream HTTP/1.1\r\nHost: %b:%d\r\nContent-Length: %d\r\n"
            b"Content-Type: application/json\r\n"
            b"Accept: application/vnd.ksqlapi.delimited.v1\r\n\r\n%b"
            % (self._host.encode(), self._port, len(body), body)
        )
        status, answer = await asyncio.wait_for(read_response(reader), _TIMEOUT_S)
        if status != 200:
            raise _Refused(f"{status} {answer[:80].decode(errors='replace')}")
        rows = [json.loads(line) for line in answer.splitlines()[1:] if line]
        if any(not isinstance(row, list) for row in rows):
            raise _Refused(f"200 {answer[-80:].decode(errors='replace')}")
        self._times_ms.append((time.perf_counter() - started) * 1000)
        count = int(rows[0][0]) if rows else 0
        self._checks.answered(lookup, floor, count, self._sent.value)

    def _lookup(self) -> Lookup:
        table = self._random.choice(_TABLES)
        if table == "by_item":
            return Lookup(table, self._random.choice(ITEMS))
        return Lookup(table, f"u{self._random.randrange(USERS)}")


class _Refused(Exception):
    """The server answered with an error."""


async def read_response(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Return status and body of a response with a length or in chunks."""
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    status = int(head[9:12])
    if b"transfer-encoding: chunked" not in head:
        length = head.partition(b"content-length:")[2].split(b"\r\n", 1)[0]
        return status, await reader.readexactly(int(length or 0))
    body = bytearray()
    while size := int(await reader.readuntil(b"\r\n"), 16):
        body += await reader.readexactly(size)
        await reader.readexactly(2)
    await reader.readexactly(2)
    return status, bytes(body)


def pull_process(control: Connection, url: str, rate: float, sent: Any) -> None:
    """Run the load until a message arrives; answer with its summary."""

    async def run() -> dict[str, Any]:
        load = PullLoad(url, rate, sent)
        loop = asyncio.get_running_loop()

        def stop() -> None:
            control.recv()
            loop.remove_reader(control.fileno())
            load.stopping = True

        loop.add_reader(control.fileno(), stop)
        return await load.run()

    control.send(asyncio.run(run()))
