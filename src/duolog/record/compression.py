"""The five codecs of a record batch.

Snappy is framed as Java's clients frame it (xerial): a magic, two versions, then blocks of raw
snappy with their lengths. Readers take raw snappy too, as librdkafka once sent it.

Source: Kafka `CompressionType`; xerial `SnappyOutputStream`.
"""

from enum import IntEnum
from struct import Struct, error
from typing import Final

import cramjam

from duolog.record.errors import CorruptBatch

CODEC_MASK: Final = 0x07

_XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER: Final = _XERIAL_MAGIC + bytes((0, 0, 0, 1, 0, 0, 0, 1))
_XERIAL_BLOCK_BYTES: Final = 32 * 1024
_BLOCK_LENGTH: Final = Struct(">i")


class Compression(IntEnum):
    """The codec in bits 0 to 2 of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


def compress(codec: Compression, data: bytes | bytearray) -> bytes:
    """Return `data` in the form that the codec gives it inside a batch."""
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


def decompress(codec: int, data: bytes | memoryview) -> bytes | memoryview:
    """Return the records' bytes.

    Raises:
        CorruptBatch: the codec is unknown, or the data is not of this codec.
    """
    try:
        match codec:
            case Compression.NONE:
                return data
            case Compression.GZIP:
                return bytes(cramjam.gzip.decompress(data))
            case Compression.SNAPPY:
                return _decompress_snappy(bytes(data))
            case Compression.LZ4:
                return bytes(cramjam.lz4.decompress(data))
            case Compression.ZSTD:
                return bytes(cramjam.zstd.decompress(data))
            case _:
                raise CorruptBatch(f"record batch has the unknown codec {codec}")
    except (cramjam.DecompressionError, error) as problem:
        name = Compression(codec).name.lower()
        raise CorruptBatch(
            f"records cannot be decompressed as {name}", detail=str(problem)
        ) from problem


def _compress_lz4(data: bytes | bytearray) -> bytes:
    # Java's client reads only blocks that do not depend on each other.
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


def _decompress_snappy(data: bytes) -> bytes:
    if not data.startswith(_XERIAL_MAGIC):
        return bytes(cramjam.snappy.decompress_raw(data))
    plain = bytearray()
    position = len(_XERIAL_HEADER)
    while position < len(data):
        (length,) = _BLOCK_LENGTH.unpack_from(data, position)
        position += _BLOCK_LENGTH.size
        if length < 0 or position + length > len(data):
            raise CorruptBatch("records cannot be decompressed as snappy", detail="a block is cut")
        plain += cramjam.snappy.decompress_raw(data[position : position + length])
        position += length
    return bytes(plain)
