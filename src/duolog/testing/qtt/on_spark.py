"""Runs the plans of cases as Spark's streaming queries, on an embedded broker: the production code.

    record ─▶ topic q7-test_topic ─▶ micro-batch, committed ─▶ the next record …
    topic q7-OUTPUT ─▶ the results

Several cases may run concurrently, each in its own thread: their topics and checkpoints have
different names.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Final, Self

from duolog.core.errors import QueryError
from duolog.engine import Engine, EngineConfig
from duolog.engine.settings import OF_SQL
from duolog.plan.nodes import Node, Plan, Sink
from duolog.plan.nodes.copies import copied
from duolog.plan.nodes.topics import Source
from duolog.testing.client import Client
from duolog.testing.cluster import EmbeddedCluster
from duolog.testing.qtt.cases import Case
from duolog.testing.qtt.runner import Outcome, run_case
from duolog.testing.qtt.written import Writer
from duolog.testing.reference import SinkRecord, SourceRecord
from duolog.testing.registries import let_kernel_reach, withdraw_from_kernel

_SIDE_BY_SIDE: Final = 12
_BATCH_S: Final = 120.0
_FOR_EVER: Final = {"retention.ms": "-1"}
"""The timestamps of cases are in 1970."""


class SparkRuns:
    """Runs plans on Spark, record by record; a context manager for broker and engine."""

    def __init__(self) -> None:
        self._directory = TemporaryDirectory(prefix="duolog-qtt-")
        self._numbers = count()
        self._cluster = EmbeddedCluster(
            Path(self._directory.name) / "broker", settings={"durability": "os"}
        )
        self._engine: Engine | None = None

    def __enter__(self) -> Self:
        self._cluster.__enter__()
        directory = Path(self._directory.name)
        self._engine = Engine(
            EngineConfig(
                bootstrap_servers=self._cluster.bootstrap_servers,
                checkpoint_dir=directory / "checkpoints",
                log_path=directory / "engine.log",
                cache_bytes_max=0,
                errors=OF_SQL,
            )
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._engine is not None
        self._engine.close()
        self._cluster.__exit__(kind, error, trace)
        self._directory.cleanup()

    def outcomes(self, cases: Iterable[Case]) -> Iterator[Outcome]:
        """Yield the outcomes of cases in order; several run at a time."""
        with ThreadPoolExecutor(_SIDE_BY_SIDE, "duolog-qtt") as pool:
            yield from pool.map(lambda case: run_case(case, self.run), cases)

    def run(self, plan: Plan, records: Iterable[SourceRecord]) -> list[SinkRecord]:
        """Run a plan over records, each in its own micro-batch, and return what it writes.

        Raises:
            QueryError: it does not start, fails, or does not finish a record.
        """
        assert self._engine is not None
        prefix = f"q{next(self._numbers)}-"
        own = apart(plan, prefix)
        servers = self._cluster.bootstrap_servers
        client = Client(servers)
        for topic in sorted(_topics(own)):
            client.create_topic(topic, configs=_FOR_EVER)
        registries = let_kernel_reach(own)
        query = self._engine.start(own, f"{prefix}case", "micro-batch")
        try:
            with Writer(servers) as writer:
                for record in records:
                    writer.write(prefix + record.topic, record)
                    if not query.wait_until_caught_up(_BATCH_S):
                        raise QueryError(f"no end of a micro-batch in {_BATCH_S:.0f} s")
        finally:
            query.stop()
            withdraw_from_kernel(registries)
        return [
            SinkRecord(topic, 0, one.timestamp_ms, one.key, one.value, tuple(one.headers))
            for topic in dict.fromkeys(topic for sink in plan.sinks for topic in sink.topics)
            for one in client.read(prefix + topic)
        ]


def apart(plan: Plan, prefix: str) -> Plan:
    """Return the same plan over topics whose names start with `prefix`."""

    def change(node: Node, values: dict[str, Any]) -> None:
        if isinstance(node, Source | Sink):
            values["topic"] = prefix + node.topic
        if isinstance(node, Sink):
            values["among"] = tuple(prefix + topic for topic in node.among)

    return copied(plan, change)[0]


def _topics(plan: Plan) -> set[str]:
    written = {topic for sink in plan.sinks for topic in sink.topics}
    return written | {source.topic for source in plan.sources}
