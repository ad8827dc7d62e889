"""Rates, times and memory of the schema registry.

    start           process start ─▶ first answer, no schemas; resident memory after that
    registrations   new subjects with a schema each, fsync before each answer; 1 and 50 clients
    one id          50 clients register one schema at the same time: all must get one id
    loading         process start ─▶ first answer, with all subjects; resident memory after that
    look-ups        by id, by version and by schema; 1 and 50 clients

The registry runs on one core; the broker and the client on another one. A client has one request in
flight on a connection that it keeps. All answers are compared with what was registered.

Karapace was not run: it cannot be installed next to this benchmark.

Run: scripts/bench registry
"""

import argparse
import json
import os
import random
import statistics
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from bench.broker import http_load
from bench.broker.http_load import request
from bench.common.results_file import write_result

from duolog.runtime.broker_process import BrokerProcess
from duolog.runtime.registry_process import RegistryProcess

CLIENTS: Final = (1, 50)
REGISTRY_CORE: Final = 0
PAGE: Final = 1000
GOALS: Final = {
    "start_s": 0.4,
    "idle_mb": 60,
    "loading_s": 2.0,
    "loaded_mb": 150,
}
Figures = dict[str, Any]


def subject_of(number: int) -> str:
    return f"topic-{number:05}-value"


def schema_of(number: int) -> str:
    """Return a schema that no other subject has."""
    fields = [
        {"name": f"id_{number}", "type": "long"},
        {"name": "customer", "type": "string"},
        {"name": "amount", "type": ["null", "double"], "default": None},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
    ]
    record = {"type": "record", "name": "Order", "namespace": "shop", "fields": fields}
    return json.dumps(record, separators=(",", ":"))


def body_of(number: int) -> bytes:
    return json.dumps({"schema": schema_of(number)}).encode()


def ask(url: str, path: str) -> Any:
    """Return the answer to a GET."""
    with urllib.request.urlopen(f"{url}{path}", timeout=60) as answer:  # noqa: S310 - loopback
        return json.load(answer)


def resident_mb(pid: int) -> float:
    """Return the resident set of a process in megabytes, 10**6 bytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return round(int(line.split()[1]) * 1024 / 10**6, 1)
    raise SystemExit(f"process {pid} has no resident set")


@contextmanager
def started(
    servers: str, work: Path, *, subjects: int, core: int | None = None
) -> Iterator[tuple[RegistryProcess, float]]:
    """Start a registry; yield it and the seconds until its first answer.

    With a core, all its threads run there, and those of this process on another one.
    """
    registry = RegistryProcess(servers, log_path=work / "registry.log")
    every = os.sched_getaffinity(0)
    os.sched_setaffinity(0, every if core is None else {core})
    begun = time.perf_counter()
    registry.start()
    os.sched_setaffinity(0, every if core is None else every - {core})
    try:
        found = ask(registry.url, "/subjects")
        seconds = round(time.perf_counter() - begun, 3)
        if len(found) != subjects:
            raise SystemExit(f"the registry has {len(found)} subjects, not {subjects}")
        yield registry, seconds
    finally:
        os.sched_setaffinity(0, every)
        registry.stop()


def start_times(servers: str, work: Path, rounds: int, *, subjects: int) -> Figures:
    """Start `rounds` times; return seconds to the first answer, and memory in MB."""
    seconds, memory = [], []
    for _ in range(rounds):
        with started(servers, work, subjects=subjects) as (registry, taken):
            seconds.append(taken)
            memory.append(resident_mb(registry.pid))
    return {
        "seconds": seconds,
        "seconds_median": statistics.median(seconds),
        "resident_mb": memory,
        "resident_mb_max": max(memory),
    }


def register(url: str, numbers: range, clients: int) -> Figures:
    """Register a new subject with a new schema for each number."""
    requests = [
        request(url, "POST", f"/subjects/{subject_of(number)}/versions", body_of(number))
        for number in numbers
    ]
    load = http_load.run(url, clients, requests)
    ids = {json.loads(body)["id"] for body in load.bodies}
    if len(ids) != len(numbers):
        raise SystemExit(f"{len(numbers)} schemas have {len(ids)} ids")
    return load.figures()


def known_ids(url: str, count: int) -> list[int]:
    """Return the id of each number's schema; the registry must have all of them."""
    ids = [0] * count
    for offset in range(0, count, PAGE):
        for one in ask(url, f"/schemas?subjectPrefix=topic-&offset={offset}&limit={PAGE}"):
            number = int(one["subject"].split("-")[1])
            if one["schema"] != schema_of(number):
                raise SystemExit(f"{one['subject']} has another schema: {one}")
            ids[number] = one["id"]
    if 0 in ids or len(set(ids)) != count:
        raise SystemExit(f"the registry does not have {count} schemas with ids of their own")
    return ids


def one_id(url: str, races: int) -> Figures:
    """Let 50 clients register a new schema at once, in one subject or in one subject each."""
    clients = max(CLIENTS)
    times_ms = []
    for number in range(races):
        schema = body_of(10**6 + number)
        names = ["race"] if number % 2 else [f"race-{client}" for client in range(clients)]
        subjects = [f"{names[client % len(names)]}-{number}" for client in range(clients)]
        load = http_load.run(
            url,
            clients,
            [request(url, "POST", f"/subjects/{name}/versions", schema) for name in subjects],
        )
        ids = {json.loads(body)["id"] for body in load.bodies}
        if len(ids) != 1:
            raise SystemExit(f"{clients} clients got the ids {sorted(ids)} for one schema")
        versions = [ask(url, f"/subjects/{subject}/versions") for subject in set(subjects)]
        if any(found != [1] for found in versions):
            raise SystemExit(f"one schema has several versions: {versions}")
        times_ms.append(load.seconds * 1000)
    return {"clients": clients, "races": races, "longest_ms": round(max(times_ms), 1)}


def look_ups(url: str, ids: list[int], requests: int, clients: int) -> Figures:
    """Look up random schemas by id, by version and by text.

    Args:
        url: the registry.
        ids: the id of each number's schema.
        requests: number of look-ups of each kind.
        clients: number of clients.
    """
    chance = random.Random(clients)  # noqa: S311 - nothing secret
    numbers = [chance.randrange(len(ids)) for _ in range(requests)]
    kinds: dict[str, Callable[[int], bytes]] = {
        "by_id": lambda n: request(url, "GET", f"/schemas/ids/{ids[n]}"),
        "by_version": lambda n: request(url, "GET", f"/subjects/{subject_of(n)}/versions/latest"),
        "by_schema": lambda n: request(url, "POST", f"/subjects/{subject_of(n)}", body_of(n)),
    }
    wanted = Counter(schema_of(number) for number in numbers)
    found: Figures = {}
    for kind, made in kinds.items():
        load = http_load.run(url, clients, [made(number) for number in numbers])
        if Counter(json.loads(body)["schema"] for body in load.bodies) != wanted:
            raise SystemExit(f"look-ups {kind} return other schemas than were asked for")
        found[kind] = load.figures()
    return found


def measure(servers: str, work: Path, options: argparse.Namespace) -> Figures:
    """Return all figures."""
    found: Figures = {"goals": GOALS, "subjects": options.subjects}

    def keep(name: str, figures: Figures) -> None:
        found[name] = figures
        print(name, json.dumps(figures), flush=True)

    keep("start", start_times(servers, work, options.rounds, subjects=0))
    count, single = options.subjects, min(options.single, options.subjects // 2)
    with started(servers, work, subjects=0, core=REGISTRY_CORE) as (registry, _):
        url = registry.url
        # The first registration waits until the registry leads.
        first = request(url, "POST", "/subjects/first/versions", body_of(10**6 - 1))
        http_load.run(url, 1, [first])
        one, many = range(single), range(single, count)
        keep("registrations_1", register(url, one, 1))
        keep(f"registrations_{CLIENTS[1]}", register(url, many, CLIENTS[1]))
        ids = known_ids(url, count)
        for clients in CLIENTS:
            keep(f"look_ups_{clients}", look_ups(url, ids, options.requests, clients))
        found["resident_mb_after_look_ups"] = resident_mb(registry.pid)
    keep("loading", start_times(servers, work, options.rounds, subjects=count + 1))
    with started(servers, work, subjects=count + 1) as (registry, _):
        if known_ids(registry.url, count) != ids:
            raise SystemExit("ids have changed at a restart")
        keep("one_id", one_id(registry.url, options.races))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--subjects", type=int, default=10_000)
    parser.add_argument("--single", type=int, default=500, help="registrations by one client")
    parser.add_argument("--requests", type=int, default=20_000, help="look-ups of each kind")
    parser.add_argument("--races", type=int, default=20, help="registrations of one schema")
    parser.add_argument("--rounds", type=int, default=5, help="starts")
    options = parser.parse_args()
    if len(os.sched_getaffinity(0) | {REGISTRY_CORE}) < 2:
        raise SystemExit("this benchmark needs two cores")
    with tempfile.TemporaryDirectory(prefix="duolog-bench-") as directory:
        work = Path(directory)
        with BrokerProcess(work / "broker") as broker:
            write_result("registry", measure(broker.bootstrap_servers, work, options))


if __name__ == "__main__":
    main()
