"""Lowers a plan to one Spark query and runs it.

    plan -> levels (plan.levels) -> spec (lower, lowering/) -> kernel (jvm/) -> RunningQuery (query)

The only package that imports pyspark. It imports `plan` and `core`, and asks a broker only through
Kafka clients. Start reading with `engine.py` (the entry), then `lower.py`.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duolog.engine.engine import Engine as Engine
    from duolog.engine.settings import EngineConfig as EngineConfig


def __getattr__(name: str) -> object:
    # Lazily: `python -m duolog.engine.jars` must run before there is a connector or a kernel.
    if name == "Engine":
        from duolog.engine.engine import Engine  # noqa: PLC0415

        return Engine
    if name == "EngineConfig":
        from duolog.engine.settings import EngineConfig  # noqa: PLC0415

        return EngineConfig
    raise AttributeError(name)
