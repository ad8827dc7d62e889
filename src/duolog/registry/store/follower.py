"""Read the topic in order: first to its end, then for as long as the registry runs.

Only committed records are delivered, so that a record of a leader that was fenced in the middle of
a transaction never becomes part of the state.

Threads: `load` runs in the caller's thread, before `start`. Then the follower's own thread calls
`deliver`, until `stop`.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Message, TopicPartition
from confluent_kafka import KafkaError as ClientError

from duolog.registry.store.clients import REQUEST_TIMEOUT_S, KafkaOptions, unavailable
from duolog.registry.store.errors import StoreUnavailable
from duolog.registry.store.stored import StoredRecord

logger = logging.getLogger(__name__)

Deliver = Callable[[Sequence[StoredRecord]], None]

_BATCH: Final = 2000
_POLL_S: Final = 0.1
_LOAD_S: Final = 60.0
"""Longest time without any record while the topic is read for the first time."""
_TRANSIENT: Final = frozenset(
    {
        ClientError._ALL_BROKERS_DOWN,  # noqa: SLF001 - librdkafka's own codes have this form
        ClientError._TRANSPORT,  # noqa: SLF001
        ClientError._TIMED_OUT,  # noqa: SLF001
        ClientError._RESOLVE,  # noqa: SLF001
        ClientError.NOT_LEADER_FOR_PARTITION,
        ClientError.LEADER_NOT_AVAILABLE,
        ClientError.UNKNOWN_TOPIC_OR_PART,
        ClientError._UNKNOWN_TOPIC,  # noqa: SLF001
        ClientError._UNKNOWN_PARTITION,  # noqa: SLF001
    }
)
"""librdkafka retries after these."""


class TopicFollower:
    """Delivers the committed records of the topic's only partition.

    Args:
        deliver: gets records in order, in batches.
        failed: called once with the error that ends the thread.
    """

    def __init__(
        self, options: KafkaOptions, deliver: Deliver, failed: Callable[[Exception], None]
    ) -> None:
        self._options = options
        self._deliver = deliver
        self._failed = failed
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._consumer = Consumer(
            options.client(
                {
                    # Required by the client, but no group is joined and no offset committed.
                    "group.id": f"{options.group}-follower",
                    "enable.auto.commit": False,
                    "enable.auto.offset.store": False,
                    "isolation.level": "read_committed",
                    "auto.offset.reset": "error",
                    "enable.partition.eof": True,
                    "allow.auto.create.topics": False,
                    "check.crcs": True,
                    "fetch.error.backoff.ms": 50,
                    "fetch.queue.backoff.ms": 20,
                }
            )
        )

    def load(self) -> None:
        """Deliver all records that exist now.

        Raises:
            StoreUnavailable: the broker does not deliver them.
        """
        start = TopicPartition(self._options.topic, 0, OFFSET_BEGINNING)
        doing = f"read topic {self._options.topic}"
        try:
            self._consumer.assign([start])
            while True:
                messages = self._available()
                if not messages and not self._is_reachable():
                    raise StoreUnavailable(f"could not {doing}", code=-195, retriable=True)
                if self._take(messages):
                    return
        except KafkaException as error:
            raise unavailable(error, doing, self._options) from error

    def start(self) -> None:
        """Follow the topic in a thread from now on."""
        self._thread = threading.Thread(target=self._run, name="registry-follower", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread and close the client."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        with suppress(KafkaException, RuntimeError):
            self._consumer.close()

    def _is_reachable(self) -> bool:
        try:
            self._consumer.get_watermark_offsets(
                TopicPartition(self._options.topic, 0), timeout=REQUEST_TIMEOUT_S
            )
        except KafkaException:
            return False
        return True

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                self._take(self._available())
        except Exception as error:  # The edge of the thread.
            logger.exception("the registry no longer follows its topic")
            self._failed(error)

    def _available(self) -> list[Message]:
        """Return the next messages: wait for the first one, but for no further ones.

        `consume` with a timeout would wait until the batch is full. A write waits for its own
        record, and would take as long as the timeout.
        """
        first = self._consumer.poll(_POLL_S)
        return [] if first is None else [first, *self._consumer.consume(_BATCH, timeout=0)]

    def _take(self, messages: Sequence[Message]) -> bool:
        """Deliver the records; return whether the end of the topic was reached."""
        records, at_end = [], False
        for message in messages:
            if (error := message.error()) is None:
                at_end = False
                records.append(_record(message))
            elif error.code() == ClientError._PARTITION_EOF:  # noqa: SLF001
                at_end = True
            elif error.fatal() or error.code() not in _TRANSIENT:
                raise KafkaException(error)
        if records:
            self._deliver(records)
        return at_end


def _record(message: Message) -> StoredRecord:
    _, timestamp_ms = message.timestamp()
    offset = message.offset()
    assert offset is not None, "a record that was read has an offset"
    return StoredRecord(offset, message.key(), message.value(), timestamp_ms)
