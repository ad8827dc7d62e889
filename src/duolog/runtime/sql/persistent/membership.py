"""Take part in running the queries of a service, as a member of a consumer group.

    join ─▶ places are assigned ─▶ others join or leave: places are added or released ─▶ close
                                └▶ the broker misses heartbeats: all places are lost at once

The group `duolog-ksql-<service id>` assigns the partitions of the topic of places. Servers share
them. A shell, a file of statements or a program takes all places, and only if there is no other
member; a server waits until it has ended. A member that has crashed leaves after the session
timeout, a stopped one at once.

The assignment is cooperative: a place stays with its member until that member releases it, which it
does only after the queries of the place have stopped. The broker then assigns it to another one.

Threads: one, which keeps the membership alive, and calls the member's `Duties`.
Source: KIP-429 (incremental cooperative rebalancing).
"""

import logging
import os
import socket
import threading
import time
from typing import Final, Protocol

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka import KafkaError as ClientError

from duolog.core.errors import KafkaError
from duolog.runtime.errors import BrokerUnavailable
from duolog.runtime.sql.errors import ServiceInUse
from duolog.runtime.sql.persistent.members import Member, group_of, members_of_service
from duolog.runtime.sql.persistent.places import make_places, places_topic_of
from duolog.security.clients.brokers import Brokers

logger: Final = logging.getLogger(__name__)

SESSION_TIMEOUT_S: Final = 6.0
_PATIENCE_S: Final = SESSION_TIMEOUT_S + 6.0
_ASK_S: Final = 1.0
_POLL_S: Final = 0.2
_LEAVE_S: Final = 3.0
_REFRESH_S: Final = 10.0
_MAKE_AGAIN_S: Final = 5.0
_NO_TOPIC: Final = (ClientError.UNKNOWN_TOPIC_OR_PART, ClientError._UNKNOWN_TOPIC)  # noqa: SLF001


class Duties(Protocol):
    """Reactions to changes of the places of a member; its thread calls them one at a time."""

    def gain(self, membership: "Membership", places: frozenset[int]) -> None:
        """Run the queries of these places, too; must not block."""

    def release(self, membership: "Membership", places: frozenset[int]) -> None:
        """Stop the queries of these places; return when none of them runs any more."""

    def lose(self, membership: "Membership") -> None:
        """Stop all queries at once: the broker assigns all places to others."""


class Membership:
    """A membership of a service; create a new one after it was closed or lost.

    Args:
        bootstrap: the cluster's servers.
        service_id: the service, whose topic of places exists.
        duties: called by the membership's thread.
        shares: share the places with other servers; else take all or none.
        address: where clients reach this server; empty for others.
    """

    def __init__(
        self,
        bootstrap: Brokers | str,
        service_id: str,
        duties: Duties,
        *,
        shares: bool = False,
        address: str = "",
    ) -> None:
        self._brokers = Brokers.of(bootstrap)
        self._service_id = service_id
        self._topic = places_topic_of(service_id)
        self._duties = duties
        self.member = Member.named(
            socket.gethostname(), os.getpid(), id(self), shares=shares, address=address
        )
        self._places: frozenset[int] = frozenset()
        self._make_again_at = 0.0
        self._gained = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def name(self) -> str:
        """The name of this member."""
        return self.member.name

    @property
    def places(self) -> frozenset[int]:
        """The places that are assigned to this member now."""
        return self._places

    def give_up(self) -> None:
        """Abort `acquire`."""
        self._closing.set()

    def join(self) -> None:
        """Take part as soon as the broker assigns places; return at once."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="duolog-sql-member", daemon=True)
            self._thread.start()

    def wait_gained(self, timeout_s: float) -> bool:
        """Wait until places were assigned; return false after the timeout."""
        return self._gained.wait(timeout_s)

    def acquire(self, *, waits: bool = True) -> None:
        """Take all places; waits for the session timeout of a crashed member.

        Args:
            waits: false to raise at once if there is another member, even if it may have crashed.

        Raises:
            ServiceInUse: another member is running.
            KafkaError: the broker does not answer.
        """
        try:
            self._wait_alone(time.monotonic() + (_PATIENCE_S if waits else 0.0))
            self.join()
            self._wait_assigned(time.monotonic() + 2 * _PATIENCE_S)
        except BaseException:
            # A member that stays would get places, and keep their queries from running.
            self.close()
            raise

    def others(self) -> list[Member]:
        """Return the other members of the service.

        Raises:
            KafkaError: the broker does not answer.
        """
        found = members_of_service(self._brokers, self._service_id)
        return [one for one in found if one.name != self.name]

    def close(self) -> None:
        """Leave the group; the queries have stopped before. Does nothing if closed."""
        self._closing.set()
        thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            # Without a broker, a client may wait long to leave its group.
            thread.join(_LEAVE_S)

    def _wait_alone(self, deadline: float) -> None:
        while others := self.others():
            running = next((one for one in others if one.lives_here), None)
            if running is not None or time.monotonic() > deadline:
                raise ServiceInUse(self._service_id, str(running or others[0]))
            if self._closing.wait(_ASK_S):
                raise ServiceInUse(self._service_id, "")

    def _wait_assigned(self, deadline: float) -> None:
        while not self._closing.is_set() and not self._gained.wait(_ASK_S):
            if time.monotonic() > deadline:
                raise ServiceInUse(self._service_id, "")
        if self._closing.is_set():
            raise ServiceInUse(self._service_id, "")
        # Another one may have joined at the same moment. A server stays, and of two others the one
        # whose name comes first.
        for one in self.others():
            if one.shares or one.name < self.name:
                raise ServiceInUse(self._service_id, str(one))

    def _run(self) -> None:
        consumer = Consumer(
            self._brokers.client(
                {
                    "group.id": group_of(self._service_id),
                    "client.id": self.name,
                    "partition.assignment.strategy": "cooperative-sticky",
                    "session.timeout.ms": int(SESSION_TIMEOUT_S * 1000),
                    "heartbeat.interval.ms": 1500,
                    # Notice in time that the topic was deleted, and that it is there again.
                    "topic.metadata.refresh.interval.ms": int(_REFRESH_S * 1000),
                    # Releasing places may take long: a query that starts cannot be stopped before.
                    "max.poll.interval.ms": 86_400_000,
                    "enable.auto.commit": False,
                    "log_level": 0,
                }
            )
        )
        consumer.subscribe(
            [self._topic], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost
        )
        try:
            while not self._closing.is_set():
                # There are no records; this consumer only stays a member.
                message = consumer.poll(_POLL_S)
                if message is not None and (error := message.error()) is not None:
                    self._note_error(error)
        except Exception:
            logger.exception("the membership of a service has failed")
            # Before the group gives the places to others.
            if not self._closing.is_set():
                self._duties.lose(self)
        finally:
            self._places = frozenset()
            consumer.close()

    def _note_error(self, error: ClientError) -> None:
        """Create the topic of places again if it was deleted: its places would be revoked."""
        if error.code() not in _NO_TOPIC or time.monotonic() < self._make_again_at:
            return
        self._make_again_at = time.monotonic() + _MAKE_AGAIN_S
        logger.warning("the topic of places is missing; creating it", extra={"topic": self._topic})
        try:
            make_places(self._brokers, self._service_id)
        except (BrokerUnavailable, KafkaError) as refusal:
            logger.warning("cannot create the topic of places: %s", refusal.message)

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        if partitions:
            consumer.incremental_assign(partitions)
            consumer.pause(partitions)
            gained = _places(partitions)
            self._places |= gained
            self._duties.gain(self, gained)
            self._gained.set()

    def _revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        if partitions:
            released = _places(partitions)
            # After `close`, all queries have stopped.
            if not self._closing.is_set():
                self._duties.release(self, released)
            self._places -= released
            consumer.incremental_unassign(partitions)

    def _lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        if partitions:
            self._places = frozenset()
            if not self._closing.is_set():
                self._duties.lose(self)
            consumer.incremental_unassign(partitions)


def _places(partitions: list[TopicPartition]) -> frozenset[int]:
    return frozenset(one.partition for one in partitions)
