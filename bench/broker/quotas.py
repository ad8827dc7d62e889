"""Cost of quotas and of an authorizer in the broker, while no client is throttled.

    round: neither, quotas, quotas and rules, and backwards in the next one   after a warm-up round

Three brokers run; the second has a quota of each kind for every user, high enough never to
throttle, the third has access rules as well. A client of librdkafka writes records of 10 KiB and
reads them back, and writes small records with one request for each. Ratios compare each with the
broker that has neither, within one round, by throughput and by the broker's CPU time. The goal of
issue 27: at most 5 % slower.

Run: scripts/bench quotas [--rounds 5] [--mebibytes 400] [--requests 50000]
"""

import argparse
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from bench.broker.table.measured_brokers import cpu_seconds
from bench.broker.tls import RECORD_BYTES, Target, produce_and_fetch
from bench.common.results_file import write_result
from confluent_kafka import Producer
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from conformance.kafka.wire_client import WireClient
from duolog.runtime.broker_process import BrokerProcess

ALTER_QUOTAS: Final = 49
SMALL_BYTES: Final = 100
QUOTAS: Final = {
    "producer_byte_rate": 1e15,
    "consumer_byte_rate": 1e15,
    "request_percentage": 1e6,
    "controller_mutation_rate": 1e6,
}
RULES: Final = {
    "authorizer.class.name": "acl",
    "allow.everyone.if.no.acl.found": "true",
    # All clients are ANONYMOUS, so that only rules make a difference.
    "allow.insecure.listen": "true",
}


class _Broker(BrokerProcess):
    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid


@contextmanager
def brokers(directory: Path) -> Iterator[list[Target]]:
    """Start the three."""
    with ExitStack() as stack:
        targets = []
        for name, settings in (("neither", {}), ("quotas", {}), ("quotas_and_rules", RULES)):
            data = directory / name / "data"
            data.parent.mkdir()
            process = stack.enter_context(_Broker(data, settings={"durability": "os", **settings}))
            servers = process.bootstrap_servers
            if name != "neither":
                set_quotas(servers)
            if settings:
                set_rules(servers)
            targets.append(Target(name, process.pid, {"plaintext": servers}))
        yield targets


def set_quotas(servers: str) -> None:
    """Give every user all quotas."""
    entry = {
        "entity": [{"entity_type": "user", "entity_name": None}],
        "ops": [{"key": key, "value": value, "remove": False} for key, value in QUOTAS.items()],
    }
    with WireClient(servers) as client:
        answer = client.ask(ALTER_QUOTAS, 1, entries=[entry], validate_only=False)
    assert not answer.entries[0].error_code, answer


def set_rules(servers: str) -> None:
    """Allow the user of a listener without logins everything on all topics and groups."""
    admin = AdminClient({"bootstrap.servers": servers})
    rules = [
        AclBinding(
            kind,
            "*",
            ResourcePatternType.LITERAL,
            "User:ANONYMOUS",
            "*",
            AclOperation.ALL,
            AclPermissionType.ALLOW,
        )
        for kind in (ResourceType.TOPIC, ResourceType.GROUP)
    ]
    for future in admin.create_acls(rules).values():
        future.result(60)


def small_requests(target: Target, count: int) -> dict[str, float]:
    """Write records with a request for each; return requests per second and their CPU time."""
    servers = target.addresses["plaintext"]
    topic = f"small-{time.monotonic_ns()}"
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(60)
    given: dict[str, Any] = {"linger.ms": 0, "batch.num.messages": 1, "acks": "all"}
    producer = Producer(
        {"bootstrap.servers": servers, "queue.buffering.max.messages": count, **given}
    )
    producer.list_topics(topic, timeout=60)
    cpu, begun = cpu_seconds(target.pid), time.monotonic()
    for _ in range(count):
        producer.produce(topic, bytes(SMALL_BYTES))
    left = producer.flush(300)
    took_s, cpu_s = time.monotonic() - begun, cpu_seconds(target.pid) - cpu
    assert not left, f"{left} records were not delivered"
    admin.delete_topics([topic])[topic].result(60)
    return {"small_requests_per_s": count / took_s, "small_cpu_us_per_request": cpu_s * 1e6 / count}


def main() -> None:
    parser = argparse.ArgumentParser(description="what quotas and access rules cost")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mebibytes", type=int, default=400)
    parser.add_argument("--requests", type=int, default=50_000)
    options = parser.parse_args()
    count = options.mebibytes * 1024 * 1024 // RECORD_BYTES
    rounds: list[dict[str, dict[str, float]]] = []
    with tempfile.TemporaryDirectory(prefix="duolog-bench-") as directory:
        unused = Path(directory) / "unused"  # Of certificates: these brokers have none.
        with brokers(Path(directory)) as targets:
            for number in range(options.rounds + 1):
                found = {}
                for target in targets if number % 2 else reversed(targets):
                    found[target.name] = {
                        **produce_and_fetch(target, "plaintext", unused, count),
                        **small_requests(target, options.requests),
                    }
                if number:
                    rounds.append(found)
                    print(found, flush=True)
    figures = summarize(rounds)
    for name, value in figures.items():
        print(f"{name}: {value}")
    write_result(
        "quotas",
        {
            "rounds": options.rounds,
            "mebibytes": options.mebibytes,
            "requests": options.requests,
            "goal_ratio": 0.95,
            **figures,
        },
    )


def summarize(rounds: list[dict[str, dict[str, float]]]) -> dict[str, float]:
    """Return medians, and those of ratios within rounds: below 1 is slower, or more CPU time."""
    values: defaultdict[str, list[float]] = defaultdict(list)
    for found in rounds:
        plain = found["neither"]
        for name, row in found.items():
            for figure, value in row.items():
                values[f"{name}_{figure}"].append(value)
                if name != "neither":
                    ratio = value / plain[figure]
                    values[f"ratio_{name}_{figure}"].append(
                        1 / ratio if "_cpu_" in figure else ratio
                    )
    return {name: round(statistics.median(each), 3) for name, each in sorted(values.items())}


if __name__ == "__main__":
    main()
