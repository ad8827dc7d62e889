"""Become and stay the only writer of the topic.

    follower ── the group assigns the partition ──► taking over ── barrier replayed ──► leader
       ▲                                                 ▲                                │
       ├───────────────── the group takes it away ───────┴──── fenced, or a write is ─────┤
       └─────────────────────────────────────────────────────── uncertain ────────────────┘

Taking over means: open a writer, which fences all older ones; append a NOOP record; wait until the
replica has replayed it. Whatever an older leader wrote comes before this record, so that the new
leader knows every id and version that has ever been given away.

Thread: the event loop; the writer's calls run on one thread.

Source: the barrier is that of Karapace's `schema_reader.py` and Confluent's `KafkaStore`.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Protocol, TypeVar

from duolog.core.errors import KafkaError, RegistryError
from duolog.registry.service.replica import Replica
from duolog.registry.store.errors import WriterFenced, WriteUncertain
from duolog.registry.store.stored import NewRecord

logger = logging.getLogger(__name__)

BARRIER_S: Final = 30.0
REPLAY_S: Final = 10.0
_RETRY_S: Final = 0.5
_FENCED_RETRY_S: Final = 5.0
"""A fenced leader learns within a heartbeat or two that the group has replaced it. If it took over
again at once, it would fence its successor.
"""
Result = TypeVar("Result")


class Writer(Protocol):
    """Appends records as the only writer, see `store/writer.py`."""

    def append(self, records: Sequence[NewRecord]) -> int:
        """Append records; return the offset of the last one."""

    def close(self) -> None:
        """Release what it holds."""


class Leadership:
    """The part of this registry in the group's leadership.

    Args:
        open_writer: opens a writer; blocks, and raises `StoreUnavailable`.
        barrier: the record that is appended first.
    """

    def __init__(
        self, replica: Replica, open_writer: Callable[[], Writer], barrier: NewRecord
    ) -> None:
        self._replica = replica
        self._open_writer = open_writer
        self._barrier = barrier
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="registry-writer")
        self._term = 0
        self._owned = False
        self._writer: Writer | None = None
        self._taking_over: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()

    @property
    def owned(self) -> bool:
        """True if the group wants this registry to lead."""
        return self._owned

    @property
    def writer(self) -> Writer | None:
        """The writer, if this registry leads."""
        return self._writer

    def gain(self) -> None:
        """Start to take over."""
        self._term += 1
        self._owned = True
        self._start_taking_over()

    def lose(self) -> None:
        """Stop leading; a write in progress is either committed or fenced."""
        if self._owned:
            logger.info("registry does not lead any more")
        self._term += 1
        self._owned = False
        if self._taking_over is not None:
            self._taking_over.cancel()
        self._retire()

    async def changed(self, timeout_s: float) -> None:
        """Return when this registry starts to lead, or after the timeout."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._changed.wait()
        except TimeoutError:
            return

    async def append(self, writer: Writer, records: Sequence[NewRecord]) -> int:
        """Append records and wait until they are replayed; return the last offset.

        Raises:
            RecordTooLarge: nothing was written.
            WriterFenced: nothing was written, and another registry leads.
            WriteUncertain: the outcome is unknown until a new writer is open.
        """
        try:
            offset = await self._in_thread(lambda: writer.append(records))
            async with asyncio.timeout(REPLAY_S):
                await self._replica.reached(offset)
        except BaseException as error:
            # Until the records are known to be replayed or not written, no decision is safe: the
            # rules could give away an id for the second time.
            self._start_again(writer, error)
            if isinstance(error, TimeoutError):
                raise WriteUncertain(
                    "a record was written, but not read in time", code=-185, retriable=True
                ) from error
            raise
        return offset

    async def stop(self) -> None:
        """Stop leading, and close the writer."""
        self.lose()
        await self._in_thread(lambda: None)
        self._thread.shutdown(wait=False)

    def _start_again(self, writer: Writer, error: BaseException) -> None:
        logger.warning("a write failed", extra={"reason": str(error) or type(error).__name__})
        if self._writer is writer:
            self._retire()
            if self._owned:
                fenced = isinstance(error, WriterFenced)
                self._start_taking_over(_FENCED_RETRY_S if fenced else 0)

    def _start_taking_over(self, delay_s: float = 0) -> None:
        if self._taking_over is not None:
            self._taking_over.cancel()
        self._taking_over = asyncio.get_running_loop().create_task(
            self._take_over(self._term, delay_s)
        )

    async def _take_over(self, term: int, delay_s: float) -> None:
        await asyncio.sleep(delay_s)
        while term == self._term and self._replica.failure is None:
            writer = None
            try:
                writer = await self._in_thread(self._open_writer)
                barrier = [self._barrier]
                opened = writer
                offset = await self._in_thread(lambda: opened.append(barrier))  # noqa: B023 - awaited at once
                async with asyncio.timeout(BARRIER_S):
                    await self._replica.reached(offset)
            except (RegistryError, KafkaError, TimeoutError) as error:
                logger.warning("cannot lead yet", extra={"reason": str(error)})
                self._close(writer)
                await asyncio.sleep(_RETRY_S)
            except asyncio.CancelledError:
                self._close(writer)
                raise
            else:
                self._writer = writer
                self._changed.set()
                logger.info("registry leads", extra={"next_offset": self._replica.next_offset})
                return

    def _retire(self) -> None:
        self._close(self._writer)
        self._writer = None
        self._changed.clear()

    def _close(self, writer: Writer | None) -> None:
        if writer is not None:
            self._thread.submit(writer.close)

    async def _in_thread(self, call: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)
