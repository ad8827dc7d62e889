"""Errors in record batches.

KafkaError
├─ CorruptBatch      2   the bytes are damaged
└─ InvalidRecord    87   the bytes are intact, but their content is not allowed
"""

from typing import Final

from duolog.core.errors import KafkaError

CORRUPT_MESSAGE: Final = 2
INVALID_RECORD: Final = 87


class CorruptBatch(KafkaError):
    """The batch is truncated, its checksum is wrong, or its records cannot be decoded."""

    def __init__(self, message: str, *, detail: str = "", hint: str = "") -> None:
        super().__init__(message, code=CORRUPT_MESSAGE, retriable=True, detail=detail, hint=hint)


class InvalidRecord(KafkaError):
    """The batch is intact, but its header or one of its records is not allowed."""

    def __init__(self, message: str, *, detail: str = "", hint: str = "") -> None:
        super().__init__(message, code=INVALID_RECORD, detail=detail, hint=hint)
