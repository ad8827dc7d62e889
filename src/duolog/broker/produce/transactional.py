"""Validate a transactional produce request beyond the checks for every produce request.

The transaction coordinator says whether the partition belongs to the producer's transaction;
from version 12 on the first batch adds it. What it says reaches the client in the words that
Kafka has for each version of Produce:

    coordinator says                    to 10                 11                     12
    INVALID_TXN_STATE                   INVALID_TXN_STATE     TRANSACTION_ABORTABLE  as it is
    PRODUCER_FENCED                     INVALID_PRODUCER_EPOCH in all
    CONCURRENT_TRANSACTIONS             NOT_ENOUGH_REPLICAS   NOT_ENOUGH_REPLICAS    as it is
    not loaded, not the coordinator     NOT_ENOUGH_REPLICAS in all: clients just try again

Source: Kafka `ReplicaManager.handleProduceAppend`, `AddPartitionsToTxnManager`, KIP-890.
"""

from collections.abc import Generator
from struct import Struct
from typing import TYPE_CHECKING, Final

from duolog.broker.authorization.checks import Asker
from duolog.broker.authorization.table import TRANSACTIONAL_RECORDS as _TRANSACTIONAL_ID
from duolog.core.errors import KafkaError
from duolog.log.errors import OutOfOrderSequence
from duolog.protocol.error_codes import ErrorCode
from duolog.protocol.produce import PARTITIONS_A_STEP, ProduceRequest
from duolog.record.batch import CRC_START, HEADER_BYTES, TRANSACTIONAL_BIT

if TYPE_CHECKING:
    from duolog.broker.produce.needs import Broker
    from duolog.broker.topics.topics import Partition

FIRST_IMPLICIT: Final = 12
"""The first version in which a batch adds its partition to the transaction."""
_FIRST_ABORTABLE: Final = 11

_FIELDS: Final = Struct(">h20xqhi")
"""attributes, producer_id, producer_epoch, base_sequence, from byte 21."""
_ATTRIBUTES_LOW: Final = CRC_START + 1
"""The byte of the attributes that holds their bits."""
_TRY_AGAIN: Final = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
}


def is_transactional(batch: memoryview) -> bool:
    return len(batch) >= HEADER_BYTES and batch[_ATTRIBUTES_LOW] & TRANSACTIONAL_BIT != 0


def refusal(client: Asker, request: ProduceRequest) -> Generator[None, None, ErrorCode]:
    """Return, in steps, the error of a request with batches of more than one transaction.

    It is also one if the client has no right to the transactional id of its batches.
    """
    producers: set[tuple[int, int]] = set()
    left = PARTITIONS_A_STEP
    for _, data in request.topics:
        for _, records in data:
            if records is not None and is_transactional(records):
                producers.add(_FIELDS.unpack_from(records, CRC_START)[1:3])
            left -= 1
            if left < 0:
                left = PARTITIONS_A_STEP
                yield
        left -= 1
        if left < 0:
            left = PARTITIONS_A_STEP
            yield
    transactional_id = request.transactional_id
    if producers and (
        transactional_id is None
        or not _TRANSACTIONAL_ID.allows(client, transactional_id.decode("utf-8", "replace"))
    ):
        return _TRANSACTIONAL_ID.code
    if len([producer for producer in producers if producer[0] >= 0]) > 1:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    return ErrorCode.NONE


def verify(
    broker: "Broker",
    transactional_id: bytes | None,
    partition: "Partition",
    batch: memoryview,
    version: int,
) -> None:
    """Return if the batch belongs to its producer's transaction, from now on at the latest.

    Raises:
        KafkaError: it does not, with the code that the client's version knows.
    """
    _, producer_id, producer_epoch, sequence = _FIELDS.unpack_from(batch, CRC_START)
    assert transactional_id is not None, "see refusal"
    if producer_id < 0:
        return  # A bit without a meaning, as for Kafka.
    try:
        broker.transactions.verify_produce(
            transactional_id.decode("utf-8", "replace"),
            producer_id,
            producer_epoch,
            partition.topic.name,
            partition.index,
            implicit=version >= FIRST_IMPLICIT,
        )
    except KafkaError as error:
        code = _code_for(error.code, version)
        if code == error.code:
            raise
        raise KafkaError(error.message, code=code, detail=error.detail) from error
    if version >= FIRST_IMPLICIT and sequence and not partition.log.knows_producer(producer_id):
        # Here every transaction begins with a new epoch, and an epoch with sequence 0.
        raise OutOfOrderSequence(
            f"producer {producer_id} is new here and began with sequence {sequence}"
        )


def _code_for(code: int, version: int) -> int:
    if code == ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if code in _TRY_AGAIN:
        return ErrorCode.NOT_ENOUGH_REPLICAS
    if code == ErrorCode.CONCURRENT_TRANSACTIONS and version < FIRST_IMPLICIT:
        return ErrorCode.NOT_ENOUGH_REPLICAS
    if code == ErrorCode.INVALID_TXN_STATE and version == _FIRST_ABORTABLE:
        return ErrorCode.TRANSACTION_ABORTABLE
    return code
