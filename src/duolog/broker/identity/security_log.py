"""The topic `__security`: changes are appended to it, and count once they are durable.

    changes ─▶ records ─▶ on the disk ─▶ state ─▶ answer
    a client's records ─▶ checked ─▶ on the disk ─▶ state

The topic has one partition, so that changes have one order. It is created with its first record
and replayed before the broker listens. If a record cannot be read, the broker does not start: a
lost rule could open what it protects.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from duolog.core.errors import KafkaError
from duolog.core.units import MIB
from duolog.protocol.error_codes import ErrorCode
from duolog.record.batch import TRANSACTIONAL_BIT, read_header, whole_batches
from duolog.record.errors import CorruptBatch
from duolog.record.records import Record, decode_records, encode_batch
from duolog.security.authorization.acl_authorizer import SECURITY_TOPIC
from duolog.security.changes.client_records import check_client_record
from duolog.security.records.records import Change, InvalidSecurityRecord, decode_stored, encode

if TYPE_CHECKING:
    from duolog.broker.identity.needs import Broker
    from duolog.security.state.security_state import SecurityState

logger = logging.getLogger(__name__)

CONFIGS: Final = {
    "cleanup.policy": "compact",
    "compression.type": "uncompressed",
    # Not the broker's, by which one could keep rights from being taken away.
    "max.message.bytes": str(MIB),
    "segment.bytes": str(16 * MIB),
}
_READ_BYTES: Final = MIB
_RECORDS_MAX: Final = 1000
"""Records that a client may append in one batch."""
_CLIENT_BYTES_MAX: Final = MIB
"""The plain size of such a batch: it is opened on the event loop."""

Done = Callable[[Exception | None], None]


class SecurityLog:
    """The topic of one broker; it is a waiter of its partition, which reports its growth.

    `on_change` is called after each change of the state.
    """

    def __init__(
        self, broker: "Broker", state: "SecurityState", on_change: Callable[[Change], None]
    ) -> None:
        self._broker = broker
        self._state = state
        self._on_change = on_change
        self._next_offset = 0
        self._follows = False

    def load(self) -> None:
        """Replay the topic if it exists, once.

        Raises:
            LogError: a record cannot be read, or the partition is damaged.
        """
        if SECURITY_TOPIC in self._broker.topics and not self._follows:
            self._follow()
            self._next_offset = self._broker.log(SECURITY_TOPIC, 0).log_start_offset
            self._catch_up()

    def append(self, changes: Sequence[Change], done: Done) -> None:
        """Append changes; `done` is called when they are durable and in the state."""
        if not changes:
            done(None)
            return
        self.ensure_topic()
        now_ms = self._broker.clock.now_ms()
        records = (encode(change) for change in changes)
        rows = [
            Record(index, now_ms, record.key, record.value) for index, record in enumerate(records)
        ]

        def on_durable(error: Exception | None) -> None:
            if error is None:
                self._catch_up()
            done(error)

        self._broker.append_internal(SECURITY_TOPIC, 0, encode_batch(rows), on_durable)

    def check(self) -> None:
        """Apply what was appended: a waiter's callback."""
        self._catch_up()

    def ensure_topic(self) -> None:
        """Create the topic if it does not exist."""
        if SECURITY_TOPIC not in self._broker.topics:
            self._broker.create_topic(SECURITY_TOPIC, 1, dict(CONFIGS))
        self._follow()

    def _follow(self) -> None:
        if not self._follows:
            self._follows = True
            self._broker.topics.find(SECURITY_TOPIC).partitions[0].waiters.add(self)

    def _catch_up(self) -> None:
        """Apply all durable records that are not in the state yet."""
        log = self._broker.log(SECURITY_TOPIC, 0)
        end = log.high_watermark
        if self._next_offset < end:
            self._broker.rights_changed()
        while self._next_offset < end:
            data = log.read_bytes(self._next_offset, _READ_BYTES, up_to_offset=end)
            if not data:  # Compaction has left a hole up to there.
                self._next_offset = end
                return
            for header, batch in whole_batches(data):
                if not header.control:
                    for record in decode_records(batch):
                        if record.offset >= self._next_offset:
                            self._apply(record)
                self._next_offset = header.next_offset

    def _apply(self, record: Record) -> None:
        change = decode_stored(record.key, record.value, record.offset)
        if change is not None:
            self._state.apply(change)
            self._on_change(change)


def check_client_batch(batch: memoryview) -> list[Change]:
    """Return the changes of a batch that a client appends to the topic.

    Raises:
        KafkaError: a record is malformed, or clients may not append it.
    """
    header = read_header(batch)
    if header.control or header.attributes & TRANSACTIONAL_BIT:
        raise KafkaError(
            f"{SECURITY_TOPIC} takes no transactional records", code=ErrorCode.INVALID_RECORD
        )
    changes: list[Change] = []
    for record in _opened(batch):
        if len(changes) >= _RECORDS_MAX:
            raise KafkaError(
                f"a batch for {SECURITY_TOPIC} has at most {_RECORDS_MAX} records",
                code=ErrorCode.INVALID_RECORD,
            )
        try:
            changes.append(check_client_record(record.key, record.value))
        except InvalidSecurityRecord as error:
            raise KafkaError(error.message, code=ErrorCode.INVALID_RECORD) from None
    return changes


def _opened(batch: memoryview) -> Iterator[Record]:
    try:
        yield from decode_records(batch, _CLIENT_BYTES_MAX)
    except CorruptBatch as error:
        raise KafkaError(
            f"a batch for {SECURITY_TOPIC} cannot be read",
            code=ErrorCode.INVALID_RECORD,
            detail=error.detail or error.message,
        ) from error
