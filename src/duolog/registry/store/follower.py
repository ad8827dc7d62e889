"""Read the topic in order: first to its end, then for as long as the registry runs.

    load    a client of its own, whose fetches hardly wait: librdkafka reports the end of a topic
            when a fetch returns no records
    follow  a client whose fetches wait for records; it starts where `load` has ended

Only committed records are delivered, so that a record of a leader that was fenced in the middle of
a transaction never becomes part of the state.

Threads: `load` runs in the caller's thread, before `start`. Then the follower's own thread calls
`deliver`, until `stop`.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Message, TopicPartition
from confluent_kafka import KafkaError as ClientError

from duolog.registry.store.clients import REQUEST_TIMEOUT_S, KafkaOptions, Setting, unavailable
from duolog.registry.store.errors import StoreUnavailable
from duolog.registry.store.stored import StoredRecord

logger = logging.getLogger(__name__)

Deliver = Callable[[Sequence[StoredRecord]], None]

_BATCH: Final = 2000
_POLL_S: Final = 0.1
PROBE_S: Final = 5.0
_PROBE_WAIT_S: Final = 3.0
"""A stop waits for a probe, so it is shorter than other requests."""
_LOADING_WAIT_MS: Final = 10
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
        reached: called every `PROBE_S` seconds or so: whether the topic can be read now.
    """

    def __init__(
        self,
        options: KafkaOptions,
        deliver: Deliver,
        failed: Callable[[Exception], None],
        reached: Callable[[bool], None] | None = None,
    ) -> None:
        self._options = options
        self._deliver = deliver
        self._failed = failed
        self._reached = reached
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._next_offset = OFFSET_BEGINNING
        self._consumer: Consumer | None = None

    def load(self) -> None:
        """Deliver all records that exist now.

        Raises:
            StoreUnavailable: the broker does not deliver them.
        """
        doing = f"read topic {self._options.topic}"
        try:
            consumer = self._open({"fetch.wait.max.ms": _LOADING_WAIT_MS})
            try:
                while not self._take(messages := _next(consumer)):
                    if not messages and not self._is_reachable(consumer):
                        raise StoreUnavailable(f"could not {doing}", code=-195, retriable=True)
            finally:
                consumer.close()
            self._consumer = self._open({})
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
        if self._consumer is not None:
            with suppress(KafkaException, RuntimeError):
                self._consumer.close()

    def _open(self, settings: Mapping[str, Setting]) -> Consumer:
        """Return a client that reads from the next offset."""
        consumer = Consumer(
            self._options.client(
                {
                    # Required by the client, but no group is joined and no offset committed.
                    "group.id": f"{self._options.group}-follower",
                    "enable.auto.commit": False,
                    "enable.auto.offset.store": False,
                    "isolation.level": "read_committed",
                    "auto.offset.reset": "error",
                    "enable.partition.eof": True,
                    "allow.auto.create.topics": False,
                    "check.crcs": True,
                    "fetch.error.backoff.ms": 50,
                    "fetch.queue.backoff.ms": 20,
                    **settings,
                }
            )
        )
        # librdkafka looks once a second for the leader of a partition that it does not know.
        with suppress(KafkaException):
            consumer.list_topics(self._options.topic, timeout=REQUEST_TIMEOUT_S)
        consumer.assign([TopicPartition(self._options.topic, 0, self._next_offset)])
        return consumer

    def _is_reachable(self, consumer: Consumer, timeout_s: float = REQUEST_TIMEOUT_S) -> bool:
        try:
            consumer.get_watermark_offsets(
                TopicPartition(self._options.topic, 0), timeout=timeout_s
            )
        except KafkaException:
            return False
        return True

    def _run(self) -> None:
        assert self._consumer is not None, "the topic is loaded before it is followed"
        try:
            probe_at = 0.0
            while not self._stop.is_set():
                self._take(_next(self._consumer))
                if self._reached is not None and time.monotonic() >= probe_at:
                    self._reached(self._is_reachable(self._consumer, _PROBE_WAIT_S))
                    probe_at = time.monotonic() + PROBE_S
        except Exception as error:  # The edge of the thread.
            logger.exception("the registry no longer follows its topic")
            self._failed(error)

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
            self._next_offset = records[-1].offset + 1
            self._deliver(records)
        return at_end


def _next(consumer: Consumer) -> list[Message]:
    """Return the next message, with those that have arrived after it; none after `_POLL_S`."""
    # With a timeout, `consume` waits for all messages that it may return, or for the timeout: a
    # writer would wait that long for each record.
    first = consumer.poll(_POLL_S)
    return [] if first is None else [first, *consumer.consume(_BATCH, timeout=0)]


def _record(message: Message) -> StoredRecord:
    _, timestamp_ms = message.timestamp()
    offset = message.offset()
    assert offset is not None, "a record that was read has an offset"
    return StoredRecord(offset, message.key(), message.value(), timestamp_ms)
