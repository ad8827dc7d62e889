"""Exactly once: copy and transform in transactions, count from what was committed.

    orders ──► copier (a client with transactions) ──► cents ──► query of Duolog ──► totals

The copier is killed three times, at the worst moments. What it wrote in a transaction that never
ended is in the topic, but no reader of committed records gets it; what was committed is not
copied again, because its position was committed with it. The query reads committed records, is
stopped and started in between, and counts each order once.
"""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from confluent_kafka import Consumer, Message, Producer, TopicPartition

from duolog import Application, Topology, col, count, sum_
from duolog.testing import Client, EmbeddedCluster

ORDERS = 400
CUSTOMERS = 7
BATCH = 50
KILLS = ("written", "with its position", "committed")
"""Where the copier is killed: behind which step of its next transaction. Then it runs to the end."""


def topology() -> Topology:
    topology = Topology("totals")
    orders = topology.stream("cents", key="customer STRING", value="cents BIGINT")
    orders.group_by_key().aggregate(orders=count(), cents=sum_(col("cents"))).to("totals")
    return topology


def order(number: int) -> tuple[str, int]:
    return f"customer-{number % CUSTOMERS}", number * 31 % 100


# The copier, a process of its own: `14_exactly_once.py copy SERVERS KILL`.


def copy(servers: str, kill: str) -> None:
    """Copy orders, euros as cents, until none is left; or be killed in the second transaction."""
    # The name tells the broker that this is the successor: what the last one left open is aborted.
    client = {"bootstrap.servers": servers, "log_level": 0}
    producer = Producer(client | {"transactional.id": "copier"})
    producer.init_transactions(10)
    here = [TopicPartition("orders", 0)]
    reader = Consumer(client | {"group.id": "copier", "enable.auto.commit": False})
    (position,) = reader.committed(here, timeout=10)
    reader.assign([TopicPartition("orders", 0, max(0, position.offset))])
    for number, orders in enumerate(batches(reader)):
        producer.begin_transaction()
        for record in orders:
            euro = json.loads(record.value() or b"")["euro"]
            producer.produce("cents", key=record.key(), value=json.dumps({"cents": euro * 100}))
        producer.flush(10)
        die_if(kill == "written" and number == 1)
        group = reader.consumer_group_metadata()
        producer.send_offsets_to_transaction(reader.position(here), group, 10)
        die_if(kill == "with its position" and number == 1)
        producer.commit_transaction(10)
        die_if(kill == "committed" and number == 1)
    reader.close()


def batches(reader: Consumer) -> Iterator[list[Message]]:
    patience = 10.0  # The first records wait for a connection and what the broker knows.
    while records := reader.consume(BATCH, timeout=patience):
        yield records
        patience = 2


def die_if(now: bool) -> None:  # noqa: FBT001
    if now:
        os.kill(os.getpid(), signal.SIGKILL)


# The program.


def run_copier(servers: str, kill: str) -> None:
    done = subprocess.run(
        [sys.executable, __file__, "copy", servers, kill], check=False, timeout=60
    )
    assert done.returncode == (-signal.SIGKILL if kill else 0), done.returncode


def records_of(servers: str, topic: str, isolation_level: str) -> int:
    """Return how many records a reader gets who reads a topic to its end."""
    settings = {"bootstrap.servers": servers, "group.id": "counter", "enable.partition.eof": True}
    reader = Consumer(settings | {"isolation.level": isolation_level})
    reader.assign([TopicPartition(topic, 0, 0)])
    found = 0
    while (record := reader.poll(10)) is not None and record.error() is None:
        found += 1
    reader.close()
    return found


def tell(servers: str, when: str) -> tuple[int, int]:
    """Print what readers of both kinds get of the copies."""
    everything = records_of(servers, "cents", "read_uncommitted")
    committed = records_of(servers, "cents", "read_committed")
    print(f"  {when:46} {everything:4} records, {committed:4} of them committed")
    return everything, committed


def counted(application: Application) -> dict[str, tuple[int, int]]:
    """Start the query, let it read what there is, stop it; return orders and cents by customer."""
    assert application.start().wait_until_caught_up(240)
    rows = application.table("totals").to_dicts()
    application.stop()
    return {row["customer"]: (row["orders"], row["cents"]) for row in rows}


def main() -> None:
    with TemporaryDirectory() as directory, EmbeddedCluster() as cluster:
        servers = cluster.bootstrap_servers
        client = Client(servers)
        for topic in ("orders", "cents"):
            client.create_topic(topic)
        producer = Producer({"bootstrap.servers": servers, "log_level": 0})
        for customer, euro in map(order, range(ORDERS)):
            producer.produce("orders", key=customer, value=json.dumps({"euro": euro}))
        producer.flush(10)
        print(f"{ORDERS} orders, copied {BATCH} in a transaction. In the topic of copies are:")
        application = Application(
            topology(), bootstrap_servers=servers, data_dir=Path(directory), mode="micro-batch"
        )
        with application:
            for number, kill in enumerate(KILLS):
                run_copier(servers, kill)
                tell(servers, f"killed when a transaction was {kill}")
                if number == 1:
                    early = sum(orders for orders, _ in counted(application).values())
                    print(f"  the query counts {early} orders, and is stopped")
            run_copier(servers, "")
            everything, committed = tell(servers, "the copier has come to the end")
            totals = counted(application)

    recount: Counter[str] = Counter()
    for customer, euro in map(order, range(ORDERS)):
        recount[customer] += euro * 100
    orders = sum(orders for orders, _ in totals.values())
    print(
        f"  the query, started again, counts {orders} orders, {sum(recount.values()) / 100:.2f} euro"
    )
    assert committed == orders == ORDERS < everything
    assert {customer: cents for customer, (_, cents) in totals.items()} == recount
    print("\nNotice: records and the position that they lead to are committed together, or not at")
    print(
        "all; a reader of committed records gets each result once, whatever the topic holds besides."
    )
    print(
        "The query's table counts each record once. Its own result topic is written at least once:"
    )
    print("a crash may write a row a second time, with the same content.")


if __name__ == "__main__":
    if sys.argv[1:2] == ["copy"]:
        copy(*sys.argv[2:])
    else:
        main()
