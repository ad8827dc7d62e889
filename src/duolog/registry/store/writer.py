"""Append records as the only writer of the topic.

All writers have the same transactional id. A new writer therefore fences every older one: the
broker aborts its open transaction and refuses all that it sends later, even if it was paused for an
hour and still believes that it is the leader. A request's records are one transaction, and either
all of them are read or none.

    open    init_transactions: fences older writers, and completes or aborts their transactions
    append  begin, produce each record, commit; returns the offset of the last record

Thread: one at a time.

Source: KIP-98. Karapace and Confluent's registry elect a leader, but do not fence its predecessor.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException, Message, Producer

from duolog.registry.store.clients import KafkaOptions, client_error
from duolog.registry.store.errors import (
    RecordTooLarge,
    StoreUnavailable,
    WriterFenced,
    WriteUncertain,
)
from duolog.registry.store.stored import NewRecord

OPEN_S: Final = 30.0
COMMIT_S: Final = 10.0
_TRANSACTION_MS: Final = 15_000
_FENCED: Final = frozenset(
    {
        ClientError._FENCED,  # noqa: SLF001 - librdkafka's own codes have this form
        ClientError.PRODUCER_FENCED,
        ClientError.INVALID_PRODUCER_EPOCH,
    }
)
_TOO_LARGE: Final = frozenset({ClientError.MSG_SIZE_TOO_LARGE, 18})
"""MESSAGE_TOO_LARGE and RECORD_LIST_TOO_LARGE."""


class FencedWriter:
    """A transactional producer; useless after any error.

    Raises:
        StoreUnavailable: the broker does not answer in time, or refuses.
    """

    def __init__(self, options: KafkaOptions) -> None:
        self._options = options
        self._producer = Producer(
            options.client(
                {
                    "transactional.id": f"{options.group}-{options.topic}-writer",
                    "transaction.timeout.ms": _TRANSACTION_MS,
                    "linger.ms": 0,
                    "acks": "all",
                }
            )
        )
        try:
            self._producer.init_transactions(OPEN_S)
        except KafkaException as error:
            told = client_error(error)
            raise StoreUnavailable(
                f"could not become the writer of topic {options.topic}",
                code=int(told.code()),
                retriable=True,
                detail=f"{told.name()}: {told.str()}",
            ) from error

    def append(self, records: Sequence[NewRecord]) -> int:
        """Append records in one transaction; return the offset of the last one.

        Raises:
            RecordTooLarge: a record exceeds a limit of the broker; nothing was written.
            WriterFenced: another registry is the writer now; nothing was written.
            WriteUncertain: the broker did not confirm in time.
        """
        offsets: list[int] = []
        errors: list[ClientError] = []

        def delivered(error: ClientError | None, message: Message) -> None:
            if error is None:
                offsets.append(message.offset() or 0)
            else:
                errors.append(error)

        try:
            self._producer.begin_transaction()
            for record in records:
                self._producer.produce(
                    self._options.topic,
                    key=record.key,
                    value=record.value,
                    partition=0,
                    on_delivery=delivered,
                )
            self._producer.commit_transaction(COMMIT_S)
        except KafkaException as error:
            # Chosen before the abort, which reports the other records as purged.
            cause = errors[0] if errors else client_error(error)
            with suppress(KafkaException):
                self._producer.abort_transaction(COMMIT_S)
            raise self._failure(cause) from error
        assert len(offsets) == len(records), "a committed transaction has all its records"
        return max(offsets)

    def close(self) -> None:
        """Abort what is open and forget the client."""
        with suppress(KafkaException):
            self._producer.abort_transaction(COMMIT_S)

    def _failure(self, error: ClientError) -> RecordTooLarge | WriterFenced | WriteUncertain:
        topic, detail = self._options.topic, f"{error.name()}: {error.str()}"
        code = int(error.code())
        if code in _TOO_LARGE:
            message = f"a record is too large for topic {topic}"
            return RecordTooLarge(message, code=code, detail=detail)
        if code in _FENCED:
            return WriterFenced(
                f"another registry writes topic {topic}", code=code, retriable=True, detail=detail
            )
        return WriteUncertain(
            f"could not write to topic {topic}", code=code, retriable=True, detail=detail
        )
