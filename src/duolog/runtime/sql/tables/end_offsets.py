"""Ask the broker for end offsets, in one request for all answers that wait.

An answer that arrives while a request is under way waits for the next one, which then serves all
answers that have arrived meanwhile: the request is always sent after the answer was asked for.

Threads: any.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka import KafkaError as ClientError
from confluent_kafka.admin import OffsetSpec

from duolog.core.errors import KafkaError
from duolog.runtime.renewed_admin import STALE, RenewedAdmin
from duolog.security.clients.brokers import Brokers

_TIMEOUT_S: Final = 15.0

Place = tuple[str, int]
"""Topic and partition."""


@dataclass(frozen=True, slots=True)
class Ends:
    """End offsets, and the time before which they were asked for."""

    offsets: Mapping[Place, int]
    asked_at_s: float
    """By `time.monotonic`."""

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


@dataclass(frozen=True, slots=True)
class _Found:
    offsets: dict[Place, int | KafkaError]
    asked_at_s: float


Request = Callable[[Iterable[Place]], dict[Place, int | KafkaError]]


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

    def of(self, places: Iterable[Place]) -> Ends:
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
        offsets: dict[Place, int] = {}
        for place in wanted:
            found = mine.found.offsets[place]
            if isinstance(found, KafkaError):
                raise found
            offsets[place] = found
        return Ends(offsets, mine.found.asked_at_s)

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


def _interrupted() -> KafkaError:
    return KafkaError(
        "cannot read end offsets",
        code=ClientError.REQUEST_TIMED_OUT,
        detail="The request was interrupted.",
    )


def requester(brokers: Brokers, *, committed: bool) -> Request:
    """Return a function that asks for end offsets of committed records, or of all records."""
    isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED

    renewed = RenewedAdmin(brokers)

    def listed(asked: dict[TopicPartition, OffsetSpec]) -> dict[Place, int | KafkaError]:
        found: dict[Place, int | KafkaError] = {}
        answers = renewed.client.list_offsets(
            asked, isolation_level=isolation, request_timeout=_TIMEOUT_S
        )
        for at, answer in answers.items():
            try:
                found[at.topic, at.partition] = answer.result(_TIMEOUT_S).offset
            except (KafkaException, TimeoutError) as error:
                found[at.topic, at.partition] = _refusal(at.topic, error)
        return found

    def request(places: Iterable[Place]) -> dict[Place, int | KafkaError]:
        asked = {TopicPartition(*place): OffsetSpec.latest() for place in places}  # type: ignore[no-untyped-call]
        if not asked:
            return {}
        found = listed(asked)
        if any(isinstance(one, KafkaError) and one.code in STALE for one in found.values()):
            renewed.renew()
            found = listed(asked)
        return found

    return request


def _refusal(topic: str, error: BaseException) -> KafkaError:
    refusal = error.args[0] if isinstance(error, KafkaException) else None
    return KafkaError(
        f'cannot read topic "{topic}"',
        code=refusal.code() if refusal else ClientError.REQUEST_TIMED_OUT,
        detail=f"{refusal.str() if refusal else error}.",
    )
