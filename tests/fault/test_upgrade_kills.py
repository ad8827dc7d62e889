"""Upgrade between two processes, and kill the new one, the old one, or both at each stage of the swap.

The old process runs while the new one rebuilds a store and then replaces it. After any kill at any
stage, the next start of the new topology ends with the results and the state of an undisturbed
run; with exactly once, each result exists once.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, Literal

import pytest

import waiting
from duolog.testing import Client, EmbeddedCluster

pytestmark = [pytest.mark.deep, pytest.mark.timeout(900)]

TESTS: Final = Path(__file__).parents[1]
PROGRAM: Final = Path(__file__).with_name("upgrade_program.py")
STAGE_S: Final = 240.0
EACH_UPDATE: Final = "statestore.cache.max.bytes=0"
ONCE: Final = "processing.guarantee=exactly_once_v2"
LOGGED: Final = "state.changelog=on"
Victim = Literal["new", "old", "both"]


class Upgrade:
    """One application on a broker of its own, its two processes, and a continuous flow of orders."""

    def __init__(self, servers: str, directory: Path, settings: list[str]) -> None:
        self.servers, self.data, self.settings = servers, directory / "data", settings
        self.client = Client(servers)
        for topic in ("orders", "totals", "by_item"):
            self.client.create_topic(topic, partitions=2)
        self.checkpoint = self.data / "checkpoints" / "upgraded"
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._log = directory / "programs.log"
        self._ordered = 0
        self._ordering = threading.Lock()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._produce_orders, daemon=True)

    def order(self, records: int) -> None:
        with self._ordering:
            for n in range(self._ordered, self._ordered + records):
                value = json.dumps({"item": f"i{n % 7}", "n": n, "m": 2 * n})
                self.client.produce("orders", f"c{n % 5}", value)
            self._ordered += records

    def go_on_ordering(self) -> None:
        self._thread.start()

    def _produce_orders(self) -> None:
        while not self._done.wait(0.5):
            self.order(5)

    def end_ordering(self) -> None:
        self._done.set()
        self._thread.join()

    def start(self, which: str) -> None:
        with self._log.open("ab") as log:
            self.processes[which] = subprocess.Popen(
                [sys.executable, str(PROGRAM), self.servers, str(self.data), which, *self.settings],
                stdout=log,
                stderr=log,
                env=os.environ | {"PYTHONPATH": str(TESTS)},
                start_new_session=True,
            )

    def kill(self, which: str) -> None:
        """End a process with its JVM."""
        process = self.processes[which]
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(60)

    def has_ended(self, which: str) -> bool:
        return self.processes[which].poll() is not None

    def wait_for(self, done: Callable[[], bool]) -> None:
        waiting.wait_until(done, self.output, STAGE_S)

    def output(self) -> str:
        return self._log.read_text(errors="replace")[-4000:]

    @property
    def spark_dir(self) -> str:
        """The name of the Spark checkpoint that counts now."""
        with contextlib.suppress(OSError, ValueError):
            fixed = json.loads((self.checkpoint / "application.json").read_text())
            return str(fixed.get("state", "spark"))
        return ""

    def committed(self, spark_dir: str) -> bool:
        return any((self.checkpoint / spark_dir / "commits").glob("[0-9]*"))

    def counts(self) -> dict[str, list[int]]:
        """Return all counts that were emitted for each item, in order."""
        found: dict[str, list[int]] = {}
        for record in self.client.read("by_item"):
            found.setdefault(record.key_text or "", []).append(json.loads(record.value or b"")["n"])
        return found

    def totals(self) -> dict[str, dict[str, int]]:
        """Return the last totals of each customer."""
        records = self.client.read("totals")
        return {record.key_text or "": json.loads(record.value or b"") for record in records}

    def ordered(self) -> list[int]:
        return list(range(self._ordered))


STAGES: Final[dict[str, Callable[[Upgrade], bool]]] = {
    "the rebuild begins": lambda of: (of.checkpoint / "rebuild/application.json").exists(),
    "the rebuild is planned": lambda of: (of.checkpoint / "rebuild/spark/offsets/0").exists(),
    "the rebuild has committed": lambda of: of.committed("rebuild/spark"),
    "the old one is asked to go": lambda of: (of.checkpoint / "handover.wanted").exists(),
    "the old one is gone": lambda of: of.has_ended("old"),
    "the file is replaced": lambda of: of.spark_dir == "spark-2",
    "the new one has planned": lambda of: (of.checkpoint / "spark-2/offsets/0").exists(),
    "the new one has committed": lambda of: of.committed("spark-2"),
}
"""The stages: files on the disk or processes that have ended, in the order in which they occur."""
BEFORE_THE_END_OF_THE_OLD_ONE: Final = tuple(STAGES)[:4]


@pytest.fixture
def upgrade(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Upgrade]:
    with EmbeddedCluster(tmp_path / "broker", settings={"durability": "os"}) as cluster:
        made = Upgrade(cluster.bootstrap_servers, tmp_path, [EACH_UPDATE, *request.param])
        yield made
        made._done.set()  # noqa: SLF001 - of the class above
        for which in made.processes:
            made.kill(which)


def struck(upgrade: Upgrade, stage: str, victim: Victim) -> None:
    """Kill a process at a stage, and upgrade again."""
    upgrade.order(100)
    upgrade.start("old")
    upgrade.wait_for(lambda: upgrade.committed("spark"))
    upgrade.go_on_ordering()
    upgrade.start("new")
    upgrade.wait_for(lambda: STAGES[stage](upgrade))

    for which in ("new", "old") if victim == "both" else (victim,):
        upgrade.kill(which)

    if victim == "old" and not upgrade.has_ended("new"):
        upgrade.wait_for(lambda: upgrade.committed("spark-2") or upgrade.has_ended("new"))
    upgrade.end_ordering()
    if victim == "new" and stage in BEFORE_THE_END_OF_THE_OLD_ONE[:3]:
        assert not upgrade.has_ended("old"), "it continues, as no process has replaced it"
    for which in ("new", "old"):
        upgrade.kill(which)
    upgrade.start("last")
    assert upgrade.processes["last"].wait(STAGE_S) == 0, upgrade.output()


def ensure_right(upgrade: Upgrade, *, once: bool) -> None:
    items = Counter(f"i{n % 7}" for n in upgrade.ordered())
    reported = upgrade.counts()
    assert {item: counts[-1] for item, counts in reported.items()} == items
    for counts in reported.values():
        assert set(counts) == set(range(1, counts[-1] + 1)), "none is missing"
        if once:
            assert counts == sorted(set(counts)), "each is there once"
    upgrade.order(5)  # One more for each customer: what the state has shows in its total.
    upgrade.start("last")
    assert upgrade.processes["last"].wait(STAGE_S) == 0, upgrade.output()
    of = {f"c{c}": [n for n in upgrade.ordered() if n % 5 == c] for c in range(5)}
    assert upgrade.totals() == {
        customer: {"n": len(ns), "total": 2 * sum(ns)} for customer, ns in of.items()
    }


@pytest.mark.parametrize("upgrade", [[ONCE, LOGGED]], indirect=True, ids=["once"])
@pytest.mark.parametrize("stage", STAGES)
def test_killing_the_new_process_leaves_the_old_version_or_the_new_one(
    upgrade: Upgrade, stage: str
) -> None:
    struck(upgrade, stage, "new")
    ensure_right(upgrade, once=True)


@pytest.mark.parametrize("upgrade", [[]], indirect=True, ids=["at-least-once"])
@pytest.mark.parametrize("stage", ["the rebuild has committed", "the old one is asked to go"])
def test_an_old_process_that_is_killed_is_replaced_all_the_same(
    upgrade: Upgrade, stage: str
) -> None:
    struck(upgrade, stage, "old")
    ensure_right(upgrade, once=False)


@pytest.mark.parametrize("upgrade", [[LOGGED], [ONCE]], indirect=True, ids=["logged", "once"])
@pytest.mark.parametrize("stage", ["the old one is asked to go", "the file is replaced"])
def test_the_next_start_continues_after_both_processes_were_killed(
    upgrade: Upgrade, stage: str
) -> None:
    struck(upgrade, stage, "both")
    ensure_right(upgrade, once=ONCE in upgrade.settings)
