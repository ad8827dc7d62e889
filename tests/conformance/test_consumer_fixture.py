"""The fixture `consumer` of the pytest plugin: the offset from which it reads."""

from pathlib import Path

import pytest

from conformance.user_suite import Suite, counts


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    return Suite(tmp_path)


def test_the_consumer_starts_without_a_query_for_offsets_as_librdkafka_waits_before_it(
    suite: Suite,
) -> None:
    suite.write("""
    import pytest

    @pytest.fixture(scope="session")
    def duolog_broker_settings():
        return {"logging.requests": "true"}

    @pytest.mark.duolog_topic(partitions=2)
    def test_start(topic, producer, consumer, duolog_broker):
        for partition in range(2):
            producer.produce(topic, str(partition).encode(), partition=partition)
        producer.flush()
        assert {consumer.poll(60).value() for _ in range(2)} == {b"0", b"1"}
        assert "api=JoinGroup" in duolog_broker.log
        assert "api=ListOffsets" not in duolog_broker.log
    """)

    printed = suite.run()

    assert counts(printed) == {"passed": 1}, printed


def test_the_consumer_starts_where_its_group_or_its_config_says(suite: Suite) -> None:
    suite.write("""
    import pytest
    from confluent_kafka import Consumer, TopicPartition
    from confluent_kafka.admin import AdminClient

    @pytest.fixture
    def written(topic, producer):
        for value in (b"1", b"2", b"3"):
            producer.produce(topic, value)
        producer.flush()

    def test_a_committed_offset(topic, written, consumer_config, request):
        earlier = Consumer(consumer_config)
        earlier.commit(offsets=[TopicPartition(topic, 0, 2)], asynchronous=False)
        earlier.close()
        assert request.getfixturevalue("consumer").poll(60).value() == b"3"

    def test_deleted_records(topic, written, bootstrap_servers, consumer):
        admin = AdminClient({"bootstrap.servers": bootstrap_servers})
        for deleted in admin.delete_records([TopicPartition(topic, 0, 1)]).values():
            deleted.result(60)
        assert consumer.poll(60).value() == b"2"

    class TestLatest:
        @pytest.fixture
        def consumer_config(self, consumer_config):
            return consumer_config | {"auto.offset.reset": "latest"}

        def test_new_records_only(self, topic, written, producer, consumer):
            record = None
            while record is None:
                producer.produce(topic, b"4")
                producer.flush()
                record = consumer.poll(0.05)
            assert record.value() == b"4"

    @pytest.mark.parametrize(
        "config",
        [
            {"group.protocol": "consumer"},
            {"partition.assignment.strategy": "cooperative-sticky"},
        ],
        ids=["consumer", "cooperative"],
    )
    class TestProtocols:
        @pytest.fixture
        def consumer_config(self, consumer_config, config):
            return consumer_config | config

        def test_from_the_start(self, topic, written, consumer):
            assert consumer.poll(60).value() == b"1"
    """)

    printed = suite.run()

    assert counts(printed) == {"passed": 5}, printed
