"""Elect the engine that runs the queries of a service, by a consumer group.

The owner is the member of group `duolog-ksql-<service id>` to which the command topic's partition
is assigned. A second engine gets its name. A crashed owner leaves after the group's session
timeout, a stopped one at once. The assignment is cooperative, so a new member does not take the
partition away.

Threads: one, which keeps the membership alive.
"""

import os
import socket
import threading
import time
from collections.abc import Callable
from typing import Final, cast

from confluent_kafka import Consumer, KafkaException, TopicPartition

from duolog.coordinator.consumer_groups.consumer_bytes import read_assignment
from duolog.core.errors import KafkaError
from duolog.core.operating_system.processes import is_alive
from duolog.registry.election.members import members_of
from duolog.runtime.sql.errors import ServiceInUse
from duolog.runtime.topics import admin_of, client_error
from duolog.security.clients.brokers import Brokers

SESSION_TIMEOUT_S: Final = 6.0
_PATIENCE_S: Final = SESSION_TIMEOUT_S + 6.0
_ASK_S: Final = 1.0
_POLL_S: Final = 0.2
_TIMEOUT_S: Final = 10.0
_LEAVE_S: Final = 3.0


class Ownership:
    """The right to run the queries of a service; create a new one after it was closed or lost.

    Args:
        bootstrap: the cluster's servers.
        service_id: the service.
        topic: the command topic, which exists.
        lost: called by the thread when the broker has assigned the partition to another engine.
        gained: called by the thread when this engine has become the owner.
    """

    def __init__(
        self,
        bootstrap: Brokers | str,
        service_id: str,
        topic: str,
        lost: Callable[[], None],
        gained: Callable[[], None] = lambda: None,
    ) -> None:
        self._brokers = Brokers.of(bootstrap)
        self._service_id = service_id
        self._topic = topic
        self._lost = lost
        self._gained = gained
        self._group = _group_of(service_id)
        self.name = f"{socket.gethostname()}/{os.getpid()}/{id(self)}"
        self._owned = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def give_up(self) -> None:
        """Abort `acquire`."""
        self._closing.set()

    @property
    def owned(self) -> bool:
        return self._owned.is_set()

    def stand_by(self) -> None:
        """Become the owner as soon as there is no other; return at once."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="duolog-sql-owner", daemon=True)
            self._thread.start()

    def acquire(self) -> None:
        """Become the owner; waits for the session timeout of a crashed owner.

        Raises:
            ServiceInUse: another engine is the owner and is running.
            KafkaError: the broker does not answer.
        """
        if self.owned:
            return
        self.stand_by()
        try:
            self._wait_owned(time.monotonic() + _PATIENCE_S)
        except BaseException:
            # A member that stays could become the owner, and would keep the queries from running.
            self.close()
            raise

    def _wait_owned(self, deadline: float) -> None:
        while not self._closing.is_set() and not self._owned.wait(_ASK_S):
            owner = self._owner()
            if owner and (_lives_here(owner) or time.monotonic() > deadline):
                raise ServiceInUse(self._service_id, _owner_text(owner))
            if time.monotonic() > deadline + _PATIENCE_S:
                raise ServiceInUse(self._service_id, "")
        if self._closing.is_set():
            raise ServiceInUse(self._service_id, "")

    def close(self) -> None:
        """Release ownership. Does nothing if closed."""
        self._closing.set()
        thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            # Without a broker, a client may wait long to leave its group.
            thread.join(_LEAVE_S)

    def _run(self) -> None:
        consumer = Consumer(
            self._brokers.client(
                {
                    "group.id": self._group,
                    "client.id": self.name,
                    "partition.assignment.strategy": "cooperative-sticky",
                    "session.timeout.ms": int(SESSION_TIMEOUT_S * 1000),
                    "heartbeat.interval.ms": 1500,
                    "max.poll.interval.ms": 86_400_000,
                    "enable.auto.commit": False,
                    "log_level": 0,
                }
            )
        )
        consumer.subscribe(
            [self._topic], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._revoked
        )
        try:
            while not self._closing.is_set():
                # The records are read elsewhere; this consumer only stays a member.
                if (message := consumer.poll(_POLL_S)) is not None and message.error() is None:
                    consumer.pause([TopicPartition(self._topic, 0)])
        finally:
            self._owned.clear()
            consumer.close()

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        if partitions:
            consumer.incremental_assign(partitions)
            consumer.pause(partitions)
            self._owned.set()
            self._gained()

    def _revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        if partitions:
            consumer.incremental_unassign(partitions)
            was_owned = self._owned.is_set()
            self._owned.clear()
            if was_owned and not self._closing.is_set():
                self._lost()

    def _owner(self) -> str:
        """Return the name of another owner; empty if there is none."""
        owner = owner_of(self._brokers, self._service_id)
        return "" if owner == self.name else owner


def owner_of(bootstrap: Brokers | str, service_id: str) -> str:
    """Return the name of the engine that runs the queries of a service; empty if there is none.

    Raises:
        KafkaError: the broker does not answer.
    """
    group = _group_of(service_id)
    admin = admin_of(bootstrap)
    try:
        members = members_of(admin, group, _TIMEOUT_S)
    except KafkaException as error:
        refusal = client_error(error)
        raise KafkaError(
            f'cannot ask for group "{group}"', code=refusal.code(), detail=refusal.str()
        ) from error
    for member in members:
        # The client declares the type as None.
        if any(read_assignment(cast("bytes", member.assignment)).values()):
            return str(member.client_id)
    return ""


def _group_of(service_id: str) -> str:
    return f"duolog-ksql-{service_id}"


def _owner_text(owner: str) -> str:
    host, _, rest = owner.partition("/")
    return f"Process {rest.partition('/')[0]} on host {host}"


def _lives_here(owner: str) -> bool:
    """Return true if an owner is a running process on this machine."""
    host, _, rest = owner.partition("/")
    number = rest.partition("/")[0]
    if host != socket.gethostname() or not number.isdigit():
        return False
    return is_alive(int(number))
