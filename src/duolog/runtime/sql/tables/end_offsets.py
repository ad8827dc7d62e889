"""Ask the broker for end offsets and topic ids, at once for all answers that wait.

An answer that arrives while a request is under way waits for the next one, which then serves all
answers that have arrived meanwhile: the request is always sent after the answer was asked for.

Threads: any.
"""

import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka import KafkaError as ClientError
from confluent_kafka.admin import OffsetSpec

from duolog.core.errors import KafkaError
from duolog.runtime.renewed_admin import STALE, RenewedAdmin
from duolog.runtime.topic_states import (
    PAUSE_S,
    STARTING_S,
    StatesRequest,
    TopicState,
    refusal,
)
from duolog.security.clients.brokers import Brokers

_TIMEOUT_S: Final = 15.0

Place = tuple[str, int]
"""Topic and partition."""


@dataclass(frozen=True, slots=True)
class Ends:
    """End offsets, and the time before which they were asked for."""

    offsets: Mapping[Place, int]
    """Without partitions that a topic does not have, if its state was asked for, too."""
    asked_at_s: float
    """By `time.monotonic`."""
    topics: Mapping[str, TopicState] = field(default_factory=dict)
    """The topics of the partitions, if their states were asked for, too."""

    def of(self, topic: str) -> dict[int, int]:
        """Return the end offsets of a topic by partition."""
        return {at: offset for (name, at), offset in self.offsets.items() if name == topic}


@dataclass(slots=True)
class _Round:
    """A request, and the answers that wait for it."""

    wanted: set[Place] = field(default_factory=set)
    waiting: int = 0
    found: "_Found | None" = None
    raised: BaseException | None = None

    @property
    def done(self) -> bool:
        return self.found is not None or self.raised is not None


class Found(NamedTuple):
    """The answer of a broker: values, or reasons of refusals."""

    offsets: Mapping[Place, int | KafkaError]
    topics: Mapping[str, TopicState | KafkaError]


@dataclass(frozen=True, slots=True)
class _Found:
    answer: Found
    asked_at_s: float


Request = Callable[[Collection[Place]], Found]


class EndOffsets:
    """End offsets of any topic partitions.

    Args:
        request: asks the broker for them.
    """

    def __init__(self, request: Request) -> None:
        self._request = request
        self._changed = threading.Condition()
        self._next = _Round()
        self._is_asking = False

    def of(self, places: Collection[Place]) -> Ends:
        """Return end offsets as of now or later.

        Raises:
            KafkaError: the broker does not answer, or refuses.
        """
        wanted = set(places)
        with self._changed:
            mine = self._next
            mine.wanted |= wanted
            mine.waiting += 1
            while self._is_asking and not mine.done:
                self._changed.wait()
            leads = not mine.done
            if leads:
                self._is_asking, self._next = True, _Round()
        if leads:
            self._ask(mine)
        if mine.found is None:
            assert mine.raised is not None
            raise mine.raised
        return _ends(wanted, mine.found)

    def _ask(self, mine: _Round) -> None:
        asked_at_s = time.monotonic()
        try:
            mine.found = _Found(self._request(mine.wanted), asked_at_s)
        except BaseException as error:
            # Ctrl-C in this thread is not raised in the others.
            mine.raised = error if isinstance(error, Exception) else _interrupted()
            raise
        finally:
            with self._changed:
                self._is_asking = False
                self._changed.notify_all()


def _ends(wanted: set[Place], found: _Found) -> Ends:
    """Return what one of the answers that wait has asked for."""
    topics: dict[str, TopicState] = {}
    for topic in {name for name, _ in wanted} & found.answer.topics.keys():
        state = found.answer.topics[topic]
        if isinstance(state, KafkaError):
            raise state
        topics[topic] = state
    offsets: dict[Place, int] = {}
    for place in wanted:
        offset = found.answer.offsets[place]
        topic, partition = place
        if topic in topics and partition not in topics[topic].partitions:
            # A topic that was created again may have fewer.
            continue
        if isinstance(offset, KafkaError):
            raise offset
        offsets[place] = offset
    return Ends(offsets, found.asked_at_s, topics)


def _is_starting(found: Found) -> bool:
    """Return true if offsets are refused of a partition that exists: it was just created."""
    return any(
        isinstance(offset, KafkaError)
        and offset.code == ClientError.UNKNOWN_TOPIC_OR_PART
        # Those of all records are asked for after the topic was described.
        and (
            (state := found.topics.get(topic)) is None
            or (isinstance(state, TopicState) and partition in state.partitions)
        )
        for (topic, partition), offset in found.offsets.items()
    )


def _interrupted() -> KafkaError:
    return KafkaError(
        "cannot read end offsets",
        code=ClientError.REQUEST_TIMED_OUT,
        detail="The request was interrupted.",
    )


def requester(brokers: Brokers, *, committed: bool) -> Request:
    """Return a function that asks for end offsets of committed records, or of all records.

    For committed records, it asks for the states of the topics at the same time.
    """
    isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED

    renewed = RenewedAdmin(brokers)

    def listed(places: Collection[Place]) -> Found:
        admin = renewed.client
        topics = {topic for topic, _ in places} if committed else set()
        states = StatesRequest(admin, topics, _TIMEOUT_S)
        answers = admin.list_offsets(
            {TopicPartition(*place): OffsetSpec.latest() for place in places},  # type: ignore[no-untyped-call]
            isolation_level=isolation,
            request_timeout=_TIMEOUT_S,
        )
        offsets: dict[Place, int | KafkaError] = {}
        for at, answer in answers.items():
            try:
                offsets[at.topic, at.partition] = answer.result(_TIMEOUT_S).offset
            except (KafkaException, TimeoutError) as error:
                offsets[at.topic, at.partition] = refusal(at.topic, error)
        return Found(offsets, states.found())

    def request(places: Collection[Place]) -> Found:
        if not places:
            return Found({}, {})
        found = listed(places)
        refused = [*found.offsets.values(), *found.topics.values()]
        if any(isinstance(one, KafkaError) and one.code in STALE for one in refused):
            renewed.renew()
            found = listed(places)
        deadline = time.monotonic() + STARTING_S
        while _is_starting(found) and time.monotonic() < deadline:
            time.sleep(PAUSE_S)
            found = listed(places)
        return found

    return request
