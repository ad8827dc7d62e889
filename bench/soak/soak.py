"""Run everything at once for long: queries, pull and push clients, kills; check every answer.

    producer ─▶ events, clicks ─▶ 20 persistent queries ─▶ tables ─▶ pull queries, at a rate
                      └──────────────────────────────────▶ push queries, 100 clients

`duolog start` runs the servers. In the first half of the time, its SQL server and its broker are
killed with SIGKILL. At the end:

- each query has written what the truth says, which is computed from the records that were produced
- no pull query ever saw a count decrease, or exceed what was sent
- no push query has missed a row; rows come again only after a kill, and only those of the last
  seconds
- clients failed only during a kill and shortly after it
- no process outlives the one that has started it, and memory is flat (`memory.py` has the rule)

The exit status is 1 if any of this is not true. The report is in bench/results/soak.json.
"""

import argparse
import contextlib
import json
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from bench.common.results_file import commit_id, machine, write_result
from bench.soak.events import SOURCES, Load
from bench.soak.memory import Samples
from bench.soak.outages import Outage, unexplained
from bench.soak.pull_load import pull_process
from bench.soak.push_clients import push_process
from bench.soak.queries import QUERIES
from bench.soak.servers import Servers
from bench.soak.verdicts import verdicts

import duolog

_EARLIEST: Final = {"auto.offset.reset": "earliest"}
_ONCE: Final = {"processing.guarantee": "exactly_once_v2"}
_RUNNING_S: Final = 240.0
_ANSWER_S: Final = 300.0
_LOOK_S: Final = 0.5
_SHOWN: Final = 20


class Child:
    """A process of clients: it runs until it gets a message, and answers with its summary."""

    def __init__(self, target: Callable[..., None], *arguments: object) -> None:
        context = multiprocessing.get_context("spawn")
        self._control, theirs = context.Pipe()
        self._process = context.Process(target=target, args=(theirs, *arguments), daemon=True)
        self._process.start()
        theirs.close()

    def finish(self, message: object) -> dict[str, Any]:
        """Send the message, and return the summary.

        Raises:
            SystemExit: it has failed, or did not answer.
        """
        control = self._control
        with contextlib.suppress(BrokenPipeError):
            control.send(message)
        try:
            if control.poll(_ANSWER_S):
                summary: dict[str, Any] = control.recv()
                return summary
        except EOFError:
            pass
        raise SystemExit("a process of clients has ended without a summary")

    def stop(self) -> None:
        self._process.terminate()
        self._process.join()


def create_all(url: str) -> None:
    """Create the sources and the queries, and wait until all run."""
    with duolog.connect(url, properties=_EARLIEST) as connection:
        connection.execute(SOURCES)
        for query in QUERIES:
            properties = _ONCE if query.once else {}
            connection.execute(query.statement, properties=properties)
        deadline = time.monotonic() + _RUNNING_S
        while (states := _states(connection)) != {"RUNNING": len(QUERIES)}:
            if time.monotonic() > deadline:
                raise SystemExit(f"not all queries run: {states}")
            time.sleep(_LOOK_S)


def _states(connection: duolog.client.Connection) -> dict[str, int]:
    """Return the number of queries by state."""
    (found,) = connection.execute("SHOW QUERIES").entities
    states = [one["state"] for one in found["queries"]]
    return {state: states.count(state) for state in states}


def moments(seconds: float, server_kills: int, broker_kills: int) -> Iterator[tuple[float, str]]:
    """Yield when to kill what, in seconds after the start: equally spaced in the first half.

    Example:
        >>> list(moments(60, 2, 1))
        [(10.0, 'server'), (20.0, 'broker'), (30.0, 'server')]
    """
    kinds = ["server"] * server_kills
    for number in range(broker_kills):
        kinds.insert(min(2 * number + 1, len(kinds)), "broker")
    for number, kind in enumerate(kinds):
        yield seconds / 2 * (number + 1) / len(kinds), kind


def run_load(
    servers: Servers, load: Load, samples: Samples, options: argparse.Namespace
) -> list[Outage]:
    """Kill and wait until the time is over; return the outages."""
    started, seconds = time.monotonic(), options.minutes * 60
    outages = []
    for due, kind in moments(seconds, options.server_kills, options.broker_kills):
        _wait_until(started + due, servers, load)
        at_s = time.monotonic() - started
        samples.pid = None
        outages.append(servers.kill_server() if kind == "server" else servers.kill_broker())
        samples.pid = servers.pid
        away_s = outages[-1].as_row()["away_s"]
        print(f"{at_s:.0f} s: killed the {kind}; back after {away_s} s", flush=True)
    _wait_until(started + seconds, servers, load)
    return outages


def _wait_until(moment: float, servers: Servers, load: Load) -> None:
    while time.monotonic() < moment:
        servers.ensure_running()
        if load.error is not None:
            raise SystemExit(f"the load failed: {load.error}")
        time.sleep(min(_LOOK_S, max(0.0, moment - time.monotonic())))


def soak(options: argparse.Namespace, directory: Path) -> dict[str, Any]:
    """Run everything; return the report."""
    servers = Servers(directory)
    with contextlib.ExitStack() as running:
        ready_s = servers.start()
        running.callback(servers.stop)
        samples = Samples(options.sample_s)
        samples.pid = servers.pid
        sent = multiprocessing.get_context("spawn").Value("q", 0)
        load = Load(servers.bootstrap_servers, options.rate, sent)
        print("creating the queries", flush=True)
        began = time.monotonic()
        create_all(servers.url)
        queries_s = time.monotonic() - began
        print(f"all queries run after {queries_s:.0f} s", flush=True)
        load.write_users()
        pull = Child(pull_process, servers.url, options.pulls, sent)
        push = Child(push_process, servers.url, options.pushes)
        for child in (pull, push):
            running.callback(child.stop)
        samples.start()
        load.start()
        outages = run_load(servers, load, samples, options)
        made = load.finish()
        print("waiting for the last results", flush=True)
        pulled = pull.finish("stop")
        kills = [outage.what for outage in outages]
        pushed = push.finish((len(made.events), len(kills)))
        found = verdicts(servers.url, servers.bootstrap_servers, made)
        memory = samples.finish()
    failures = unexplained(pulled.pop("failures"), outages)
    report = {
        "minutes": options.minutes,
        "events": len(made.events),
        "clicks": len(made.clicks),
        "ready_s": round(ready_s, 2),
        "queries_running_s": round(queries_s, 1),
        "kills": [one.as_row() for one in outages],
        "pull": pulled,
        "push": pushed,
        "queries": found,
        "memory": memory,
    }
    return {**report, "violations": [*_violations(report, failures), *servers.violations]}


def _violations(report: dict[str, Any], failures: list[tuple[float, float]]) -> list[str]:
    """Return a sentence for each thing that must not be."""
    found = [f"pull: {one}" for one in report["pull"]["violations"][:_SHOWN]]
    found += [f"pull: no answer for {end - start:.1f} s without a kill" for start, end in failures]
    found += [f"push: {one}" for one in report["push"]["violations"][:_SHOWN]]
    for row in report["queries"]:
        if row["wrong"]:
            found.append(f"{row['query']}: {row['wrong']} rows are wrong: {row['examples']}")
    for row in report["memory"]:
        if row["flat"] is False:
            found.append(f"memory of {row['process']} grows: {row}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--rate", type=float, default=100.0, help="events per second")
    parser.add_argument("--pulls", type=float, default=1000.0, help="pull queries per second")
    parser.add_argument("--pushes", type=int, default=100, help="clients with push queries")
    parser.add_argument("--server-kills", type=int, default=2)
    parser.add_argument("--broker-kills", type=int, default=1)
    parser.add_argument("--sample-s", type=float, default=10.0, help="between samples of memory")
    parser.add_argument("--report", type=Path, help="write the report there instead")
    parser.add_argument("--directory", type=Path, help="keep the data and the logs there")
    options = parser.parse_args()
    with contextlib.ExitStack() as opened:
        directory = options.directory
        if directory is None:
            made = tempfile.TemporaryDirectory(prefix="duolog-soak-")
            directory = Path(opened.enter_context(made))
        report = soak(options, directory)
    if options.report is None:
        write_result("soak", report)
    else:
        whole = {"commit": commit_id(), "machine": machine(), **report}
        options.report.write_text(json.dumps(whole, indent=1) + "\n")
    for one in report["violations"]:
        print(f"violation: {one}")
    print(f"{len(report['violations'])} violations")
    raise SystemExit(1 if report["violations"] else 0)


if __name__ == "__main__":
    main()
