"""The administration clients of librdkafka and kafka-python against a broker process."""

from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import ElectionType, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourcePatternType,
    ResourceType,
)

from duolog.runtime.broker_process import BrokerProcess

TIMEOUT_S = 60


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with BrokerProcess(tmp_path_factory.mktemp("admin") / "data") as process:
        yield process.bootstrap_servers


def result(futures: dict[Any, Future[Any]]) -> Any:
    """Return the result of the only future, or the name of its error."""
    (future,) = futures.values()
    try:
        return future.result(TIMEOUT_S)
    except KafkaException as error:
        return error.args[0].name()


def produce(servers: str, topic: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": servers})
    for index in range(count):
        producer.produce(topic, str(index).encode(), partition=0)
    assert producer.flush(TIMEOUT_S) == 0


def test_librdkafka_changes_configs_and_reads_them(servers: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    result(admin.create_topics([NewTopic("c_configs", 1, 1, config={"retention.ms": "5"})]))

    def configs(kind: ResourceType, name: str) -> Any:
        return result(admin.describe_configs([ConfigResource(kind, name)]))

    def alter(kind: ResourceType, name: str, entry: ConfigEntry) -> Any:
        resource = ConfigResource(kind, name, incremental_configs=[entry])
        return result(admin.incremental_alter_configs([resource]))

    def change(name: str, value: str | None, operation: AlterConfigOpType) -> ConfigEntry:
        return ConfigEntry(name, value, incremental_operation=operation)

    topic = ResourceType.TOPIC
    add, put = AlterConfigOpType.APPEND, AlterConfigOpType.SET
    assert alter(topic, "c_configs", change("cleanup.policy", "compact", add)) is None
    assert alter(topic, "c_configs", change("retention.mss", "1", put)) == "INVALID_CONFIG"
    assert configs(topic, "c_configs")["cleanup.policy"].value == "delete,compact"
    assert alter(ResourceType.BROKER, "0", change("message.max.bytes", "99999", put)) is None
    assert configs(ResourceType.BROKER, "0")["message.max.bytes"].value == "99999"
    assert configs(topic, "c_configs")["max.message.bytes"].value == "99999"
    old = ConfigResource(topic, "c_configs", set_config={"segment.ms": "9"})
    with pytest.warns(DeprecationWarning, match="incremental"):
        assert result(admin.alter_configs([old])) is None
    assert configs(topic, "c_configs")["cleanup.policy"].value == "delete"
    assert (
        alter(
            ResourceType.BROKER,
            "0",
            change("message.max.bytes", None, AlterConfigOpType.DELETE),
        )
        is None
    )


def test_librdkafka_deletes_records_grows_topics_and_elects(servers: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    result(admin.create_topics([NewTopic("c_cut", 1, 1)]))
    produce(servers, "c_cut", 5)

    cut = result(admin.delete_records([TopicPartition("c_cut", 0, 3)]))
    grown = result(admin.create_partitions([NewPartitions("c_cut", 3)]))
    at_start = {TopicPartition("c_cut", 0): OffsetSpec.earliest()}  # type: ignore[no-untyped-call]
    earliest = result(admin.list_offsets(at_start))
    elected = admin.elect_leaders(ElectionType.PREFERRED, [TopicPartition("c_cut", 0)])

    assert (cut.low_watermark, grown, earliest.offset) == (3, None, 3)
    errors = [error.name() for error in elected.result(TIMEOUT_S).values() if error]
    assert errors == ["ELECTION_NOT_NEEDED"]


def test_librdkafka_describes_the_cluster_and_its_topics(servers: str) -> None:
    from confluent_kafka import TopicCollection  # noqa: PLC0415

    admin = AdminClient({"bootstrap.servers": servers})
    result(admin.create_topics([NewTopic("c_told", 2, 1)]))

    cluster = admin.describe_cluster(include_authorized_operations=True).result(TIMEOUT_S)
    reported = result(
        admin.describe_topics(TopicCollection(["c_told"]), include_authorized_operations=True)
    )

    assert (cluster.controller.id, len(cluster.nodes)) == (0, 1)
    assert cluster.authorized_operations
    assert [[node.id for node in row.isr] for row in reported.partitions] == [[0], [0]]
    assert reported.authorized_operations


def test_librdkafka_sees_that_acls_are_disabled(servers: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    place = (ResourceType.TOPIC, "t", ResourcePatternType.LITERAL)
    acl = AclBinding(*place, "User:u", "*", AclOperation.READ, AclPermissionType.ALLOW)

    assert result(admin.create_acls([acl])) == "SECURITY_DISABLED"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_kafka_python_administers_topics_configs_and_directories(servers: str) -> None:
    from kafka.admin import (  # noqa: PLC0415  It warns when it is loaded.
        ConfigResource as Resource,
    )
    from kafka.admin import (  # noqa: PLC0415
        ConfigResourceType,
        KafkaAdminClient,
    )
    from kafka.admin import (  # noqa: PLC0415
        NewTopic as Topic,
    )

    admin = KafkaAdminClient(bootstrap_servers=servers)
    try:
        new = Topic(
            name="p_a", num_partitions=2, replication_factor=1, topic_configs={"retention.ms": "5"}
        )
        admin.create_topics([new])
        described = admin.describe_topics(["p_a"])
        configs = admin.describe_configs([Resource(ConfigResourceType.TOPIC, "p_a")])
        cluster = admin.describe_cluster()
        directories = admin.describe_log_dirs()
        admin.delete_topics(["p_a"])
        left = admin.list_topics()
    finally:
        admin.close()

    assert "p_a" in str(described)
    assert "retention.ms" in str(configs)
    assert cluster["cluster_id"]
    assert "p_a" in str(directories)
    assert "p_a" not in left
