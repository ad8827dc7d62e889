"""Kafka's default partitioner: maps a key to its partition, and so to its task.

Source: Kafka `org.apache.kafka.common.utils.Utils.murmur2` and `BuiltInPartitioner`.
"""

from typing import Final

_SEED: Final = 0x9747B28C
_M: Final = 0x5BD1E995
_MASK: Final = 0xFFFFFFFF


def partition_of(key: bytes, partitions: int) -> int:
    """Return the partition of `key` among `partitions`.

    Example:
        >>> partition_of(b"UA", 2), partition_of(b"AA", 2)
        (0, 1)
    """
    return (murmur2(key) & 0x7FFFFFFF) % partitions


def murmur2(data: bytes) -> int:
    """Return the 32-bit murmur2 hash of `data`, not negative.

    Example:
        >>> murmur2(b"21") == -973932308 & 0xFFFFFFFF
        True
    """
    whole = len(data) & ~3
    result = _SEED ^ len(data)
    for start in range(0, whole, 4):
        k = int.from_bytes(data[start : start + 4], "little") * _M & _MASK
        k = (k ^ (k >> 24)) * _M & _MASK
        result = (result * _M & _MASK) ^ k
    if tail := data[whole:]:
        result = (result ^ int.from_bytes(tail, "little")) * _M & _MASK
    result = (result ^ (result >> 13)) * _M & _MASK
    return result ^ (result >> 15)
