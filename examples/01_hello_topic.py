"""Hello, topic: events are stored, and each reader reads all of them.

One client writes four events with key, value, timestamp and headers. Two clients that know nothing
of each other read them. Then everything is stopped and started again: the events are still there.
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
    """Read from the beginning until as many events are there as were written."""
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
    print(f"\n{reader} has read:")
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
        print(f"{len(EVENTS)} events are written to topic {TOPIC}.")

        first = read(cluster.bootstrap_servers, "first-reader")
        second = read(cluster.bootstrap_servers, "second-reader")
        show("The first reader", first)
        show("The second reader, independently,", second)
        assert values(first) == values(second) == [value for _, value in EVENTS]

        cluster.stop()
        print("\nThe broker is stopped ...")
        cluster.restart()
        print("... and started again.")

        later = read(cluster.bootstrap_servers, "later-reader")
        show("A reader that came later", later)
        assert values(later) == [value for _, value in EVENTS]
        print("\nNotice: reading does not use events up, and they outlive the broker's process.")


if __name__ == "__main__":
    main()
