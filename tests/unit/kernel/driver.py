"""The kernel's in-memory driver, seen from Python."""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from pyspark.sql import SparkSession

from duolog.engine.kernel_classes import kernel_class
from duolog.testing.packed_records import pack, unpack
from duolog.testing.reference import SourceRecord
from unit.kernel.specs import Spec


class In(NamedTuple):
    """A record of a source topic."""

    topic: str
    key: str | None
    value: str | None
    ts: int = 0
    partition: int = 0
    offset: int = 0
    headers: tuple[tuple[str, bytes | None], ...] = ()


class Out(NamedTuple):
    """A record of a sink topic; the partition where it does not follow from the key."""

    topic: str
    key: str | None
    value: str | None
    ts: int
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int | None = None


def java_session(spark: SparkSession) -> Any:
    return spark._jsparkSession  # noqa: SLF001 - PySpark has no other way to the JVM


def kernel_package(spark: SparkSession) -> Any:
    """The kernel's classes by their names; its SQL functions are registered."""
    kernel = _Kernel(spark._jvm)  # noqa: SLF001 - as above
    kernel.Kernel.register(java_session(spark))
    return kernel


class _Kernel:
    def __init__(self, jvm: Any) -> None:
        self._jvm = jvm

    def __getattr__(self, name: str) -> Any:
        return kernel_class(self._jvm, name)


class KernelDriver:
    """Carries records through a chain in memory."""

    def __init__(self, spark: SparkSession, spec: Spec) -> None:
        driver = kernel_package(spark).Driver
        self._driver: Any = driver(java_session(spark), json.dumps(spec))

    def pipe(self, record: In) -> list[Out]:
        """One record through the whole chain."""
        return self.batch([record])

    def batch(self, records: Iterable[In]) -> list[Out]:
        """Several records as one micro-batch."""
        packed = pack(
            SourceRecord(
                record.topic,
                record.partition,
                record.offset,
                record.ts,
                _bytes(record.key),
                _bytes(record.value),
                record.headers,
            )
            for record in records
        )
        return [
            Out(out.topic, _text(out.key), _text(out.value), out.ts, out.headers, out.partition)
            for out in unpack(self._driver.runPacked(packed))
        ]

    def entries(self, store: str) -> int:
        """Return the number of entries in the state of a store."""
        return int(self._driver.entries(store))

    @property
    def corrupt_records(self) -> int:
        return int(self._driver.corruptRecords())


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode()
