"""The five compression types of a record batch.

Snappy is framed as in the Java clients (xerial): a magic, two versions, then blocks of raw snappy
with their lengths. Raw snappy, as sent by old versions of librdkafka, can be read, too.

A small payload can decompress to more than the broker's memory: 32 KB of zstd can contain a
gigabyte of zeros. Therefore the decompressed size is bounded.

Source: Kafka `CompressionType`; xerial `SnappyOutputStream`.
"""

from collections.abc import Callable
from enum import IntEnum
from struct import Struct, error
from typing import Final

import cramjam

from duolog.record.errors import CorruptBatch

CODEC_MASK: Final = 0x07
PLAIN_BYTES_MAX: Final = 128 * 1024 * 1024
"""Limit for the plain records of a batch, unless `PLAIN_RATIO_USUAL` times their size is larger."""
PLAIN_RATIO_USUAL: Final = 16

_PLAIN_BYTES_USUAL: Final = 64 * 1024
_GROWTH: Final = 8

_XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER: Final = _XERIAL_MAGIC + bytes((0, 0, 0, 1, 0, 0, 0, 1))
_XERIAL_BLOCK_BYTES: Final = 32 * 1024
_BLOCK_LENGTH: Final = Struct(">i")


class Compression(IntEnum):
    """The compression type in bits 0 to 2 of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


def compress(codec: Compression, data: bytes | bytearray) -> bytes:
    """Return `data` compressed as inside a batch."""
    match codec:
        case Compression.NONE:
            return bytes(data)
        case Compression.GZIP:
            return bytes(cramjam.gzip.compress(data))
        case Compression.SNAPPY:
            return _compress_xerial(data)
        case Compression.LZ4:
            return _compress_lz4(data)
        case Compression.ZSTD:
            return bytes(cramjam.zstd.compress(data))


def plain_bytes_max(codec: int, size_bytes: int) -> int:
    """Return the limit for the plain size of records that are stored in `size_bytes` bytes."""
    if codec == Compression.NONE:
        return size_bytes
    return max(PLAIN_BYTES_MAX, PLAIN_RATIO_USUAL * size_bytes)


def decompress(
    codec: int, data: bytes | memoryview, bytes_max: int | None = None
) -> bytes | memoryview:
    """Return the decompressed records, of at most `bytes_max` bytes if they were compressed.

    Raises:
        CorruptBatch: the codec is unknown, or the data is invalid or too large.
    """
    bytes_max = plain_bytes_max(codec, len(data)) if bytes_max is None else bytes_max
    try:
        match codec:
            case Compression.NONE:
                return data
            case Compression.GZIP:
                return _expand(cramjam.gzip.decompress_into, data, bytes_max)
            case Compression.SNAPPY:
                return _decompress_snappy(bytes(data), bytes_max)
            case Compression.LZ4:
                return _expand(cramjam.lz4.decompress_into, data, bytes_max)
            case Compression.ZSTD:
                return _expand(cramjam.zstd.decompress_into, data, bytes_max)
            case _:
                raise CorruptBatch(f"record batch has the unknown codec {codec}")
    except (cramjam.DecompressionError, error) as problem:
        name = Compression(codec).name.lower()
        raise CorruptBatch(
            f"records cannot be decompressed as {name}", detail=str(problem)
        ) from problem


def _expand(
    decompress_into: Callable[[bytes | memoryview, bytearray], int],
    data: bytes | memoryview,
    bytes_max: int,
) -> bytes:
    """Decompress into a buffer of the usual size, enlarging it until the data fits."""
    size = min(max(_PLAIN_BYTES_USUAL, PLAIN_RATIO_USUAL * len(data)), bytes_max)
    while True:
        # bytearray fills the buffer with zeros: allocating 128 MB at once would take a tenth of a
        # second.
        target = bytearray(size)
        try:
            written = decompress_into(data, target)
        except cramjam.DecompressionError:
            if size == bytes_max:
                raise
            size = min(size * _GROWTH, bytes_max)
        else:
            return bytes(memoryview(target)[:written])


def _compress_lz4(data: bytes | bytearray) -> bytes:
    # The Java client reads only independent blocks.
    compressor = cramjam.lz4.Compressor(content_checksum=False, block_linked=False)
    compressor.compress(bytes(data))
    return bytes(compressor.finish())


def _compress_xerial(data: bytes | bytearray) -> bytes:
    framed = bytearray(_XERIAL_HEADER)
    for start in range(0, len(data), _XERIAL_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + _XERIAL_BLOCK_BYTES]))
        framed += _BLOCK_LENGTH.pack(len(block))
        framed += block
    return bytes(framed)


def _decompress_snappy(data: bytes, bytes_max: int) -> bytes:
    if not data.startswith(_XERIAL_MAGIC):
        return _decompress_block(data, bytes_max)
    plain = bytearray()
    position = len(_XERIAL_HEADER)
    while position < len(data):
        (length,) = _BLOCK_LENGTH.unpack_from(data, position)
        position += _BLOCK_LENGTH.size
        if length < 0 or position + length > len(data):
            raise CorruptBatch("records cannot be decompressed as snappy", detail="a block is cut")
        plain += _decompress_block(data[position : position + length], bytes_max - len(plain))
        position += length
    return bytes(plain)


def _decompress_block(block: bytes, bytes_max: int) -> bytes:
    # Check the declared length before memory is allocated for it.
    if cramjam.snappy.decompress_raw_len(block) > bytes_max:
        raise CorruptBatch("records cannot be decompressed as snappy", detail="too large")
    return bytes(cramjam.snappy.decompress_raw(block))
