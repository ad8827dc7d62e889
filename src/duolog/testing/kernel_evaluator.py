"""Runs a plan on the kernel in memory: the engine's operators without Spark's queries.

first driver of the process ─▶ starts the JVM, which later drivers share
each driver                 ─▶ compiles its expressions
each record                 ─▶ one micro-batch: in, through all levels, out
"""

import uuid
from collections.abc import Iterable, Sequence

from duolog.engine.in_memory import MemoryChain
from duolog.engine.lowering.expressions.python_functions import python_of
from duolog.engine.lowering.lower import lower
from duolog.engine.lowering.spec.ticks import TICKS
from duolog.engine.lowering.stores.store_queries import lower_store_query
from duolog.engine.settings import (
    LOG_AND_CONTINUE,
    LOG_AND_FAIL,
    PYTHON_MEMORY_BYTES_MAX_DEFAULT,
    PYTHON_TIMEOUT_MS_DEFAULT,
    ErrorHandling,
)
from duolog.engine.stores import RowReader
from duolog.engine.topics.patterns import matched_topics, with_topics
from duolog.plan.cutting.levels import find_levels
from duolog.plan.nodes import Node, Plan
from duolog.runtime.store_rows import StoredRow
from duolog.testing.packed_records import Sunk, pack, unpack
from duolog.testing.reference import SinkRecord, SourceRecord
from duolog.testing.registries import let_kernel_reach, withdraw_from_kernel


class KernelEvaluator:
    """Runs a plan over records in the kernel, keeping its state from one `run` to the next.

    `topics` are the existing topics, for sources that read by a pattern. `errors` configures the
    handling of failed records in more detail than `passes_over`.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        tasks: int,
        cache_bytes_max: int,
        passes_over: bool = False,
        topics: Sequence[str] = (),
        errors: ErrorHandling | None = None,
    ) -> None:
        self.wall_clock_ms = 0
        self._levels = find_levels(plan, tasks)
        # The JVM's metrics have this name.
        name = f"topology-driver-{uuid.uuid4().hex}"
        spec = lower(self._levels, name, cache_bytes_max=cache_bytes_max)
        otherwise = ErrorHandling(processing=LOG_AND_CONTINUE if passes_over else LOG_AND_FAIL)
        sources = with_topics(spec["sources"], matched_topics(plan, topics, name))
        python = python_of(PYTHON_TIMEOUT_MS_DEFAULT, PYTHON_MEMORY_BYTES_MAX_DEFAULT)
        self._registries = let_kernel_reach(plan)
        self._chain = MemoryChain(
            spec | python | {"errors": (errors or otherwise).spec(), "sources": sources}
        )

    @property
    def dropped(self) -> int:
        """The number of records that were dropped because they could not be read."""
        return self._chain.skipped("deserialization")

    @property
    def failed(self) -> int:
        """The number of records that were skipped because they could not be processed."""
        return self._chain.skipped("processing")

    @property
    def failed_calls(self) -> int:
        """Calls in expressions that failed and returned null."""
        return self._chain.failed_calls()

    def run(self, records: Iterable[SourceRecord], tick_ms: int | None = None) -> list[SinkRecord]:
        """Process records as one micro-batch; return what sinks write, in order.

        `tick_ms` is a tick after the records: the wall-clock time.

        Raises:
            QueryError: a record cannot be processed.
        """
        ticks = [] if tick_ms is None else [SourceRecord(TICKS, 0, 0, tick_ms, None, None)]
        written = self._chain.run(pack([*records, *ticks]), self.wall_clock_ms)
        return [_sink_record(out) for out in unpack(written)]

    def rows(self, table: Node) -> list[StoredRow]:
        """Return the rows in the store of `table`, of all tasks; for a suppress, its buffer."""
        packed = self._chain.rows(lower_store_query(table, self._levels))
        shown = ((row.partition or 0, row.key, row.value, row.ts) for row in unpack(packed))
        return [StoredRow(*found) for found in RowReader(table, self._levels).rows(shown)]

    def close(self) -> None:
        """Drop the JVM's metrics of this driver; the JVM runs on for the next driver."""
        self._chain.close()
        withdraw_from_kernel(self._registries)


def _sink_record(out: Sunk) -> SinkRecord:
    return SinkRecord(out.topic, 0, out.ts, out.key, out.value, out.headers, out.partition)
