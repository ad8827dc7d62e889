"""Many topics are created and deleted at once, over a kill and a clean stop."""

from collections.abc import Iterable
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from duolog.runtime.broker_process import BrokerProcess

# A producer that knows a deleted topic would ask for it again, and so make it.
SETTINGS = {"durability": "os", "auto.create.topics.enable": "false"}
TOPICS = [f"topic-{number:04}" for number in range(500)]
KEPT, DELETED = TOPICS[:200], TOPICS[200:]


def topics_of(admin: AdminClient) -> set[str]:
    return {name for name in admin.list_topics(timeout=30).topics if name.startswith("topic-")}


def values_of(broker: BrokerProcess, topics: Iterable[str]) -> list[str]:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "reader"})
    wanted = [TopicPartition(topic, 0, OFFSET_BEGINNING) for topic in topics]
    consumer.assign(wanted)
    values: list[str] = []
    while messages := consumer.consume(len(wanted), 5.0 if not values else 1.0):
        values += [(message.value() or b"").decode() for message in messages]
    consumer.close()
    return sorted(values)


def test_five_hundred_topics_and_deletions_of_most_outlive_a_kill(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data", settings=SETTINGS) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        made = admin.create_topics([NewTopic(name, 1, 1) for name in TOPICS], request_timeout=60)
        for done in made.values():
            done.result(60)
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        for name in TOPICS:
            producer.produce(name, name)
        assert producer.flush(30) == 0
        for done in admin.delete_topics(DELETED, request_timeout=60).values():
            done.result(60)

        broker.kill()
        broker.restart()
        assert topics_of(admin) == set(KEPT)
        assert values_of(broker, KEPT) == KEPT

        broker.restart()
        assert topics_of(admin) == set(KEPT)
        assert values_of(broker, KEPT) == KEPT
        assert len(list(Path(f"/proc/{broker.pid}/fd").iterdir())) < 2 * len(KEPT)
