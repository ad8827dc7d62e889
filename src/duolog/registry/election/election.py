"""Elect one leader through an ordinary consumer group.

Every registry of a group subscribes to the topic, which has one partition. The member that owns the
partition is the leader. Its client id is its URL, so that the others find it by describing the
group (`leaders.py`). Assignment is cooperative and sticky: a registry that joins takes nothing away
from the leader.

Ownership is only a hint that a member should lead. What guarantees a single writer is the
transactional id of `store/writer.py`.

Thread: its own. `gained` and `lost` are called from it, and do not block.
"""

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka import KafkaError as ClientError

from duolog.registry.store.clients import KafkaOptions

logger = logging.getLogger(__name__)

SESSION_S: Final = 10.0
_POLL_S: Final = 0.2
_RETRY_S: Final = 1.0
_FOREIGN_GROUP: Final = frozenset({23, 26})
"""INCONSISTENT_GROUP_PROTOCOL, also if another kind of registry uses the group."""


class Election:
    """A member of the group.

    Args:
        url: where other registries reach this one.
        session_s: after this time without a sign of life, a leader is replaced.
        gained: called when this registry should lead.
        lost: called when it should not lead any more.
    """

    def __init__(
        self,
        options: KafkaOptions,
        url: str,
        *,
        gained: Callable[[], None],
        lost: Callable[[], None],
        session_s: float = SESSION_S,
    ) -> None:
        self._options = options
        self._gained = gained
        self._lost = lost
        self._stop = threading.Event()
        session_ms = int(session_s * 1000)
        self._consumer = Consumer(
            options.client(
                {
                    "group.id": options.group,
                    "partition.assignment.strategy": "cooperative-sticky",
                    "session.timeout.ms": session_ms,
                    "heartbeat.interval.ms": max(session_ms // 5, 100),
                    "enable.auto.commit": False,
                    "auto.offset.reset": "latest",
                    "allow.auto.create.topics": False,
                    "client.id": url,
                }
            )
        )
        self._thread = threading.Thread(target=self._run, name="registry-election", daemon=True)

    def start(self) -> None:
        """Join the group."""
        self._thread.start()

    def stop(self) -> None:
        """Leave the group, so that another member leads at once."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            self._consumer.subscribe(
                [self._options.topic],
                on_assign=self._on_assign,
                on_revoke=self._on_revoke,
                on_lost=self._on_revoke,
            )
            while not self._stop.is_set():
                message = self._consumer.poll(_POLL_S)
                error = None if message is None else message.error()
                if error is not None:
                    self._report(error)
                    self._stop.wait(_RETRY_S)
        except Exception:
            logger.exception("the registry no longer takes part in elections")
        finally:
            self._lost()
            with suppress(KafkaException, RuntimeError):
                self._consumer.close()

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        consumer.incremental_assign(partitions)
        consumer.pause(partitions)  # The follower reads the records.
        if partitions:
            self._gained()

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        if partitions:
            self._lost()
        with suppress(KafkaException):
            consumer.incremental_unassign(partitions)

    def _report(self, error: ClientError) -> None:
        if error.code() in _FOREIGN_GROUP:
            logger.error(
                "cannot take part in elections: group has members of another kind",
                extra={"group": self._options.group, "reason": error.str()},
            )
        else:
            logger.warning("election is disturbed", extra={"reason": error.str()})
