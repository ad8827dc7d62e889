"""Compare the answers of Apache Kafka and of Duolog to the same requests.

A conversation is a function of a client that runs against both brokers; its results must be equal.
Error messages, times, ids and ports are not compared. Conversations avoid intentional differences,
which are:

- requests at which Kafka fails with UNKNOWN_SERVER_ERROR or by hanging (null records, an unknown codec, a
  config operation 9, a negative partition_max_bytes) is refused with a code that says why;
- a topic of the auto creation exists in the first answer of Metadata, in Kafka in a later one;
- a retry older than the five batches that are kept is DUPLICATE_SEQUENCE_NUMBER, not
  OUT_OF_ORDER_SEQUENCE_NUMBER: clients treat the first as success;
- a batch that says in its own header that the broker set its time is refused on every topic;
- a batch whose records are fewer than its header says is taken, where Kafka answers
  INVALID_RECORD: the broker does not decode records. To count 100 of them takes 57 us, while an
  append takes 1 us, and compressed ones would have to be decompressed first. The checksum holds,
  so only a client with a fault makes one; its readers get an error for this batch, as decoders
  count too;
- internal topics cannot be made by a client;
- an unknown setting of a broker is INVALID_CONFIG, where Kafka keeps it; the settings of Kafka's
  threads, tiered storage and replication do not exist, nor those of share and streams groups;
- an entity of a quota that is in a request twice is not changed at all, in Kafka once;
- a name of a SCRAM user must be printable and have at most 255 characters, and its salt and salted
  password the lengths that logins need; Kafka keeps users that could never log in;
- AlterConfigs that names a resource twice is refused, where Kafka does not answer;
- a request for partitions beyond 10,000 is INVALID_PARTITIONS, in Kafka UNKNOWN_SERVER_ERROR.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from conformance.kafka import admin_conversations as admin
from conformance.kafka import cluster_conversations as cluster
from conformance.kafka import config_conversations as configs
from conformance.kafka import consumer_group_conversations as consumers
from conformance.kafka import group_conversations as groups
from conformance.kafka import isolation_conversations as isolation
from conformance.kafka import offset_conversations as offsets
from conformance.kafka import record_conversations as records
from conformance.kafka import session_conversations as sessions
from conformance.kafka import transaction_conversations as transactions
from conformance.kafka.peer import KafkaPeer
from conformance.kafka.wire_client import WireClient
from conformance.kafka.wire_helpers import PRODUCE, batch, create_and_wait, new_topic
from duolog.runtime.broker_process import BrokerProcess

Conversation = Callable[[WireClient], Any]

CONVERSATIONS: Final[list[Conversation]] = [
    admin.created_topics,
    admin.topics_named_twice,
    admin.deleted_topics,
    admin.grown_topics,
    admin.described_configs,
    admin.altered_configs,
    admin.metadata,
    admin.cluster,
    admin.topic_partitions,
    admin.producer_ids,
    admin.requests_nobody_serves,
    configs.every_topic_config,
    configs.values_of_topic_configs,
    configs.values_of_altered_topic_configs,
    configs.lists_of_configs,
    configs.several_resources,
    configs.replaced_configs,
    configs.broker_configs,
    configs.group_configs,
    configs.client_metrics_configs,
    configs.logger_configs,
    configs.replicas_that_are_missing,
    cluster.deleted_records,
    cluster.log_dirs,
    cluster.replicas_to_other_directories,
    cluster.elections,
    cluster.reassignments,
    cluster.quotas,
    cluster.quorum,
    cluster.acls_without_authorizer,
    cluster.users_of_scram,
    cluster.sasl_on_a_plaintext_listener,
    cluster.config_resources,
    records.produced,
    records.fetched,
    records.listed_offsets,
    records.ends_of_epochs,
    transactions.features,
    transactions.begun_producers,
    transactions.added_partitions,
    transactions.older_ends,
    transactions.newer_ends,
    transactions.fenced_producers,
    transactions.offsets_in_transactions,
    transactions.refused_batches,
    transactions.listed_transactions,
    groups.members_come_and_go,
    groups.requests_in_every_version,
    groups.static_members,
    groups.members_that_are_silent,
    offsets.offsets_in_open_transactions,
    offsets.members_that_commit_in_transactions,
    offsets.offsets,
    offsets.offsets_that_are_deleted,
    groups.groups_that_are_deleted,
    groups.groups_that_are_listed,
    groups.coordinators,
    *consumers.CONVERSATIONS,
    *isolation.CONVERSATIONS,
    *sessions.CONVERSATIONS,
]


@pytest.fixture(scope="module")
def duolog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    data_dir = tmp_path_factory.mktemp("differential") / "data"
    with BrokerProcess(data_dir, settings={"node.id": "1"}) as broker:
        yield broker.bootstrap_servers


@pytest.mark.parametrize("conversation", CONVERSATIONS, ids=lambda call: call.__name__)
def test_both_brokers_answer_alike(
    kafka_peer: KafkaPeer, duolog: str, conversation: Conversation
) -> None:
    with (
        WireClient(kafka_peer.bootstrap_servers) as kafka,
        WireClient(duolog) as ours,
        ThreadPoolExecutor(1) as pool,
    ):
        # Concurrently: many wait for a session to expire, or for Kafka's controller.
        expected = pool.submit(conversation, kafka)
        found = conversation(ours)

        assert found == expected.result()


@pytest.mark.deep
def test_both_brokers_answer_alike_when_producer_epochs_are_exhausted(
    kafka_peer: KafkaPeer, duolog: str
) -> None:
    """Use every epoch on both brokers; `test_exhausted_epochs.py` is the short form."""
    with WireClient(kafka_peer.bootstrap_servers) as kafka:
        assert transactions.used_up_epochs(kafka) == transactions.USED_UP_EPOCHS
    with WireClient(duolog) as ours:
        assert transactions.used_up_epochs(ours) == transactions.USED_UP_EPOCHS


def librdkafka_errors(bootstrap_servers: str) -> list[Any]:
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})

    def code(futures: dict[Any, Any]) -> Any:
        (future,) = futures.values()
        try:
            future.result(60)
        except KafkaException as error:
            return error.args[0].name()
        return None

    return [
        code(admin.create_topics([NewTopic("admin_a", 2, 1)])),
        code(admin.create_topics([NewTopic("admin_a", 2, 1)])),
        code(admin.create_topics([NewTopic("admin_b", 2, 3)])),
        code(admin.create_topics([NewTopic("admin_c", 2, 1, config={"nope": "1"})])),
        code(admin.create_partitions([NewPartitions("admin_a", 1)])),
        code(admin.create_partitions([NewPartitions("admin_a", 4)])),
        code(admin.delete_topics(["admin_a"])),
        code(admin.delete_topics(["admin_missing"])),
    ]


def test_an_administrator_with_librdkafka_sees_the_same_errors(
    kafka_peer: KafkaPeer, duolog: str
) -> None:
    assert librdkafka_errors(duolog) == librdkafka_errors(kafka_peer.bootstrap_servers)


def places(bootstrap_servers: str) -> list[Any]:
    with WireClient(bootstrap_servers) as client:
        # Records of 1970 would be deleted at some moment.
        create_and_wait(client, new_topic("places", retention_ms="-1"))
        for at in (1000, 2000):
            rows = [{"index": 0, "records": batch(b"a", b"b", at=at)}]
            data = [{"name": "places", "partition_data": rows}]
            client.ask(PRODUCE, 9, acks=-1, timeout=5000, topic_data=data)
    from kafka import KafkaConsumer, TopicPartition  # noqa: PLC0415  It warns when it is loaded.

    consumer = KafkaConsumer(bootstrap_servers=bootstrap_servers)
    partition = TopicPartition("places", 0)
    found = [
        consumer.beginning_offsets([partition])[partition],
        consumer.end_offsets([partition])[partition],
        *(
            (row.offset, row.timestamp)
            for row in [consumer.offsets_for_times({partition: 1500})[partition]]
        ),
        consumer.offsets_for_times({partition: 5000})[partition],
    ]
    consumer.close()
    return found


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_kafka_python_finds_the_same_offsets(kafka_peer: KafkaPeer, duolog: str) -> None:
    assert places(duolog) == places(kafka_peer.bootstrap_servers)
