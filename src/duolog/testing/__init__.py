"""Fakes and small clusters for tests, used by Duolog and its users.

May import everything but `cli`. Names are loaded on first use, so that a test only loads what it
uses: `broker` (a broker for tests of any Kafka program, with faults on demand), `EmbeddedCluster`
(the broker of `duolog broker` in a process), `SparkCluster` (a Spark master and workers),
`Client` (reads and writes topics), `FakeClock`, `TopologyDriver` (a topology in plain Python,
record by record, without broker and JVM), `ReferenceEvaluator` (the implementation of the driver).

`pytest_plugin` contains fixtures, which pytest finds by itself. `containers` replaces
testcontainers.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duolog.testing.client import Client
    from duolog.testing.clock import FakeClock
    from duolog.testing.cluster import EmbeddedCluster
    from duolog.testing.disk import CrashDisk
    from duolog.testing.driver import TopologyDriver
    from duolog.testing.local_broker.local_broker import LocalBroker, broker
    from duolog.testing.reference import ReferenceEvaluator
    from duolog.testing.spark_cluster import SparkCluster

__all__ = [
    "Client",
    "CrashDisk",
    "EmbeddedCluster",
    "FakeClock",
    "LocalBroker",
    "ReferenceEvaluator",
    "SparkCluster",
    "TopologyDriver",
    "broker",
]

_HOME = {
    "Client": "duolog.testing.client",
    "CrashDisk": "duolog.testing.disk",
    "EmbeddedCluster": "duolog.testing.cluster",
    "FakeClock": "duolog.testing.clock",
    "LocalBroker": "duolog.testing.local_broker.local_broker",
    "ReferenceEvaluator": "duolog.testing.reference",
    "SparkCluster": "duolog.testing.spark_cluster",
    "TopologyDriver": "duolog.testing.driver",
    "broker": "duolog.testing.local_broker.local_broker",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
