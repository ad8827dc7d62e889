"""Clients with push queries in a process of their own, each row checked.

Each client selects some of the events, in the order of their partitions. After a kill it continues
by its token, and rows of the last second may come again. So the rows of a partition must be

    1 2 3 4 5 │ 4 5 6 7 …        a step back after a lost connection, at most REPEATED_S
    1 2 3 4 5 │ 7                never: a row is missing
    1 2 3 3 4                    never without a kill

A stream that a query writes has no such order between users; its rows must all come, and each at
most once more for each kill.
"""

import asyncio
import bisect
import functools
import itertools
import time
from collections import deque
from collections.abc import AsyncIterator, Iterable
from multiprocessing.connection import Connection
from typing import Any, Final, NamedTuple

from bench.soak.events import PARTITIONS, event, numbers_by_partition, partition
from bench.soak.queries import BIG

import duolog
from duolog.client import Error

REPEATED_S: Final = 5.0
"""Tokens come each second; the rest is for a busy machine."""
_COMPLETE_S: Final = 120.0
_LOOK_S: Final = 0.2
_REMEMBERED: Final = 10_000
"""Rows of a partition in which a row that comes again is looked for."""


class Shape(NamedTuple):
    """A query, and which events it selects.

    Attributes:
        least: only events with at least this amount.
        ordered: the rows of a partition come in the order of the events.
    """

    sql: str
    least: int
    ordered: bool

    def numbers(self, total: int) -> list[list[int]]:
        """Return the numbers of the selected events below `total` by partition."""
        return _numbers(self.least, total)


SHAPES: Final = (
    Shape("SELECT seq FROM events EMIT CHANGES;", 0, ordered=True),
    Shape("SELECT seq, usr FROM events WHERE amount >= 250 EMIT CHANGES;", 250, ordered=True),
    Shape("SELECT seq, item FROM events WHERE amount >= 750 EMIT CHANGES;", 750, ordered=True),
    Shape("SELECT seq, amount FROM events WHERE amount >= 900 EMIT CHANGES;", 900, ordered=True),
    Shape("SELECT seq, amount FROM big EMIT CHANGES;", BIG, ordered=False),
)  # fmt: skip


@functools.cache
def _numbers(least: int, total: int) -> list[list[int]]:
    return numbers_by_partition(seq for seq in range(total) if event(seq).amount >= least)


class OrderedRows:
    """Rows that come in order; see the module's docstring."""

    def __init__(self, shape: Shape) -> None:
        self.violations: list[str] = []
        self.repeated = 0
        self.steps_back = 0
        self._shape = shape
        self._next = [self._following(number, -1) for number in range(PARTITIONS)]
        self._seen: list[deque[tuple[int, float]]] = [
            deque(maxlen=_REMEMBERED) for _ in range(PARTITIONS)
        ]
        self._behind: list[list[int]] = [[] for _ in range(PARTITIONS)]

    def came(self, seq: int, now: float) -> None:
        """Check a row."""
        number = partition(event(seq).usr)
        again = self._behind[number]
        if again and seq == again[-1]:
            again.pop()
            self.repeated += 1
        elif seq == self._next[number] and not again:
            self._seen[number].append((seq, now))
            self._next[number] = self._following(number, seq)
        else:
            self._step_back(number, seq, now)

    def missing(self, total: int) -> int:
        """Return how many rows of the first `total` events have not come."""
        wanted = self._shape.numbers(total)
        return sum(
            len(numbers) - bisect.bisect_left(numbers, following)
            for numbers, following in zip(wanted, self._next, strict=True)
        )

    def _step_back(self, number: int, seq: int, now: float) -> None:
        seen = self._seen[number]
        at = next((at for at in range(len(seen) - 1, -1, -1) if seen[at][0] == seq), None)
        if at is None:
            self.violations.append(f"row {seq} came instead of {self._next[number]}")
            return
        last_at = seen[-1][1]
        if last_at - seen[at][1] > REPEATED_S:
            self.violations.append(f"row {seq} came again after {last_at - seen[at][1]:.1f} s")
        self.steps_back += 1
        self.repeated += 1
        self._behind[number] = [one for one, _ in list(seen)[at + 1 :]][::-1]

    def _following(self, number: int, seq: int) -> int:
        for one in itertools.count(seq + 1):
            found = event(one)
            if found.amount >= self._shape.least and partition(found.usr) == number:
                return one
        raise AssertionError


class UnorderedRows:
    """Rows that come in any order."""

    def __init__(self, shape: Shape) -> None:
        self.violations: list[str] = []
        self.repeated = 0
        self.steps_back = 0
        self._shape = shape
        self._times = bytearray()
        self._different = 0

    def came(self, seq: int, now: float) -> None:
        """Check a row."""
        del now
        if seq >= len(self._times):
            self._times.extend(bytes(seq + 1 - len(self._times)))
        times = self._times[seq] = self._times[seq] + 1
        self._different += times == 1
        self.repeated += times > 1
        self.steps_back = max(self.steps_back, times - 1)
        if event(seq).amount < self._shape.least:
            self.violations.append(f"row {seq} is not selected")

    def missing(self, total: int) -> int:
        """Return how many rows of the first `total` events have not come."""
        return sum(map(len, self._shape.numbers(total))) - self._different


class Client:
    """One push query."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.rows = OrderedRows(shape) if shape.ordered else UnorderedRows(shape)
        self.count = 0
        self.error = ""

    async def run(self, url: str) -> None:
        """Take rows until it is cancelled."""
        properties = {"auto.offset.reset": "earliest"}
        try:
            async with duolog.connect_async(url, properties=properties) as connection:
                rows: AsyncIterator[Any] = connection.subscribe(self.shape.sql)
                async for row in rows:
                    self.count += 1
                    self.rows.came(int(row[0]), time.monotonic())
            self.error = "the query has ended"
        except Error as error:
            self.error = f"{type(error).__name__}: {error}"


async def take_rows(url: str, count: int, control: Connection) -> dict[str, Any]:
    """Run clients until the parent sends the number of events, and all their rows are there."""
    clients = [Client(shape) for _, shape in zip(range(count), itertools.cycle(SHAPES))]
    tasks = [asyncio.create_task(client.run(url)) for client in clients]
    finishing = asyncio.Event()
    asyncio.get_running_loop().add_reader(control.fileno(), finishing.set)
    await finishing.wait()
    asyncio.get_running_loop().remove_reader(control.fileno())
    total, kills = control.recv()
    deadline = time.monotonic() + _COMPLETE_S
    left = list(clients)
    while left and time.monotonic() < deadline:
        left = [one for one in left if not one.error and one.rows.missing(total)]
        await asyncio.sleep(_LOOK_S)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return {
        "clients": count,
        "rows": sum(one.count for one in clients),
        "repeated": sum(one.rows.repeated for one in clients),
        "violations": list(itertools.chain(*(_violations(one, total, kills) for one in clients))),
    }


def _violations(client: Client, total: int, kills: int) -> Iterable[str]:
    found = list(client.rows.violations)
    if client.error:
        found.append(client.error)
    if missing := client.rows.missing(total):
        found.append(f"{missing} rows are missing")
    if client.rows.steps_back > kills * PARTITIONS:
        found.append(f"{client.rows.steps_back} steps back after {kills} kills")
    return [f"{client.shape.sql}: {one}" for one in found]


def push_process(control: Connection, url: str, count: int) -> None:
    """Run the clients; answer with their summary."""
    control.send(asyncio.run(take_rows(url, count, control)))
