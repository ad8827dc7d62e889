"""Read and write the topic `__security` of a cluster, for what no Kafka API carries.

The caller makes the clients and translates their errors: a command waits otherwise than a server.
"""

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

from duolog.core.errors import KafkaError
from duolog.security.authorization.acl_authorizer import SECURITY_TOPIC
from duolog.security.clients.brokers import Brokers
from duolog.security.records.records import Change, decode, encode
from duolog.security.state.security_state import SecurityState

READER: Final = {
    "group.id": "duolog-security",  # The consumer does not join the group.
    "enable.auto.commit": False,
    "enable.partition.eof": True,
}
"""Settings of a consumer for `read_state`."""
UNKNOWN_TOPIC: Final = 3
_TIMEOUT_S: Final = 10.0
_NOT_ALLOWED: Final = 29
_END: Final = -191

T = TypeVar("T")
Ask = Callable[[Callable[[float], T]], T]


def state_of(brokers: Brokers) -> SecurityState:
    """Return users, rights, roles and tokens of a cluster; raises as `read_state`."""
    consumer = Consumer(brokers.client({**READER, "log_level": 0}))
    try:
        return read_state(consumer, lambda call: call(_TIMEOUT_S))
    except KafkaException as error:
        raise _failed("read", error) from error


def write_to(brokers: Brokers, changes: Iterable[Change]) -> None:
    """Append changes to the topic of a cluster; see `append`."""
    settings = {"acks": "all", "enable.idempotence": True, "log_level": 0}
    try:
        append(Producer(brokers.client(settings)), changes)
    except KafkaException as error:
        raise _failed("write to", error) from error


def read_state(consumer: Consumer, ask: "Ask[object]") -> SecurityState:
    """Return users, rights, roles and tokens as the topic has them, and close the consumer.

    Args:
        consumer: a consumer with the settings `READER`.
        ask: calls a function with the time that it may wait for an answer, in seconds.

    Raises:
        KafkaError: the topic does not exist, or the user may not read it.
        KafkaException: no broker answers.
    """
    state = SecurityState()
    try:
        _ensure_topic(consumer, ask)
        partition = TopicPartition(SECURITY_TOPIC, 0, 0)
        found = ask(lambda timeout_s: consumer.get_watermark_offsets(partition, timeout=timeout_s))
        assert isinstance(found, tuple), found
        low, high = found
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


def append(producer: Producer, changes: Iterable[Change]) -> None:
    """Append changes, and return when they are durable.

    Raises:
        KafkaError: no broker answers in time, or the user may not write to the topic.
        KafkaException: the broker refuses a record for another reason.
    """
    failures: list[KafkaException] = []

    def delivered(error: object, _message: object) -> None:
        if error is not None:
            failures.append(KafkaException(error))

    for change in changes:
        record = encode(change)
        producer.produce(
            SECURITY_TOPIC, record.value, record.key, partition=0, on_delivery=delivered
        )
    if producer.flush(_TIMEOUT_S):
        raise no_answer()
    if failures:
        raise _refused(failures[0]) or failures[0]


def no_answer() -> KafkaError:
    """Return the error of a broker that does not answer about the topic."""
    return KafkaError(
        f'no answer about topic "{SECURITY_TOPIC}"',
        code=-185,
        retriable=True,
        hint="Check that the user may administer the cluster, and that the broker has the setting "
        "authorizer.class.name=acl: without it, a broker keeps no roles, tokens and rules.",
    )


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


def _failed(doing: str, error: KafkaException) -> KafkaError:
    told = error.args[0]
    return KafkaError(
        f'could not {doing} topic "{SECURITY_TOPIC}"',
        code=int(told.code()),
        retriable=bool(told.retriable()),
        detail=f"{told.name()}: {told.str()}",
    )


def _ensure_topic(consumer: Consumer, ask: "Ask[object]") -> None:
    found = ask(lambda timeout_s: consumer.list_topics(timeout=timeout_s))
    if SECURITY_TOPIC not in found.topics:  # type: ignore[attr-defined]  # of confluent-kafka
        raise KafkaError(
            f'topic "{SECURITY_TOPIC}" does not exist, or the user may not see it',
            code=UNKNOWN_TOPIC,
            hint="Log in as an administrator. The topic is created with the first user.",
        )


def _apply(state: SecurityState, message: Message) -> None:
    key, value = message.key(), message.value()
    change = decode(
        key if isinstance(key, bytes) else None, value if isinstance(value, bytes) else None
    )
    if change is not None:
        state.apply(change)
