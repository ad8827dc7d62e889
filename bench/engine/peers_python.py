"""Comparison with other Python frameworks: Quix Streams, faust-streaming, Bytewax and Pathway.

    stateless    filter and map
    count        records and sum by key, 10,000 keys
    tumbling     the same in windows of a minute; one event each millisecond
    join         with the row of a table of 10,000 keys, or nulls: some frameworks start before
                 they have read the table

All frameworks read the same topics of one Duolog broker, JSON in and out, one after the other, each
in a separate process with default settings. Duolog runs twice, with its record cache and with every
update. Pathway runs with one thread and with two; it writes changes every 100 ms and stores nothing
on disk. The programs are in `bench/engine/peers/`. Their packages are installed once from PyPI,
each into a virtual environment in the cache directory.

The rate is computed from two runs with different numbers of events, so that the start time cancels
out. The results of each run are counted. Latency is measured from produce to result at `--rate`
events/s, as in `bench/engine/latency.py`, with Duolog in real time. Memory is the largest resident
size of all processes of a run. Lines are those of the function that implements the work.
"""

import argparse
import ast
import itertools
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from bench.common.results_file import write_result
from bench.common.steady import SteadyLoad, event_of
from bench.engine.latency import percentiles, read_samples, reader
from bench.engine.operators import BEGIN_MS
from bench.engine.start import MemoryWatch
from bench.engine.streams_comparison import HERE, Cluster, Figures, Record
from confluent_kafka import Consumer, TopicPartition

from duolog.runtime.broker_process import BrokerProcess

KEYS: Final = 10_000
IDLE_S: Final = 8
"""Time without results after which a run has ended."""
RUN_S_MAX: Final = 400
WORKS: Final = ("stateless", "count", "tumbling", "join")
ROWS: Final = "rows"


@dataclass(frozen=True)
class Peer:
    """A measured framework."""

    program: str
    package: str = ""
    """Pinned packages to install; empty for Duolog."""
    sizes: tuple[int, int] = (500_000, 3_000_000)
    """Numbers of events of the two runs."""
    arguments: tuple[str, ...] = ()
    live_arguments: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    on_close: bool = False
    """True if windows emit a result only when they close."""

    def python(self) -> str:
        """Return the interpreter that has the package; installs it once."""
        if not self.package:
            return sys.executable
        cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
        # The main package names the folder, as in quixstreams==3.28.1.
        place = cache / "duolog" / "peers" / "python" / self.package.split()[0].replace("==", "-")
        python, ready = place / "bin" / "python", place / ".ready"
        if not ready.exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(place)], check=True)
            install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            command = [str(python), *install, *self.package.split()]
            subprocess.run(command, check=True, timeout=900)
            ready.touch()
        return str(python)

    def lines(self, work: str) -> int:
        """Return the number of lines of the function that implements this work."""
        text = (HERE / "peers" / self.program).read_text()
        (found,) = (
            node
            for node in ast.parse(text).body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and node.name.rstrip("_") == work
        )
        lines = text.splitlines()[found.lineno - 1 : found.end_lineno]
        return sum(1 for line in lines if line.strip())


SLOW: Final = (100_000, 600_000)
LIVE: Final = ("--mode", "real-time")
PEERS: Final = {
    "duolog": Peer("duolog_topology.py", live_arguments=LIVE),
    "duolog-every-update": Peer(
        "duolog_topology.py",
        arguments=("--set", "statestore.cache.max.bytes=0"),
        live_arguments=LIVE,
    ),
    "quix-streams": Peer("quix_streams.py", "quixstreams==3.28.1", SLOW),
    "faust-streaming": Peer("faust_streaming.py", "faust-streaming==0.15.3", SLOW),
    "bytewax": Peer(
        "bytewax_flow.py", "bytewax==0.21.1 confluent-kafka==2.16.1", SLOW, on_close=True
    ),
    "pathway": Peer("pathway_tables.py", "pathway==0.33.0", environment={"PATHWAY_THREADS": "1"}),
    "pathway-2-threads": Peer(
        "pathway_tables.py", "pathway==0.33.0", environment={"PATHWAY_THREADS": "2"}
    ),
}


class Results:
    """A result topic, read by the benchmark."""

    def __init__(self, servers: str, topic: str) -> None:
        self._servers = servers
        self._topic = topic
        settings = {"bootstrap.servers": servers, "group.id": "peers", "log_level": 0}
        self._consumer = Consumer(settings)

    def count(self) -> int:
        """Return the number of records in the topic."""
        ends = (
            self._consumer.get_watermark_offsets(TopicPartition(self._topic, number), timeout=10)
            for number in (0, 1)
        )
        return sum(end for _, end in ends)

    def last_at(self, process: subprocess.Popen[bytes]) -> float:
        """Return the monotonic time at which the last result arrived."""
        seen, at = 0, time.monotonic()
        deadline = at + RUN_S_MAX
        while (now := time.monotonic()) < deadline and (not seen or now - at < IDLE_S):
            if process.poll() is not None:
                raise SystemExit(f"{process.args} ended by itself: {process.returncode}")
            if (count := self.count()) != seen:
                seen, at = count, now
            time.sleep(0.05)
        if now >= deadline:
            raise SystemExit(f"{process.args} was not done in {RUN_S_MAX} s")
        return at

    def events(self, work: str) -> int:
        """Return the number of events in the results; for a join, of those with a match."""
        count, consumer = self.count(), reader(self._servers, self._topic)
        rows: dict[object, int] = {}
        plain = taken = 0
        while taken < count and (messages := consumer.consume(10_000, 10)):
            taken += len(messages)
            for message in messages:
                row = json.loads(message.value())
                if work in ("stateless", "join"):
                    plain += work == "stateless" or row["m"] is not None
                elif row.get("diff", 1) > 0:
                    rows[message.key(), row.get("user"), row.get("start")] = row["records"]
        consumer.close()
        return plain or sum(rows.values())


@contextmanager
def running(peer: Peer, arguments: tuple[str, ...], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program in bench/engine/peers/, and stop it with all its child processes."""
    command = [peer.python(), str(HERE / "peers" / peer.program), *arguments]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **peer.environment},
            start_new_session=True,
            cwd=log.parent,
        )
        try:
            yield process
        except SystemExit as error:
            raise SystemExit(f"{error}\n{log.read_text()[-3000:]}") from error
        finally:
            for number in (signal.SIGTERM, signal.SIGKILL):
                try:
                    os.killpg(process.pid, number)
                    process.wait(10)
                except (ProcessLookupError, subprocess.TimeoutExpired):
                    continue


class Comparison:
    """Measures peers on one broker."""

    def __init__(self, servers: str, directory: Path, options: argparse.Namespace) -> None:
        self._servers = servers
        self._cluster = Cluster(servers)
        self._directory = directory
        self._options = options
        self._numbers = itertools.count()
        self._sources: dict[int, str] = {}
        self._cluster.create(ROWS)
        row = '{{"user": "key-{0:07}", "m": {0}}}'
        records = ((f"key-{key:07}", row.format(key), BEGIN_MS - 1) for key in range(KEYS))
        self._cluster.write(ROWS, records)

    def rate(self, peer: Peer, work: str) -> Figures:
        """Return events per second, and the memory of the larger run."""
        small, large = (size // self._options.shrink for size in peer.sizes)
        first, second = (self._run(peer, work, size) for size in (small, large))
        return {
            "events_per_second": round((large - small) / (second["seconds"] - first["seconds"])),
            "resident_mb_max": second["resident_mb_max"],
            "events": large,
            "events_in_results": second["events_in_results"],
            "results": second["results"],
        }

    def _run(self, peer: Peer, work: str, events: int) -> Figures:
        source = self._source(events)
        results, arguments, log = self._prepare(work, source)
        started = time.monotonic()
        with running(peer, (*arguments, *peer.arguments), log) as process:
            watch = MemoryWatch(process.pid)
            watch.start()
            seconds = results.last_at(process) - started
        return {
            "seconds": seconds,
            "resident_mb_max": round(watch.total_mb_max),
            "events_in_results": results.events(work),
            "results": results.count(),
        }

    def latency(self, peer: Peer, work: str) -> Figures:
        """Return percentiles of produce to result at a steady rate."""
        live = f"live-{next(self._numbers)}"
        self._cluster.create(live)
        results, arguments, log = self._prepare(work, live)
        seconds = self._options.warm_up_s + self._options.seconds
        rate = self._options.rate
        load = SteadyLoad(self._servers, live, rate=rate, seconds=seconds, keys=KEYS)
        with running(peer, (*arguments, *peer.live_arguments), log):
            time.sleep(self._options.start_s)
            load.start()
            consumer = reader(self._servers, arguments[3])
            samples = read_samples(consumer, load, drain_s=5, sent_at=sent_at_of_new_row)
            consumer.close()
        measured_from = samples[-1].produced_at - self._options.seconds * 1000
        late = [each.latency_ms for each in samples if each.produced_at >= measured_from]
        return {"samples": len(late), "results": results.count(), **percentiles(late)}

    def _prepare(self, work: str, source: str) -> tuple[Results, tuple[str, ...], Path]:
        name = f"run-{next(self._numbers)}"
        self._cluster.create(name)
        directory = self._directory / name
        directory.mkdir()
        arguments = (work, self._servers, source, name, ROWS, str(directory / "state"))
        return Results(self._servers, name), arguments, directory / "output.log"

    def _source(self, events: int) -> str:
        if events not in self._sources:
            topic = self._sources[events] = f"events-{events}"
            self._cluster.create(topic)
            self._cluster.write(topic, events_of(events))
        return self._sources[events]


def sent_at_of_new_row(row: dict[str, Any]) -> float | None:
    """Return the send time of a row's event; None for the retraction of an old row."""
    sent_at: float | None = row["sent_at"] if row.get("diff", 1) > 0 else None
    return sent_at


def events_of(events: int) -> Iterator[Record]:
    rng = random.Random(KEYS)  # noqa: S311 - nothing secret
    for number in range(events):
        at_ms = BEGIN_MS + number
        event = event_of(rng.randrange(KEYS), number, at_ms, float(at_ms))
        yield str(event["user"]), json.dumps(event), at_ms


def attempt(run: Callable[[], Figures]) -> Figures:
    """Return the figures or an error, so that the other peers are still measured."""
    try:
        return run()
    except SystemExit as error:
        print(error, flush=True)
        return {"failed": str(error).splitlines()[0]}


def compare(comparison: Comparison, work: str, options: argparse.Namespace) -> dict[str, Figures]:
    """Return the figures of all peers for one work, their runs interleaved."""
    names = options.peers.split(",")
    rates: dict[str, list[Figures]] = {name: [] for name in names}
    for _ in range(options.rounds):
        for name in names:
            rates[name].append(attempt(partial(comparison.rate, PEERS[name], work)))
            print(work, name, rates[name][-1], flush=True)
    found: dict[str, Figures] = {}
    for name in names:
        peer = PEERS[name]
        found[name] = {"package": peer.package, "lines": peer.lines(work), "runs": rates[name]}
        if each := [run["events_per_second"] for run in rates[name] if "failed" not in run]:
            found[name]["events_per_second_median"] = statistics.median(each)
            found[name]["events_per_second_min_max"] = [min(each), max(each)]
        if options.seconds and not (peer.on_close and work == "tumbling"):
            found[name]["latency"] = attempt(partial(comparison.latency, peer, work))
            print(work, name, found[name]["latency"], flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--peers", default=",".join(PEERS), help="which ones, with commas")
    parser.add_argument("--works", default=",".join(WORKS), help="which ones, with commas")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--seconds", type=int, default=60, help="of latency; 0: none")
    parser.add_argument("--start-s", type=int, default=25, help="before the load begins")
    parser.add_argument("--warm-up-s", type=int, default=15, help="of the load, not counted")
    parser.add_argument("--shrink", type=int, default=1, help="for a trial: divide events by this")
    options = parser.parse_args()
    for name in options.peers.split(","):
        PEERS[name].python()
    with tempfile.TemporaryDirectory(prefix="duolog-bench-") as directory:
        work_directory = Path(directory)
        with BrokerProcess(work_directory / "broker") as broker:
            comparison = Comparison(broker.bootstrap_servers, work_directory, options)
            for work in options.works.split(","):
                write_result(f"peers_python_{work}", {"peers": compare(comparison, work, options)})


if __name__ == "__main__":
    main()
