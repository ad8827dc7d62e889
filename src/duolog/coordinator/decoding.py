"""Reads any record of `__consumer_offsets`.

| key version | record |
|---|---|
| 0, 1 | a committed offset |
| 2 | a classic group |
| 3, 5, 6, 7, 8, 16 | a part of a group of the new protocol |
"""

from duolog.coordinator.consumer_groups import records as consumer_groups
from duolog.coordinator.records import (
    GROUP_KEY_VERSION,
    CoordinatorRecord,
    decode_classic_record,
    key_version,
)


def decode_record(key: bytes, value: bytes | None) -> CoordinatorRecord | None:
    """Return the record; None if it is of a kind that Duolog does not keep.

    Raises:
        SerdeError: the bytes end too early, or a value has an unknown version.
    """
    version = key_version(key)
    if version <= GROUP_KEY_VERSION:
        return decode_classic_record(key, value)
    if version in consumer_groups.KEY_VERSIONS:
        return consumer_groups.decode_record(key, value)
    return None
