"""The engine and its JVM are killed with SIGKILL in mid-run, again and again, while events flow in.

Goal: state and source offsets agree after every crash. Method: at the end the latest value of each
key equals a batch computation over all that was written, timestamps included; one record lost, or
counted twice in state, would stay visible for ever.

The seed is printed, and a failing one can be given back: DUOLOG_SEED=123 pytest tests/fault/...
It decides the events and how long after a moment each kill comes; what the engine is doing then is
up to the machine.
"""

import os
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from duolog.testing import EmbeddedCluster
from fault.engine_process import EngineProcess, Moment, is_live, starts_micro_batches
from fault.flow import Flow, ResultTables
from fault.journeys import computed_in_one_batch

SEED = int(os.environ.get("DUOLOG_SEED", "1"))
EVENTS_PER_SECOND = 300
EPOCH_MS = 2000
SETTINGS = {"epoch.ms": str(EPOCH_MS), "max.offsets.per.trigger": "5000"}
SETTLE_TIMEOUT_S = 120.0


class Kill(NamedTuple):
    """Comes at a random moment within some seconds after the engine has come so far."""

    mode: str
    """In which mode the engine was started that is killed."""
    after: Moment
    epochs: int
    """Micro-batches or epochs that must be committed since that start."""
    within_s: float
    jvm_too: bool = True


EPOCH_S = EPOCH_MS / 1000
KILLS: dict[str, Sequence[Kill]] = {
    "micro-batch": [
        Kill("micro-batch", starts_micro_batches, 1, 4.0),
        Kill("micro-batch", starts_micro_batches, 0, 4.0),
        Kill("micro-batch", starts_micro_batches, 1, 1.0, jvm_too=False),
    ],
    "real-time": [
        Kill("real-time", is_live, 1, 2 * EPOCH_S),
        Kill("real-time", is_live, 0, 2 * EPOCH_S),
    ],
    # As it goes live, while it catches up, and live.
    "auto": [
        Kill("auto", is_live, 0, 0.7),
        Kill("auto", starts_micro_batches, 0, 4.0),
        Kill("auto", is_live, 1, 2 * EPOCH_S),
    ],
}
# Each start of an engine takes long: one checkpoint goes through all modes. A start in real time
# catches up first, as `auto` does; the moments in between are left to the long form.
IN_EACH_MODE: Sequence[Kill] = [
    KILLS["micro-batch"][0],
    KILLS["real-time"][0],
    KILLS["micro-batch"][2],
]


@pytest.fixture(scope="module")
def bootstrap_servers() -> Iterator[str]:
    with EmbeddedCluster() as cluster:
        yield cluster.bootstrap_servers


@pytest.mark.deep
@pytest.mark.timeout(900)
def test_an_engine_killed_in_each_mode_loses_nothing_and_counts_nothing_twice(
    bootstrap_servers: str, tmp_path: Path
) -> None:
    kill_while_events_flow(bootstrap_servers, tmp_path, IN_EACH_MODE, "auto", SEED)


@pytest.mark.deep
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("mode", ["micro-batch", "real-time", "auto"])
def test_an_engine_killed_ten_times_loses_nothing_and_counts_nothing_twice(
    mode: str, bootstrap_servers: str, tmp_path: Path
) -> None:
    kills = list(islice(cycle(KILLS[mode]), 10))
    kill_while_events_flow(bootstrap_servers, tmp_path, kills, mode, SEED)


def kill_while_events_flow(
    bootstrap_servers: str, directory: Path, kills: Sequence[Kill], last_mode: str, seed: int
) -> None:
    """Start an engine for each kill, and one more, on one checkpoint."""
    print(f"seed {seed}, {len(kills)} kills")  # noqa: T201 - a failing test shows it
    random = Random(seed)  # noqa: S311 - a seed that can be run again
    prefix = f"{uuid.uuid4().hex[:8]}-"
    engine = EngineProcess(bootstrap_servers, directory, prefix, SETTINGS)
    with engine, Flow(bootstrap_servers, prefix, seed, EVENTS_PER_SECOND) as flow:
        flow.create_topics()
        engine.start(kills[0].mode)
        wait_for_the_airlines(engine)
        flow.start()
        for kill, next_mode in zip(kills, [*(k.mode for k in kills[1:]), last_mode], strict=True):
            advance_to(kill, engine)
            time.sleep(wait_s := random.random() * kill.within_s)
            committed, sent = engine.committed() + 1, len(flow.sent)
            if kill.jvm_too:
                engine.kill()
            else:
                engine.kill_python_alone()
            print(  # noqa: T201
                f"  {kill.mode}, killed {wait_s:.2f} s after {kill.after.__name__} and {kill.epochs} "
                f"epochs: {committed} committed in all, {sent} events sent"
                f"{'' if kill.jvm_too else ', its JVM lives on'}"
            )
            engine.start(next_mode)
        engine.wait_for(is_live if last_mode != "micro-batch" else starts_micro_batches)
        settle(engine, flow, bootstrap_servers, prefix)


def advance_to(kill: Kill, engine: EngineProcess) -> None:
    engine.wait_for(kill.after)
    wanted = engine.committed() + kill.epochs
    wait_until(engine, lambda: engine.committed() >= wanted)


def wait_for_the_airlines(engine: EngineProcess) -> None:
    """A flight that overtakes its airline in real time is joined with none, and rightly so."""
    wait_until(engine, lambda: engine.committed() >= 0)


def wait_until(engine: EngineProcess, holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SETTLE_TIMEOUT_S
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        engine.ensure_running()
        time.sleep(0.05)


def settle(engine: EngineProcess, flow: Flow, bootstrap_servers: str, prefix: str) -> None:
    """The last events come in while the engine runs; then its tables are those of the batch."""
    time.sleep(EPOCH_MS / 1000)
    expected = computed_in_one_batch(flow.stop())
    with ResultTables(bootstrap_servers, prefix) as results:
        deadline = time.monotonic() + SETTLE_TIMEOUT_S
        while results.read_all() != expected and time.monotonic() < deadline:
            engine.ensure_running()
            time.sleep(0.2)
        # What it still had to write would come out now.
        engine.stop()

        assert results.read_all() == expected
        print(f"  {len(flow.sent)} events, {results.updates} updates of results")  # noqa: T201
