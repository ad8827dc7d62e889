"""What can be wrong with a record batch.

KafkaError
├─ CorruptBatch      2   the bytes are not those that were sent
└─ InvalidRecord    87   the bytes are whole, but say what a client may not say
"""

from typing import Final

from duolog.core.errors import KafkaError

CORRUPT_MESSAGE: Final = 2
INVALID_RECORD: Final = 87


class CorruptBatch(KafkaError):
    """The batch is cut off, its checksum is wrong, or its records cannot be read."""

    def __init__(self, message: str, *, detail: str = "", hint: str = "") -> None:
        super().__init__(message, code=CORRUPT_MESSAGE, retriable=True, detail=detail, hint=hint)


class InvalidRecord(KafkaError):
    """The batch is whole, but its header or a record in it is not allowed here."""

    def __init__(self, message: str, *, detail: str = "", hint: str = "") -> None:
        super().__init__(message, code=INVALID_RECORD, detail=detail, hint=hint)
