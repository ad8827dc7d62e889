"""Growing and shrinking: workers of one job start and stop, and the table stays correct.

The topic of payments has four partitions, so the job has four tasks: each counts the payments of
one partition. A worker is a process that gets tasks as a member of a consumer group:

    first          the first worker has all tasks
    first second   a second worker joins: two tasks each
          second   the first one is killed: the second has all
    third second   a third one joins

A worker stores the rows of its tasks only in memory. The result topic makes them durable: rows and
the position in the payments are committed in one transaction, and a worker that takes over a task
reads its rows from that topic first. Kafka Streams does the same; this example shows it without an
engine.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable

from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from duolog.testing import Client, EmbeddedCluster

TASKS = 4
CUSTOMERS = 50
PER_SECOND = 500
WAIT_S = 30

# A worker, run as a separate process: `12_growing_and_shrinking.py work SERVERS NAME`.


class Task:
    """Counts the payments of one partition."""

    def __init__(self, servers: str, number: int) -> None:
        self._number = number
        # The transactional id belongs to the task, not to the worker: this aborts a transaction
        # that the previous worker left open, and fences that worker if it is still alive.
        client = {"bootstrap.servers": servers, "log_level": 0, "linger.ms": 0}
        self._producer = Producer(client | {"transactional.id": f"task-{number}"})
        self._producer.init_transactions(WAIT_S)
        self._rows = read_rows(servers, [number])

    def count(self, payments: list[Message], consumer: Consumer) -> None:
        """Add payments to their rows; commit the rows and the new position in one transaction."""
        changed = {}
        for payment in payments:
            customer = (payment.key() or b"").decode()
            row = self._rows.setdefault(customer, {"payments": 0, "total": 0})
            row["payments"] += 1
            row["total"] += json.loads(payment.value() or b"{}")["amount"]
            changed[customer] = row
        self._producer.begin_transaction()
        for customer, row in changed.items():
            self._producer.produce("totals", json.dumps(row), customer, self._number)
        behind = TopicPartition("payments", self._number, (payments[-1].offset() or 0) + 1)
        self._producer.send_offsets_to_transaction(
            [behind], consumer.consumer_group_metadata(), WAIT_S
        )
        self._producer.commit_transaction(WAIT_S)


def read_rows(servers: str, tasks: list[int]) -> dict[str, dict[str, int]]:
    """Return the rows that these tasks have committed: the latest of each customer."""
    client = {"bootstrap.servers": servers, "group.id": "reader", "log_level": 0}
    client |= {"isolation.level": "read_committed", "enable.partition.eof": True}
    reader = Consumer(client)
    reader.assign([TopicPartition("totals", task, 0) for task in tasks])
    rows, ended = {}, 0
    while ended < len(tasks):
        record = reader.poll(WAIT_S)
        assert record is not None, "the broker does not answer"
        if record.error() is not None:
            ended += 1
        else:
            rows[(record.key() or b"").decode()] = json.loads(record.value() or b"{}")
    reader.close()
    return rows


def work(servers: str, name: str) -> None:
    """Count the payments of the tasks assigned by the group, until the process ends."""
    tasks: dict[int, Task] = {}

    def take(consumer: Consumer, partitions: list[TopicPartition]) -> None:
        tasks.update({of.partition: Task(servers, of.partition) for of in partitions})
        consumer.assign(partitions)

    def give_back(_consumer: Consumer, _partitions: list[TopicPartition]) -> None:
        tasks.clear()

    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "workers",
            "client.id": name,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": 1_500,
            "heartbeat.interval.ms": 300,
            "log_level": 0,
        }
    )
    consumer.subscribe(["payments"], on_assign=take, on_revoke=give_back)
    while True:
        by_task: dict[int, list[Message]] = defaultdict(list)
        for payment in consumer.consume(500, timeout=0.2):
            by_task[payment.partition() or 0].append(payment)
        for number, payments in by_task.items():
            if number in tasks:
                tasks[number].count(payments, consumer)


# The program.


class Payments:
    """Writes payments at a steady rate until `end` is called."""

    def __init__(self, servers: str) -> None:
        self.totals: Counter[str] = Counter()
        self.written = 0
        self._producer = Producer({"bootstrap.servers": servers, "log_level": 0})
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._pay, daemon=True)
        self._thread.start()

    def _pay(self) -> None:
        while not self._ended.wait(0.1):
            for _ in range(PER_SECOND // 10):
                customer, amount = f"customer-{self.written * 7919 % CUSTOMERS}", self.written % 100
                self._producer.produce("payments", f'{{"amount": {amount}}}', customer)
                self.totals[customer] += amount
                self.written += 1
            self._producer.poll(0)

    def end(self) -> None:
        self._ended.set()
        self._thread.join()
        self._producer.flush(10)


class Workers:
    """The workers of the job and their tasks."""

    def __init__(self, servers: str) -> None:
        self._servers = servers
        self._admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def join(self, name: str) -> None:
        command = [sys.executable, __file__, "work", self._servers, name]
        self._running[name] = subprocess.Popen(command)

    def kill(self, name: str) -> None:
        worker = self._running.pop(name)
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait()

    def kill_all(self) -> None:
        for name in list(self._running):
            self.kill(name)

    def tasks(self) -> dict[str, list[int]]:
        """Return the tasks of each worker, as assigned by the group coordinator."""
        group = self._admin.describe_consumer_groups(["workers"])["workers"].result(10)
        return {
            member.client_id: sorted(of.partition for of in member.assignment.topic_partitions)
            for member in group.members
        }

    def share_all_tasks(self) -> bool:
        tasks = self.tasks()
        given = sorted(task for of_worker in tasks.values() for task in of_worker)
        return (
            set(tasks) == set(self._running) and given == list(range(TASKS)) and all(tasks.values())
        )


def counted(servers: str) -> int:
    return sum(row["payments"] for row in read_rows(servers, list(range(TASKS))).values())


def wait_until(holds: Callable[[], bool]) -> None:
    give_up = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < give_up, f"it did not happen within {WAIT_S} seconds"
        time.sleep(0.1)


def show(what: str, servers: str, workers: Workers, payments: Payments) -> None:
    """Wait until all tasks are assigned and counting continues, then print the assignment."""
    wait_until(workers.share_all_tasks)
    written = payments.written
    wait_until(lambda: counted(servers) > written)
    shares = ", ".join(f"{name} {tasks}" for name, tasks in sorted(workers.tasks().items()))
    print(f"{what:26} tasks of {shares}; more than {written:,} payments are counted")


def main() -> None:
    settings = {"group.min.session.timeout.ms": "1000"}
    with EmbeddedCluster(settings=settings) as cluster:
        servers = cluster.bootstrap_servers
        for topic in ("payments", "totals"):
            Client(servers).create_topic(topic, TASKS)
        payments, workers = Payments(servers), Workers(servers)
        try:
            workers.join("first")
            show("One worker:", servers, workers, payments)
            workers.join("second")
            show("A second one has joined:", servers, workers, payments)
            workers.kill("first")
            show("The first one is killed:", servers, workers, payments)
            workers.join("third")
            show("A third one has joined:", servers, workers, payments)
            payments.end()
            wait_until(lambda: counted(servers) >= payments.written)
        finally:
            workers.kill_all()
        rows = read_rows(servers, list(range(TASKS)))

    total = sum(row["payments"] for row in rows.values())
    print(f"\n{total:,} payments are counted, {payments.written:,} were written.")
    assert total == payments.written
    assert {customer: row["total"] for customer, row in rows.items()} == payments.totals
    print(
        "\nNote: tasks are permanent, workers are not. A task's rows and its position are committed"
    )
    print("together, so that its next worker resumes exactly there. More workers than tasks")
    print("would be idle. A Duolog application is a single process, in which Spark works on")
    print("the tasks; a second process with the same application id is refused.")


if __name__ == "__main__":
    if sys.argv[1:2] == ["work"]:
        work(*sys.argv[2:])
    else:
        main()
