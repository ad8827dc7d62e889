"""Read and write the topic `__security` of a cluster, for what no Kafka API carries."""

from collections.abc import Iterable

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from duolog.cli.kafka.cluster import Cluster
from duolog.core.errors import KafkaError
from duolog.security.authorization.acl_authorizer import SECURITY_TOPIC
from duolog.security.records.records import Change, decode, encode
from duolog.security.state.security_state import SecurityState

_TIMEOUT_S = 10.0
_UNKNOWN_TOPIC = 3
_NOT_ALLOWED = 29


def read_state(cluster: Cluster) -> SecurityState:
    """Return users, rights, roles and tokens as the topic has them.

    Raises:
        KafkaError: no broker answers, the topic does not exist, or the user may not read it.
    """
    connection = cluster.connection()
    consumer = cluster.consumer(
        connection,
        **{
            "group.id": "duolog-security",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        },
    )
    state = SecurityState()
    try:
        with cluster.errors(f'read topic "{SECURITY_TOPIC}"'):
            _ensure_topic(consumer, cluster)
            partition = TopicPartition(SECURITY_TOPIC, 0, 0)
            low, high = cluster.ask(
                lambda timeout_s: consumer.get_watermark_offsets(partition, timeout=timeout_s)
            )
            partition.offset = low
            consumer.assign([partition])
            while low < high:
                message = consumer.poll(_TIMEOUT_S)
                if message is None:
                    raise no_answer()
                error = message.error()
                if error is not None:
                    if error.code() == _END:
                        break
                    raise KafkaException(error)
                _apply(state, message)
                low = (message.offset() or 0) + 1
    finally:
        consumer.close()
    return state


_END = -191


def append(cluster: Cluster, changes: Iterable[Change]) -> None:
    """Append changes, and return when they are durable.

    Raises:
        KafkaError: no broker answers, the topic does not exist, or the user may not write to it.
    """
    failures: list[KafkaException] = []

    def delivered(error: object, _message: object) -> None:
        if error is not None:
            failures.append(KafkaException(error))

    producer = cluster.producer(cluster.connection(), acks="all")
    with cluster.errors(f'write to topic "{SECURITY_TOPIC}"'):
        for change in changes:
            record = encode(change)
            producer.produce(
                SECURITY_TOPIC, record.value, record.key, partition=0, on_delivery=delivered
            )
        if producer.flush(_TIMEOUT_S):
            raise no_answer()
        if failures:
            raise _refused(failures[0]) or failures[0]


def _refused(failure: KafkaException) -> KafkaError | None:
    """Return the error if the user has no right to change the topic, else None."""
    if failure.args[0].code() != _NOT_ALLOWED:
        return None
    return KafkaError(
        f'could not write to topic "{SECURITY_TOPIC}"',
        code=_NOT_ALLOWED,
        detail="Changing roles, tokens and rules about subjects needs ALTER on the cluster.",
        hint="Log in as an administrator.",
    )


def no_answer() -> KafkaError:
    return KafkaError(
        f'no answer about topic "{SECURITY_TOPIC}"',
        code=-185,
        retriable=True,
        hint="Check that the user may administer the cluster, and that the broker has the setting "
        "authorizer.class.name=acl: without it, a broker keeps no roles, tokens and rules.",
    )


def _ensure_topic(consumer: Consumer, cluster: Cluster) -> None:
    found = cluster.ask(lambda timeout_s: consumer.list_topics(timeout=timeout_s))
    if SECURITY_TOPIC not in found.topics:
        raise KafkaError(
            f'topic "{SECURITY_TOPIC}" does not exist, or the user may not see it',
            code=_UNKNOWN_TOPIC,
            hint="Log in as an administrator. The topic is created with the first user.",
        )


def _apply(state: SecurityState, message: Message) -> None:
    key, value = message.key(), message.value()
    change = decode(
        key if isinstance(key, bytes) else None, value if isinstance(value, bytes) else None
    )
    if change is not None:
        state.apply(change)
