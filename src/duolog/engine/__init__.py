"""Lower a plan to one Spark query and run it.

    plan -> levels (plan.levels) -> spec (lowering) -> kernel (jvm/) -> RunningQuery (query)

The only package that imports pyspark. It imports `plan` and `core`, and talks to brokers only
through Kafka clients. Start reading with `engine.py` (the entry), then `lowering/lower.py`.

The packages; each imports only those above it:

    lowering      plan nodes to the kernel's spec        jvm        Java, jars, start and shutdown
    topics        source topics through Kafka clients
    checkpoint    files, owner and checks of a checkpoint
    spark         session, slots, executors, failures    exactly_once  transactions and fencing
    changelog     changelogs and the commit topic
    query         launch, supervise and measure a running query
    upgrades      start a changed topology on existing state; restore

`engine` uses three modules: `planner` cuts and lowers plans, `claims` owns checkpoints, and
`starting` prepares and launches queries.
"""

from typing import TYPE_CHECKING

from duolog.core.engine_packages import ensure_engine_installed

if TYPE_CHECKING:
    from duolog.engine.engine import Engine as Engine
    from duolog.engine.settings import EngineConfig as EngineConfig


def __getattr__(name: str) -> object:
    # Lazily: `python -m duolog.engine.jvm.jars` must run before there is a connector or a kernel.
    if name == "Engine":
        ensure_engine_installed()
        from duolog.engine.engine import Engine  # noqa: PLC0415

        return Engine
    if name == "EngineConfig":
        from duolog.engine.settings import EngineConfig  # noqa: PLC0415

        return EngineConfig
    raise AttributeError(name)
