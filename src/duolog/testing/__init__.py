"""Fakes and small clusters for tests, Duolog's own and its users'.

May import everything but `cli`. Names are loaded on first use, so that a test pays only for
what it takes: `EmbeddedCluster` (a real broker in a process), `FakeClock`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duolog.testing.clock import FakeClock
    from duolog.testing.cluster import EmbeddedCluster

__all__ = ["EmbeddedCluster", "FakeClock"]

_HOME = {"EmbeddedCluster": "duolog.testing.cluster", "FakeClock": "duolog.testing.clock"}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
