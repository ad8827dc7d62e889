"""Permanent history: retention by time, by size, and without limit.

Three topics contain the same thirty days of events. One keeps a week, one keeps three megabytes,
and one keeps everything. A new reader can read all retained events.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep, time

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from duolog.testing import EmbeddedCluster

DAYS = 30
EVENTS_OF_A_DAY = 24
EVENT_BYTES = 10_000
DAY_MS = 24 * 3600 * 1000
MIB = 1024 * 1024

TOPICS = {
    "a-week": {"retention.ms": str(7 * DAY_MS)},
    "three-megabytes": {"retention.ms": "-1", "retention.bytes": str(3 * MIB)},
    "for-ever": {"retention.ms": "-1", "retention.bytes": "-1"},
}
SEGMENTS = {"segment.ms": str(DAY_MS), "segment.bytes": str(MIB)}
"""Retention deletes whole segments, so a segment holds a day or a megabyte."""


def create(bootstrap_servers: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    new = [NewTopic(name, 1, config=SEGMENTS | configs) for name, configs in TOPICS.items()]
    for created in admin.create_topics(new).values():
        created.result(10)


def write(bootstrap_servers: str, now_ms: int) -> None:
    """Write the same events of the last thirty days to each topic."""
    producer = Producer({"bootstrap.servers": bootstrap_servers, "linger.ms": 50})
    for day in range(DAYS):
        for hour in range(EVENTS_OF_A_DAY):
            at_ms = now_ms - (DAYS - day) * DAY_MS + (hour + 1) * DAY_MS // EVENTS_OF_A_DAY
            value = f"day {day} hour {hour} ".encode().ljust(EVENT_BYTES, b".")
            for topic in TOPICS:
                producer.produce(topic, value=value, timestamp=at_ms)
        producer.flush(10)  # A segment ends between two batches, so each day is a batch.


def bounds(consumer: Consumer, topic: str) -> tuple[int, int]:
    """Return the log start offset and the high watermark."""
    first, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10)
    return int(first), int(end)


def first_event(consumer: Consumer, topic: str) -> tuple[int, str] | None:
    """Return the time and the start of the first readable event, if it still exists."""
    consumer.assign([TopicPartition(topic, 0, bounds(consumer, topic)[0])])
    found = consumer.poll(10)
    value = None if found is None else found.value()
    if found is None or value is None:
        return None
    return int(found.timestamp()[1]), value[:20].decode().strip(" .")


def kept_bytes(consumer: Consumer, topic: str) -> int:
    first, end = bounds(consumer, topic)
    return (end - first) * EVENT_BYTES


def wait_for_retention(consumer: Consumer, now_ms: int) -> None:
    """Wait until retention, which runs periodically, has processed all topics.

    It may already have deleted segments while the topics were written, so a single deletion does
    not show that it is finished.
    """
    give_up = monotonic() + 30
    while monotonic() < give_up:
        event = first_event(consumer, "a-week")
        week_is_cut = event is not None and now_ms - event[0] <= 8 * DAY_MS
        if week_is_cut and kept_bytes(consumer, "three-megabytes") <= 4.5 * MIB:
            return
        sleep(0.1)
    raise SystemExit("Retention did not shorten the topics within 30 seconds.")


def show(consumer: Consumer, now_ms: int) -> None:
    total = DAYS * EVENTS_OF_A_DAY
    for topic in TOPICS:
        first, end = bounds(consumer, topic)
        event = first_event(consumer, topic)
        assert event is not None
        at_ms, text = event
        age = (now_ms - at_ms) / DAY_MS
        kept = kept_bytes(consumer, topic)
        print(
            f"  {topic:16} offsets {first:3} to {end}, {kept / MIB:.1f} MiB; "
            f"starts with {text!r}, {age:.1f} days ago"
        )
        assert end == total, "retention never deletes the newest records"
        if topic == "a-week":
            assert 6 <= age <= 8, "the segment that contains the limit is kept"
        elif topic == "three-megabytes":
            assert 2.5 * MIB <= kept <= 4.5 * MIB
        else:
            assert first == 0


def main() -> None:
    now_ms = int(time() * 1000)
    settings = {"log.retention.check.interval.ms": "500"}
    with (
        TemporaryDirectory() as directory,
        EmbeddedCluster(Path(directory) / "broker", settings=settings) as cluster,
    ):
        create(cluster.bootstrap_servers)
        write(cluster.bootstrap_servers, now_ms)
        print(f"Wrote {DAYS * EVENTS_OF_A_DAY} events of {DAYS} days to each of three topics.")
        consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": "history"})
        wait_for_retention(consumer, now_ms)
        print("Readable after retention has run:")
        show(consumer, now_ms)
        consumer.close()
    print(
        "\nNote: offsets are never reused: a shortened topic starts at a higher offset."
        "\nWith retention.ms=-1 a log is a permanent history."
    )


if __name__ == "__main__":
    main()
