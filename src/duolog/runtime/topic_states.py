"""Ids and partitions of topics, to notice those that were created again or have grown.

A topic that is deleted and created under the same name gets another id; offsets of the first do not
belong to the second. Brokers without topic ids (Kafka before 2.8) report none: then a topic that
was created again is noticed only if it ends before the offsets that were read.

A broker may describe a partition that was just created, and refuse requests for its offsets for
some milliseconds.

Source: KIP-516.
"""

import ctypes
import sys
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException, TopicCollection, Uuid
from confluent_kafka.admin import AdminClient, TopicDescription

from duolog.core.errors import KafkaError
from duolog.runtime.renewed_admin import RenewedAdmin

if TYPE_CHECKING:
    from concurrent.futures import Future

_NO_ID: Final = "AAAAAAAAAAAAAAAAAAAAAA"
"""Sixteen bytes of zero in base64."""
STARTING_S: Final = 5.0
"""Time in which a partition that was created must be ready."""
PAUSE_S: Final = 0.02
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TopicState:
    """A topic as a broker describes it."""

    id: str
    """In Kafka's notation; empty if the broker has no topic ids."""
    partitions: frozenset[int]

    def is_same(self, topic_id: str) -> bool:
        """Return false if a topic with this id is another one."""
        return not self.id or not topic_id or self.id == topic_id


class StatesRequest:
    """A request for the states of topics that was sent; it does not create topics.

    Args:
        admin: sends it.
        topics: names.
        timeout_s: time limit.
    """

    def __init__(self, admin: AdminClient, topics: Collection[str], timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._futures: dict[str, Future[TopicDescription]] = (
            admin.describe_topics(TopicCollection(sorted(topics)), request_timeout=timeout_s)
            if topics
            else {}
        )

    def found(self) -> dict[str, TopicState | KafkaError]:
        """Wait for the answer, and return the state of each topic, or the reason of a refusal."""
        found: dict[str, TopicState | KafkaError] = {}
        for topic, future in self._futures.items():
            try:
                found[topic] = _state(future.result(self._timeout_s))
            except (KafkaException, TimeoutError) as error:
                found[topic] = refusal(topic, error)
        return found


def state_of(admin: AdminClient, topic: str, timeout_s: float) -> TopicState:
    """Return the state of one topic.

    Raises:
        KafkaException, TimeoutError: there is no such topic, or no broker answers.
    """
    asked = TopicCollection([topic])
    future = admin.describe_topics(asked, request_timeout=timeout_s)[topic]
    return _state(future.result(timeout_s))


def when_ready(
    admin: RenewedAdmin, topic: str, timeout_s: float, ask: Callable[[AdminClient], T]
) -> T:
    """Return what a request for offsets returns; repeat it while partitions are not ready.

    Raises:
        KafkaException, TimeoutError: as `ask` does, and `state_of`.
    """
    deadline = time.monotonic() + STARTING_S
    while True:
        try:
            return admin.ask(ask)
        except KafkaException as error:
            code = error.args[0].code()
            if code != ClientError.UNKNOWN_TOPIC_OR_PART or time.monotonic() >= deadline:
                raise
        # If the topic does not exist, this raises.
        admin.ask(lambda client: state_of(client, topic, timeout_s))
        time.sleep(PAUSE_S)


def topic_id_of(described: TopicDescription) -> str:
    """Return the id of a topic in Kafka's notation; call it once for each description.

    confluent-kafka 2.16 never frees the ids that it returns, 72 bytes each: the reference that it
    keeps is given back here, if it is there. A server asks for thousands of ids per second.
    """
    found = str(described.topic_id)
    if _references(described) > _references(_HOLDER):
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(described.topic_id))
    return found


def _references(holder: Any) -> int:
    return sys.getrefcount(holder.topic_id)


_HOLDER: Final = SimpleNamespace(topic_id=Uuid(1, 2))
"""Shows how many references an id has that nothing else refers to."""


def _state(described: TopicDescription) -> TopicState:
    topic_id = topic_id_of(described)
    partitions = frozenset(one.id for one in described.partitions)
    return TopicState("" if topic_id.rstrip("=") == _NO_ID else topic_id, partitions)


def refusal(topic: str, error: BaseException) -> KafkaError:
    """Return the error of a topic that cannot be read."""
    given = error.args[0] if isinstance(error, KafkaException) else None
    return KafkaError(
        f'cannot read topic "{topic}"',
        code=given.code() if given else ClientError.REQUEST_TIMED_OUT,
        detail=f"{given.str() if given else error}.",
    )
