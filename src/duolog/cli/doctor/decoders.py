"""Decoders of the internal topics' records: a record that they refuse stops a start."""

from collections.abc import Mapping
from typing import Final

from duolog.coordinator import decoding
from duolog.coordinator.transactions import records as transactions
from duolog.core.errors import SerdeError
from duolog.log.doctor.partition_check import Decode
from duolog.registry.records import decoding as schemas
from duolog.security.records import records as security


def _offsets(key: bytes | None, value: bytes | None) -> object:
    return decoding.decode_record(_present(key), value)


def _transactions(key: bytes | None, value: bytes | None) -> object:
    return transactions.decode_record(_present(key), value)


def _present(key: bytes | None) -> bytes:
    if key is None:
        raise SerdeError("the record has no key")
    return key


DECODERS: Final[Mapping[str, Decode]] = {
    "__consumer_offsets": _offsets,
    "__transaction_state": _transactions,
    "__security": security.decode,
    "_schemas": schemas.decode,
}
