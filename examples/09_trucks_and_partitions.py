"""Trucks and partitions: effects of keys on order, growth and distribution of work.

Positions of trucks are keyed by license plate, in a topic of four partitions. Then the topic grows,
and new positions of some trucks go to another partition than the old ones. A copy into a new topic
corrects that. Finally, a topic of thirty partitions is shared by 1, 2, 3, 5 and 6 readers.
"""

from collections import Counter, defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from confluent_kafka import Consumer, Message, Producer
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from duolog.testing import EmbeddedCluster

TRUCKS = [f"{region}-{number}" for region in ("HH", "B", "M") for number in range(1, 5)]
ROUNDS = 5
READERS = (1, 2, 3, 5, 6)
SHARED_PARTITIONS = 30


def create(bootstrap_servers: str, topic: str, partitions: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    admin.create_topics([NewTopic(topic, partitions)])[topic].result(10)


def drive(bootstrap_servers: str, topic: str, first_round: int) -> None:
    """Write positions of every truck in rounds; the key determines the partition."""
    producer = Producer({"bootstrap.servers": bootstrap_servers, "partitioner": "murmur2_random"})
    for number in range(first_round, first_round + ROUNDS):
        for truck in TRUCKS:
            producer.produce(topic, key=truck, value=str(number))
    producer.flush(10)


def read(bootstrap_servers: str, topic: str, expected: int) -> list[Message]:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": f"reader-{uuid4()}",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([topic])
    events: list[Message] = []
    while len(events) < expected:
        events += consumer.consume(1000, timeout=0.2)
    consumer.close()
    return events


def text(data: bytes | None) -> str:
    return (data or b"").decode()


def homes(events: list[Message]) -> dict[str, list[int]]:
    """Return the partitions of each truck in the order of their first use."""
    found: dict[str, list[int]] = defaultdict(list)
    for event in sorted(events, key=lambda event: int(text(event.value()))):
        partitions = found[text(event.key())]
        if event.partition() not in partitions:
            partitions.append(event.partition())
    return found


def rounds_in_order(events: list[Message], truck: str) -> list[int]:
    """Return a truck's positions as seen by a reader of one partition after the other."""
    mine = [event for event in events if text(event.key()) == truck]
    mine.sort(key=lambda event: (event.partition(), event.offset()))
    return [int(text(event.value())) for event in mine]


def order_is_kept(bootstrap_servers: str) -> None:
    create(bootstrap_servers, "positions", 4)
    drive(bootstrap_servers, "positions", first_round=0)
    events = read(bootstrap_servers, "positions", ROUNDS * len(TRUCKS))
    print(f"{len(TRUCKS)} trucks, four partitions; each truck is in exactly one:")
    for truck, partitions in sorted(homes(events).items()):
        print(f"  {truck:7} partition {partitions}  rounds {rounds_in_order(events, truck)}")
        assert len(partitions) == 1
        assert rounds_in_order(events, truck) == list(range(ROUNDS))


def growth_moves_keys(bootstrap_servers: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    admin.create_partitions([NewPartitions("positions", 6)])["positions"].result(10)
    drive(bootstrap_servers, "positions", first_round=ROUNDS)
    events = read(bootstrap_servers, "positions", 2 * ROUNDS * len(TRUCKS))
    moved = {truck: where for truck, where in homes(events).items() if len(where) > 1}
    print(f"\nThe topic now has six partitions, and {len(moved)} of {len(TRUCKS)} trucks moved:")
    for truck, (before, after) in sorted(moved.items()):
        rounds = rounds_in_order(events, truck)
        print(f"  {truck:7} partition {before} -> {after}  a reader may see {rounds}")
    torn = [truck for truck in moved if rounds_in_order(events, truck) != list(range(2 * ROUNDS))]
    print(f"Old positions are not moved. A reader by partition sees {torn} out of order,")
    print("and a table per partition lacks the old positions of all trucks that moved.")
    assert moved
    assert torn


def a_copy_mends_it(bootstrap_servers: str) -> None:
    """Copy all positions to a new topic with the desired number of partitions, in order.

    A topology does this in one line: `topology.stream(...).to("positions-by-six", partitions=6)`.
    """
    create(bootstrap_servers, "positions-by-six", 6)
    total = 2 * ROUNDS * len(TRUCKS)
    events = read(bootstrap_servers, "positions", total)
    events.sort(key=lambda event: int(text(event.value())))
    producer = Producer({"bootstrap.servers": bootstrap_servers, "partitioner": "murmur2_random"})
    for event in events:
        producer.produce("positions-by-six", key=event.key(), value=event.value())
    producer.flush(10)
    copied = read(bootstrap_servers, "positions-by-six", total)
    for truck in TRUCKS:
        assert rounds_in_order(copied, truck) == list(range(2 * ROUNDS))
    print("\nCopied to a new topic of six partitions: each truck is in one partition, in order.")


def a_partitioner_of_ones_own(bootstrap_servers: str) -> None:
    """Keep all trucks of a region together by deriving the partition from a part of the key.

    Here a producer selects the partition. A topology does so with `to("...", partitioner=...)`: an
    expression, or a function of the key.
    """
    regions = sorted({truck.split("-")[0] for truck in TRUCKS})
    create(bootstrap_servers, "positions-by-region", len(regions))
    producer = Producer({"bootstrap.servers": bootstrap_servers})
    for truck in TRUCKS:
        region = regions.index(truck.split("-")[0])
        producer.produce("positions-by-region", key=truck, value="0", partition=region)
    producer.flush(10)
    print("\nWith a custom partitioner, by region:")
    events = read(bootstrap_servers, "positions-by-region", len(TRUCKS))
    for partition, region in enumerate(regions):
        here = sorted(text(e.key()) for e in events if e.partition() == partition)
        print(f"  partition {partition}  {here}")
        assert here == [truck for truck in sorted(TRUCKS) if truck.startswith(f"{region}-")]


def share(bootstrap_servers: str, readers: int) -> list[int]:
    """Let `readers` consumers join one group; return the number of partitions of each."""
    group = [
        Consumer(
            {
                "bootstrap.servers": bootstrap_servers,
                "group.id": f"{readers}-readers",
                "session.timeout.ms": 10_000,
            }
        )
        for _ in range(readers)
    ]
    for consumer in group:
        consumer.subscribe(["shared"])
    shares = [0] * readers
    while sum(shares) < SHARED_PARTITIONS or 0 in shares:
        for consumer in group:
            consumer.poll(0.05)
        shares = [len(consumer.assignment()) for consumer in group]
    for consumer in group:
        consumer.close()
    return shares


def work_is_shared(bootstrap_servers: str) -> None:
    create(bootstrap_servers, "shared", SHARED_PARTITIONS)
    print("\nThirty partitions among the readers of one group:")
    for readers in READERS:
        shares = share(bootstrap_servers, readers)
        print(f"  {readers} readers  {shares}")
        assert Counter(shares) == {SHARED_PARTITIONS // readers: readers}


def main() -> None:
    settings = {"group.initial.rebalance.delay.ms": "300"}
    with (
        TemporaryDirectory() as directory,
        EmbeddedCluster(Path(directory) / "broker", settings=settings) as cluster,
    ):
        order_is_kept(cluster.bootstrap_servers)
        growth_moves_keys(cluster.bootstrap_servers)
        a_copy_mends_it(cluster.bootstrap_servers)
        a_partitioner_of_ones_own(cluster.bootstrap_servers)
        work_is_shared(cluster.bootstrap_servers)
    print(
        "\nNote: the records of a key stay in order "
        "as long as the number of partitions is constant."
        "\nA number with many divisors, such as 30, "
        "can be shared evenly by 1, 2, 3, 5, 6, 10, 15 or 30."
    )


if __name__ == "__main__":
    main()
