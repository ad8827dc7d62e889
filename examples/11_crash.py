"""A crash: processing that is killed resumes from its state.

Payments are written continuously. Another process, `duolog run` on this file, computes their
totals. It is killed with SIGKILL, so that it cannot save anything. A new process resumes from the
committed state, and in the end the totals equal a recount of all payments.

Then the state itself is deleted, while more payments are written. The next process restores it from
its changelog, a topic with the latest row of each key in the store, and resumes from there.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from confluent_kafka import Consumer, Producer, TopicPartition

from duolog import Topology, col, count, sum_
from duolog.testing import Client, EmbeddedCluster

PAYMENTS = 60_000
PAYMENTS_LATER = 4_000
PER_SECOND = 4_000
CUSTOMERS = 50
PARTITIONS = 2


def topology() -> Topology:
    topology = Topology("payments")
    payments = topology.stream("payments", key="customer STRING", value="amount BIGINT")
    payments.group_by_key().aggregate(payments=count(), total=sum_(col("amount"))).to("totals")
    return topology


def payment(number: int) -> tuple[str, int]:
    return f"customer-{number * 7919 % CUSTOMERS}", number % 100


def pay(bootstrap_servers: str, numbers: range) -> None:
    """Write these payments at a steady rate."""
    producer = Producer({"bootstrap.servers": bootstrap_servers})
    started = time.monotonic()
    for done, number in enumerate(numbers):
        customer, amount = payment(number)
        producer.produce("payments", key=customer, value=json.dumps({"amount": amount}))
        if done % 100 == 0:
            producer.poll(0)
            time.sleep(max(0.0, started + done / PER_SECOND - time.monotonic()))
    producer.flush(30)


class Totals:
    """The table as seen by a consumer: the latest row of each customer."""

    def __init__(self, bootstrap_servers: str) -> None:
        self.rows: dict[str, dict[str, int]] = {}
        self._consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "totals"})
        self._consumer.assign([TopicPartition("totals", n, 0) for n in range(PARTITIONS)])

    def counted(self) -> int:
        for message in self._consumer.consume(1000, timeout=0.2):
            self.rows[(message.key() or b"").decode()] = json.loads(message.value() or b"{}")
        return sum(row["payments"] for row in self.rows.values())

    def close(self) -> None:
        self._consumer.close()

    def wait_for(self, payments: int, *, worker: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + 120
        while self.counted() < payments:
            assert worker.poll() is None, "the worker ended"
            assert time.monotonic() < deadline, f"only {self.counted()} of {payments} are counted"


def start_worker(bootstrap_servers: str, data_dir: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "duolog", "run", __file__]
    command += ["--bootstrap-servers", bootstrap_servers, "--data", str(data_dir)]
    command += ["--set", "state.changelog=on"]
    with Path(data_dir, "said").open("wb") as said:
        return subprocess.Popen(command, start_new_session=True, stderr=said)


def check(totals: Totals, payments: int) -> None:
    recount: Counter[str] = Counter()
    for customer, amount in map(payment, range(payments)):
        recount[customer] += amount
    live = {customer: row["total"] for customer, row in totals.rows.items()}
    counted = sum(row["payments"] for row in totals.rows.values())
    print(f"counted {counted:,} payments, total {sum(live.values()):,}")
    print(f"a recount gives        total {sum(recount.values()):,}")
    assert (counted, live) == (payments, dict(recount))


def main() -> None:
    with TemporaryDirectory() as directory, EmbeddedCluster() as cluster:
        servers = cluster.bootstrap_servers
        for topic in ("payments", "totals"):
            Client(servers).create_topic(topic, PARTITIONS)
        threading.Thread(target=pay, args=[servers, range(PAYMENTS)], daemon=True).start()
        totals = Totals(servers)

        worker = start_worker(servers, Path(directory))
        try:
            totals.wait_for(PAYMENTS // 10, worker=worker)
            # Kill the whole process group: Python and its JVM.
            os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()
            print(f"killed with SIGKILL after {totals.counted():,} payments were counted")

            worker = start_worker(servers, Path(directory))
            print("a new process resumes from the state of the old one")
            totals.wait_for(PAYMENTS, worker=worker)
            check(totals, PAYMENTS)

            # Results may be visible before their state is committed. Write more payments to wait
            # for the commit.
            pay(servers, range(PAYMENTS, PAYMENTS + PAYMENTS_LATER))
            totals.wait_for(PAYMENTS + PAYMENTS_LATER, worker=worker)
            worker.terminate()
            worker.wait()
            shutil.rmtree(Path(directory, "checkpoints", "payments"))
            print("\ndeleted the state: checkpoint, stores, positions in the topics")
            everything = PAYMENTS + 2 * PAYMENTS_LATER
            pay(servers, range(PAYMENTS + PAYMENTS_LATER, everything))

            worker = start_worker(servers, Path(directory))
            print("a new process restores it from the changelog and counts the new payments")
            totals.wait_for(everything, worker=worker)
            said = Path(directory, "said").read_text().splitlines()
            (restored,) = [line for line in said if " restored its stores: " in line]
            print(f"    {restored}")
            check(totals, everything)
        finally:
            worker.terminate()
            worker.wait()
            totals.close()

    print(
        "\nNote: no payment is lost and none is counted twice, although the process could not save"
    )
    print(
        "anything when it was killed, because state and positions are committed together. Even if"
    )
    print("the disk is lost, the changelog contains the rows and the positions.")


if __name__ == "__main__":
    main()
