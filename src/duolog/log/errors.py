"""Errors of the log: refused requests and detected damage.

LogError
├─ CorruptLog            bytes that were acknowledged are gone or changed
│  └─ DamagedFile        a small file is not what was written
├─ DataDirRefused        the data directory is newer, or not one of ours
│  └─ DataDirInUse        another broker has it
├─ BackupRefused         a backup cannot be made, or not be restored
└─ BackupDamaged         a file of a backup is not what was written
KafkaError
├─ OffsetOutOfRange       1
├─ UnknownTopic           3
├─ TopicExists           36
├─ InvalidPartitions     37
├─ OutOfOrderSequence    45
├─ DuplicateSequence     46   older than the five batches that are kept
├─ InvalidProducerEpoch  47
├─ InvalidTxnState       48
├─ CoordinatorFenced     52   a marker of an earlier transaction coordinator
├─ LogDirOffline         56   a write or an fsync failed; nothing is acknowledged any more
├─ PartitionRefused      56   the log of this partition is damaged; others are served
└─ TopicRefused          56   the description of this topic is damaged; others are served
"""

from typing import Final

from duolog.core.errors import KafkaError, LogError

OFFSET_OUT_OF_RANGE: Final = 1
UNKNOWN_TOPIC_OR_PARTITION: Final = 3
TOPIC_ALREADY_EXISTS: Final = 36
INVALID_PARTITIONS: Final = 37
OUT_OF_ORDER_SEQUENCE_NUMBER: Final = 45
DUPLICATE_SEQUENCE_NUMBER: Final = 46
INVALID_PRODUCER_EPOCH: Final = 47
INVALID_TXN_STATE: Final = 48
TRANSACTION_COORDINATOR_FENCED: Final = 52
KAFKA_STORAGE_ERROR: Final = 56


class CorruptLog(LogError):
    """Bytes below the recovery point, which were on disk and synced, are not there any more."""


class DamagedFile(CorruptLog):
    """A small file has a wrong checksum, or holds what cannot be."""

    def __init__(self, path: str, detail: str, *, hint: str = "") -> None:
        super().__init__(
            f'file "{path}" is damaged',
            detail=detail,
            hint=hint or "Restore the file from a copy of the data directory.",
        )


class DataDirRefused(LogError):
    """The data directory cannot be used by this broker."""


class DataDirInUse(DataDirRefused):
    """Another broker has the data directory."""


class BackupRefused(LogError):
    """A backup cannot be made of this data directory, or there is none to restore."""


class BackupDamaged(LogError):
    """A file of a backup is missing, or is not what was written."""


class OffsetOutOfRange(KafkaError):
    """The offset is below the log start offset or above the log end offset."""

    def __init__(self, message: str, *, detail: str = "") -> None:
        super().__init__(message, code=OFFSET_OUT_OF_RANGE, detail=detail)


class UnknownTopic(KafkaError):
    """There is no topic or partition of this name."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code=UNKNOWN_TOPIC_OR_PARTITION, retriable=True)


class TopicExists(KafkaError):
    """There is a topic of this name."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code=TOPIC_ALREADY_EXISTS)


class InvalidPartitions(KafkaError):
    """The number of partitions is not possible; it never falls."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code=INVALID_PARTITIONS)


class OutOfOrderSequence(KafkaError):
    """A batch of an idempotent producer is missing before this one."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code=OUT_OF_ORDER_SEQUENCE_NUMBER)


class DuplicateSequence(KafkaError):
    """The batch was written before, too long ago to know its offset."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code=DUPLICATE_SEQUENCE_NUMBER)


class InvalidProducerEpoch(KafkaError):
    """A newer instance of this producer has written."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code=INVALID_PRODUCER_EPOCH)


class InvalidTxnState(KafkaError):
    """A batch outside of the transaction that its producer has open here."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code=INVALID_TXN_STATE)


class CoordinatorFenced(KafkaError):
    """A marker of a transaction coordinator that a newer one has replaced."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code=TRANSACTION_COORDINATOR_FENCED)


_FREE_SPACE: Final = (
    "Stop the broker and free space: move other files off the file system, or remove the whole "
    "folder topics/ID of a topic that you can lose (the file name=TOPIC in a folder says whose it "
    "is). Then start the broker; no other acknowledged record is lost."
)
"""A topic cannot be deleted by its name then: an offline log directory is not changed."""


class LogDirOffline(KafkaError):
    """The disk refused a write or a sync, so nothing more is written or acknowledged."""

    def __init__(self, message: str, *, detail: str = "", full: bool = False) -> None:
        """`full`: there is no space left, or a quota is used up."""
        super().__init__(
            message,
            code=KAFKA_STORAGE_ERROR,
            retriable=True,
            detail=detail,
            hint=_FREE_SPACE if full else "Repair the disk, then restart the broker.",
        )


_FORGOTTEN: Final = {
    "__consumer_offsets": "all groups and their committed offsets",
    "__transaction_state": "all transactional ids, and leaves transactions that are open to be "
    "aborted by hand",
}
"""The consequence of deleting an internal topic. The broker does not start without it, so no client
can delete it.
"""


class _Refused(KafkaError):
    """Something is damaged: it is neither read nor written, and nothing of it removed."""

    def __init__(self, what: str, cause: CorruptLog) -> None:
        super().__init__(
            f"{what} is not served: {cause.message}",
            code=KAFKA_STORAGE_ERROR,
            retriable=True,
            detail=cause.detail,
            hint=(
                f"{cause.hint} Without the broker, duolog doctor DIRECTORY lists all damage, and "
                "copies what is readable. Then start the broker again."
            ).strip(),
        )


class PartitionRefused(_Refused):
    """The log of a partition is damaged, or the description of its topic."""

    def __init__(self, partition: str, cause: CorruptLog) -> None:
        super().__init__(f'partition "{partition}"', cause)
        forgotten = _FORGOTTEN.get(partition.rpartition("-")[0])
        if forgotten is not None:
            self.hint = (
                "The broker does not start without it: restore it from a copy of the data "
                "directory; or move the folder of its topic out of topics/, which forgets "
                f"{forgotten}. Then start the broker again."
            )


class TopicRefused(_Refused):
    """The description of a topic is damaged."""

    def __init__(self, topic: str, cause: CorruptLog) -> None:
        super().__init__(f'topic "{topic}"', cause)
