"""Kill processes repeatedly while the applications of a ledger run; check the results after each kill and at the end.

    strike ─▶ start, armed at a point ─▶ point reached, or some time ─▶ SIGKILL of one of: the JVM ·
    Python · both · the broker,
                 ▲                                                              │              an executor, a worker of a cluster
                 └── SIGKILL of both, once it has recovered by itself ◀─────────┘

Between two strikes nothing runs: committed readers then see the results of the last epoch. With
exactly once, all results cover the same events, each once. On a cluster, a counted epoch may be
visible in part until the next start has committed the rest: there the results are compared with
each other only at the end. The seed decides events, points and times; the machine decides what an
application is doing at a random time.
"""

import dataclasses
import itertools
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Final, Literal, NamedTuple, Protocol

from fault.engine_process import START_TIMEOUT_S, EngineProcess
from fault.history import (
    Anomaly,
    Epoch,
    check_agreement,
    check_counted,
    check_epochs,
    check_last,
    check_passed,
)
from fault.ledger import ONCE, RUNS, Flow, Topics, replayed
from fault.points import NOT_OF_CLUSTERS, OF_CLUSTERS, OF_EXECUTORS, POINTS, Action, Armed

PROGRAM: Final = Path(__file__).with_name("ledger_program.py")
EVENTS_PER_SECOND: Final = 100
REACH_TIMEOUT_S: Final = 90.0
"""A point that is not reached in this time, as one that nothing passes in this mode, is left for a random time."""
ARRIVAL_S: Final = 60.0
GO_ON_TIMEOUT_S: Final = 180.0
SETTLE_TIMEOUT_S: Final = 180.0
START_ON_CLUSTER_TIMEOUT_S: Final = 400.0
RANDOM_WITHIN_S: Final = 4.0
BROKER_AWAY_S: Final = 1.5
TURNS_MAX: Final = 8
ANOMALIES_KEPT: Final = 20
OTHER_MODE: Final = 0.2
"""How often an application is started in the mode that is not its own."""
What = Literal["jvm", "python", "both", "broker", "executor", "worker"]
IN_ONE_JVM: Final[Sequence[What]] = ("jvm", "python", "broker", "both")
OF_EXECUTOR: Final[Sequence[What]] = ("executor", "worker")
CLUSTER_SETTINGS: Final = {
    "spark.executor.memory": "600m",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "epoch.ms": "1000",
}


class Broker(Protocol):
    """A broker that can be killed, and comes back on the same address with its data."""

    @property
    def bootstrap_servers(self) -> str: ...
    def kill(self) -> None: ...
    def restart(self) -> None: ...


class Machines(Protocol):
    """A Spark cluster whose executors and workers can be killed; `executors` has the process ids of a worker's."""

    @property
    def master(self) -> str: ...
    @property
    def workers(self) -> list[int]: ...
    def executors(self, number: int) -> list[int]: ...
    def kill_executor(self, number: int) -> int: ...
    def kill_worker(self, number: int) -> None: ...
    def add_worker(self) -> int: ...


class Strike(NamedTuple):
    """The victim and the place of a kill: the `turn`-th time that a point is passed, or a random time."""

    what: What
    point: str | None = None
    turn: int = 1

    def __str__(self) -> str:
        return f"{self.what} at {f'{self.point}:{self.turn}' if self.point else 'a random time'}"


def strikes(
    random: Random, points: Iterable[str] = POINTS, targets: Sequence[What] = IN_ONE_JVM
) -> Iterator[Strike]:
    """Yield strikes without end: of each kind at each point, and at random times, in a shuffled order.

    Executors and workers are killed at the points that executors pass; all other processes, if there
    are executors, at the other points.
    """
    places: list[str | None] = [*points, None, None]
    on_cluster = not set(targets).isdisjoint(OF_EXECUTOR)
    while True:
        all_of_them = [
            (what, point)
            for what, point in itertools.product(targets, places)
            if not on_cluster
            or point is None
            or (what != "jvm" if point in OF_EXECUTORS else what not in OF_EXECUTOR)
        ]
        random.shuffle(all_of_them)
        for what, point in all_of_them:
            yield Strike(what, point, random.randrange(1, TURNS_MAX + 1) if point else 1)


@dataclasses.dataclass
class Tally:
    """The actions and findings of a campaign, for its record."""

    seed: int
    kills: Counter[str] = dataclasses.field(default_factory=Counter)
    """By what was killed and where."""
    events: int = 0
    results: int = 0
    aborted: int = 0
    """Results that only readers see that ask for uncommitted ones."""
    checks: int = 0
    """How often the results were checked between two strikes."""
    anomalies: list[str] = dataclasses.field(default_factory=list)
    kinds: Counter[str] = dataclasses.field(default_factory=Counter)

    def kept(self) -> dict[str, object]:
        """Return it as JSON has it, with the first anomalies in words."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        counts = {"kills": dict(self.kills), "kinds": dict(self.kinds)}
        return fields | counts | {"anomalies": self.anomalies[:ANOMALIES_KEPT]}

    def find(self, where: str, anomalies: Iterable[Anomaly]) -> None:
        for anomaly in anomalies:
            self.kinds[anomaly.kind] += 1
            self.anomalies.append(f"{where}: {anomaly}")


class Campaign:
    """One checkpoint directory, one broker, the applications `names` of the ledger in one JVM."""

    def __init__(
        self,
        broker: Broker,
        directory: Path,
        seed: int,
        *,
        names: Sequence[str] = ONCE,
        kernel: Path | None = None,
        cluster: Machines | None = None,
        say: Callable[[str], None] = print,
    ) -> None:
        self.broker = broker
        self.cluster = cluster
        self.tally = Tally(seed)
        self._names = names
        self._environment = {} if kernel is None else {"LEDGER_KERNEL": str(kernel)}
        if cluster is not None:
            settings = CLUSTER_SETTINGS | {"master": cluster.master}
            self._environment["LEDGER_SETTINGS"] = json.dumps(settings)
        self._directory = directory
        self._random = Random(seed)  # noqa: S311 - a seed that can be run again
        self._prefix = f"ledger{seed}-"
        self._say = say
        self._epochs: dict[str, list[Epoch]] = {name: [] for name in names}
        servers = broker.bootstrap_servers
        self.topics = Topics(servers, self._prefix)
        self._engine = EngineProcess(
            servers,
            directory / "data",
            self._prefix,
            {},
            program=PROGRAM,
            start_timeout_s=START_TIMEOUT_S if cluster is None else START_ON_CLUSTER_TIMEOUT_S,
        )
        self._flow = Flow(servers, self._prefix, seed, EVENTS_PER_SECOND)

    def passes(self, point: str) -> bool:
        """Return True if one of the applications passes this point."""
        once = any(RUNS[name].exactly_once for name in self._names)
        elsewhere = OF_CLUSTERS if self.cluster is None else NOT_OF_CLUSTERS
        return point not in elsewhere and (
            once or not point.startswith(("transaction.", "executor."))
        )

    @property
    def targets(self) -> Sequence[What]:
        """Return the processes that can be killed."""
        return IN_ONE_JVM if self.cluster is None else (*IN_ONE_JVM, *OF_EXECUTOR)

    def run(self, chosen: Iterable[Strike]) -> Tally:
        """Strike, let the rest be done, and check all of it."""
        with self._engine, self._flow:
            self._flow.create_topics()
            self._flow.start()
            for number, strike in enumerate(chosen):
                self._strike(number, strike)
                self._check_at_rest(f"after {strike}, number {number}")
            self._end()
        return self.tally

    def _strike(self, number: int, strike: Strike) -> None:
        armed = None
        if strike.point is not None:
            action: Action = "kill" if strike.what in {"jvm", "executor"} else "hold"
            file = self._directory / f"reached-{number}"
            armed = Armed(strike.point, strike.turn, action, file)
        self._start(armed.environment if armed else {})
        if armed is None or not self._reach(armed):
            armed = None
            self._engine.wait_for(_runs)
            time.sleep(self._random.random() * RANDOM_WITHIN_S)
        where = f"{strike.what} at {armed.name if armed else 'a random time'}"
        before = self._committed()
        self._kill(strike.what, armed)
        self.tally.kills[where] += 1
        self._say(f"  {number}: killed {where}, {sum(before.values())} epochs committed")
        if not self._engine.is_running:
            return
        if strike.what == "jvm" and self._engine.state != "running":
            # A start ends with its JVM; only a query that was running recovers by itself.
            self._engine.kill()
            return
        # The JVM or the broker was killed: the application recovers, and is killed during that.
        self._wait_until(lambda: self._has_progressed(before))
        time.sleep(self._random.random())
        self._engine.kill()
        self.tally.kills["both at a random time"] += 1

    def _start(self, environment: Mapping[str, str]) -> None:
        """Start all, some of them in the other mode: an epoch may be tried again in another plan and order."""
        modes = []
        for name in self._names:
            mode = RUNS[name].mode
            if self._random.random() < OTHER_MODE:
                mode = "micro-batch" if mode == "real-time" else "real-time"
            modes.append(f"{name}:{mode}")
        self._engine.start(",".join(modes), self._environment | dict(environment))

    def _reach(self, armed: Armed) -> bool:
        """Return True if the point is reached within a time limit after all applications run; later it has no effect."""
        self._engine.wait_for(lambda state, _: state == "running" or armed.is_reached)
        deadline = time.monotonic() + REACH_TIMEOUT_S
        while not armed.is_reached and time.monotonic() < deadline:
            time.sleep(0.01)
        if reached := armed.is_reached:
            return reached
        armed.go()
        return False

    def _kill(self, what: What, armed: Armed | None) -> None:
        match what:
            case "jvm":
                if armed is None:
                    self._engine.kill_jvm_alone()
            case "python":
                self._engine.kill_python_alone()
            case "both":
                self._engine.kill()
            case "broker":
                self.broker.kill()
                time.sleep(self._random.random() * BROKER_AWAY_S)
                self.broker.restart()
                if armed is not None:
                    armed.go()
            case "executor":
                assert self.cluster is not None
                # At a point it has ended by itself.
                running = [n for n in self.cluster.workers if self.cluster.executors(n)]
                if armed is None and running:
                    self.cluster.kill_executor(self._random.choice(running))
            case "worker":
                assert self.cluster is not None
                self.cluster.kill_worker(self._random.choice(self.cluster.workers))
                self.cluster.add_worker()
                if armed is not None:
                    armed.go()

    def _has_progressed(self, before: Mapping[str, int]) -> bool:
        now = self._committed()
        # Two: the one that was planned may have been all but done.
        return all(now[name] >= before[name] + 2 for name in self._names)

    def _committed(self) -> dict[str, int]:
        """Return the last epoch that each application has committed; -1 before one."""
        found = {}
        for name in self._names:
            log = self._directory / "data" / "checkpoints" / f"{self._prefix}{name}" / "spark"
            numbers = [int(path.name) for path in log.glob("commits/[0-9]*") if path.name.isdigit()]
            found[name] = max(numbers, default=-1)
        return found

    def _check_at_rest(self, where: str) -> None:
        """Check what committed readers see between two epochs: the same events in two sinks, none twice."""
        self.tally.checks += 1
        for name in self._names:
            if not RUNS[name].exactly_once:
                continue
            # A commit that the broker had begun may still have been on its way into a partition.
            deadline = time.monotonic() + ARRIVAL_S
            while (found := self._check_running(name)) and time.monotonic() < deadline:
                time.sleep(0.5)
            self.tally.find(f"{where}, {name}", found)
            seen = self._epochs[name]
            seen.append(Epoch(self.topics.marked(name), self._committed()[name]))
            self.tally.find(f"{where}, {name}", check_epochs(seen[-2:]))

    def _check_running(self, name: str) -> list[Anomaly]:
        passed, counted = self.topics.passed(name), self.topics.counted(name)
        numbers = Counter(result.number for result in passed)
        again = [number for number, count in numbers.items() if count > 1]
        twice = [Anomaly("duplicate", "passed", f"events {again[:5]}")] if again else []
        if self.cluster is not None:
            return twice
        return [*twice, *check_agreement(passed, counted)]

    def _end(self) -> None:
        """Let the applications read the input to its end, and check everything."""
        self._start({})
        self._engine.wait_for(_runs)
        self._flow.stop()
        events = self.topics.events()
        self.tally.events = len(events)
        sent = {event.number for event in events}
        if len(sent) != len(events) or sent != self._flow.acknowledged:
            missing = sorted(self._flow.acknowledged - sent)[:5]
            lost = Anomaly("missing", "events", f"the broker has lost {missing}, or has some twice")
            self.tally.find("input", [lost])
        expected = replayed(events)
        for name in self._names:
            deadline = time.monotonic() + SETTLE_TIMEOUT_S
            while self.topics.branches(name) != expected and time.monotonic() < deadline:
                self._engine.ensure_running()
                time.sleep(0.5)
        # What it still had to write would come out now.
        self._engine.stop()
        for name in self._names:
            passed, counted = self.topics.passed(name), self.topics.counted(name)
            self.tally.results += len(passed) + len(counted)
            self.tally.aborted += self.topics.aborted(name)
            every_update = RUNS[name].every_update
            self.tally.find(name, check_passed(events, passed))
            self.tally.find(name, check_counted(events, counted, every_update=every_update))
            self.tally.find(name, check_last(expected, self.topics.branches(name), "branches"))
            self.tally.find(name, check_agreement(passed, counted))
            if not RUNS[name].exactly_once:
                continue
            last = Epoch(self.topics.marked(name), self._committed()[name])
            self.tally.find(name, check_epochs([*self._epochs[name][-1:], last]))

    def _wait_until(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + GO_ON_TIMEOUT_S
        while not holds():
            assert time.monotonic() < deadline, f"no progress: {self._committed()}"
            self._engine.ensure_running()
            time.sleep(0.05)


def strike_until(kills: int, campaign: Campaign) -> Tally:
    """Run a campaign of at least the given number of kills, chosen by its seed."""
    tally = campaign.tally
    random = Random(tally.seed)  # noqa: S311 - a seed that can be run again
    points = [name for name in POINTS if campaign.passes(name)]
    endless = strikes(random, points, campaign.targets)
    chosen = itertools.takewhile(lambda _: tally.kills.total() < kills, endless)
    return campaign.run(chosen)


def _runs(state: str, mode: str) -> bool:
    return state == "running"


def seed_of_run() -> int:
    """Return the seed that is asked for by DUOLOG_SEED."""
    return int(os.environ.get("DUOLOG_SEED", "1"))
