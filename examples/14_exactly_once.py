"""Exactly once: copy and transform in transactions, count committed records.

    orders ──► copier (a client with transactions) ──► cents ──► query of Duolog ──► totals

The copier is killed three times, at the worst moments. Records of an unfinished transaction are in
the topic, but a read_committed consumer does not get them. Committed records are not copied again,
because the position was committed with them. The query uses read_committed, is restarted in
between, and counts each order once.
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
"""Steps of a transaction after which the copier is killed. Then it runs to the end."""


def topology() -> Topology:
    topology = Topology("totals")
    orders = topology.stream("cents", key="customer STRING", value="cents BIGINT")
    orders.group_by_key().aggregate(orders=count(), cents=sum_(col("cents"))).to("totals")
    return topology


def order(number: int) -> tuple[str, int]:
    return f"customer-{number % CUSTOMERS}", number * 31 % 100


# The copier, run as a separate process: `14_exactly_once.py copy SERVERS KILL`.


def copy(servers: str, kill: str) -> None:
    """Copy all orders, converting euros to cents, unless killed in the second transaction."""
    # The transactional id identifies the successor: the broker aborts the predecessor's open
    # transaction.
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
    patience = 10.0  # The first records need a connection and metadata.
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
    """Return the number of records that a consumer reads up to the end of a topic."""
    settings = {"bootstrap.servers": servers, "group.id": "counter", "enable.partition.eof": True}
    reader = Consumer(settings | {"isolation.level": isolation_level})
    reader.assign([TopicPartition(topic, 0, 0)])
    found = 0
    while (record := reader.poll(10)) is not None and record.error() is None:
        found += 1
    reader.close()
    return found


def show(servers: str, when: str) -> tuple[int, int]:
    """Print and return the numbers of copies read with both isolation levels."""
    everything = records_of(servers, "cents", "read_uncommitted")
    committed = records_of(servers, "cents", "read_committed")
    print(f"  {when:46} {everything:4} records, {committed:4} of them committed")
    return everything, committed


def counted(application: Application) -> dict[str, tuple[int, int]]:
    """Run the query until it has read everything; return orders and cents by customer."""
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
        print(f"{ORDERS} orders, copied {BATCH} per transaction. The topic of copies contains:")
        application = Application(
            topology(), bootstrap_servers=servers, data_dir=Path(directory), mode="micro-batch"
        )
        with application:
            for number, kill in enumerate(KILLS):
                run_copier(servers, kill)
                show(servers, f"killed when a transaction was {kill}")
                if number == 1:
                    early = sum(orders for orders, _ in counted(application).values())
                    print(f"  the query counts {early} orders and is stopped")
            run_copier(servers, "")
            everything, committed = show(servers, "the copier has finished")
            totals = counted(application)

    recount: Counter[str] = Counter()
    for customer, euro in map(order, range(ORDERS)):
        recount[customer] += euro * 100
    orders = sum(orders for orders, _ in totals.values())
    print(
        f"  the query, started again, counts {orders} orders, "
        f"{sum(recount.values()) / 100:.2f} euro"
    )
    assert committed == orders == ORDERS < everything
    assert {customer: cents for customer, (_, cents) in totals.items()} == recount
    print("\nNote: records and the resulting position are committed together, or not at")
    print("all. A read_committed consumer gets each result once, whatever else the topic contains.")
    print("The query's table counts each record once. Its result topic is written at least once:")
    print("after a crash, a row may be written again with the same content.")


if __name__ == "__main__":
    if sys.argv[1:2] == ["copy"]:
        copy(*sys.argv[2:])
    else:
        main()
