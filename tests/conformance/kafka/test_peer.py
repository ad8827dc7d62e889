"""The real Kafka that the other tests use works itself."""

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from conformance.kafka.peer import KafkaPeer


def test_a_client_writes_to_the_real_kafka_and_sees_its_topic(kafka_peer: KafkaPeer) -> None:
    producer = Producer({"bootstrap.servers": kafka_peer.bootstrap_servers})
    producer.produce("peer_works", value=b"yes")
    unsent = producer.flush(60)

    metadata = AdminClient({"bootstrap.servers": kafka_peer.bootstrap_servers}).list_topics(
        "peer_works", timeout=60
    )

    assert unsent == 0
    assert list(metadata.topics["peer_works"].partitions) == [0]
