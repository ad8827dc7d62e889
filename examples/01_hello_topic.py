"""Hello, topic: events are stored, and every reader can read all of them.

One client writes four events with key, value, timestamp and headers. Two independent clients read
them. Then everything is stopped and started again: the events are still there.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from confluent_kafka import Consumer, Message, Producer

from duolog.testing import EmbeddedCluster

TOPIC = "greetings"
EVENTS = [("bob", "hello"), ("amy", "good morning"), ("bob", "how are you?"), ("amy", "fine")]


def write(bootstrap_servers: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap_servers})
    for second, (key, value) in enumerate(EVENTS):
        producer.produce(
            TOPIC,
            key=key,
            value=value,
            timestamp=1_385_000_000_000 + 1000 * second,
            headers=[("language", b"en")],
        )
    producer.flush(10)


def read(bootstrap_servers: str, group: str) -> list[Message]:
    """Read from the beginning until all written events have been read."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": group,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([TOPIC])
    events: list[Message] = []
    while len(events) < len(EVENTS):
        events += consumer.consume(10, timeout=0.2)
    consumer.close()
    return events


def text(data: bytes | None) -> str:
    return (data or b"").decode()


def show(reader: str, events: list[Message]) -> None:
    print(f"\n{reader} read:")
    for event in events:
        print(
            f"  offset {event.offset()}  {event.timestamp()[1]}  {event.headers()}  "
            f"{text(event.key())}: {text(event.value())}"
        )


def values(events: list[Message]) -> list[str]:
    return [text(event.value()) for event in events]


def main() -> None:
    with TemporaryDirectory() as directory, EmbeddedCluster(Path(directory) / "broker") as cluster:
        write(cluster.bootstrap_servers)
        print(f"Wrote {len(EVENTS)} events to topic {TOPIC}.")

        first = read(cluster.bootstrap_servers, "first-reader")
        second = read(cluster.bootstrap_servers, "second-reader")
        show("The first reader", first)
        show("The second reader, independently,", second)
        assert values(first) == values(second) == [value for _, value in EVENTS]

        cluster.stop()
        print("\nStopped the broker ...")
        cluster.restart()
        print("... and started it again.")

        later = read(cluster.bootstrap_servers, "later-reader")
        show("A later reader", later)
        assert values(later) == [value for _, value in EVENTS]
        print("\nNote: reading does not remove events, and they survive a restart of the broker.")


if __name__ == "__main__":
    main()
