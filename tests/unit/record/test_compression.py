import pytest

from duolog.record import compression
from duolog.record.compression import Compression, compress, decompress
from duolog.record.errors import CorruptBatch

LIMIT = 1024 * 1024
CODECS = [codec for codec in Compression if codec is not Compression.NONE]


@pytest.fixture(autouse=True)
def small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "PLAIN_BYTES_MAX", LIMIT)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("size", [0, 1, 64 * 1024 + 1, LIMIT])
def test_data_that_decompresses_within_the_limit_is_read(codec: Compression, size: int) -> None:
    plain = bytes(size)

    assert decompress(codec, compress(codec, plain)) == plain


@pytest.mark.parametrize("codec", CODECS)
def test_data_that_claims_more_memory_than_the_limit_is_refused(codec: Compression) -> None:
    compressed = compress(codec, bytes(32 * LIMIT))

    with pytest.raises(CorruptBatch):
        decompress(codec, compressed)


def test_a_raw_snappy_block_that_only_claims_to_be_large_is_refused() -> None:
    with pytest.raises(CorruptBatch, match="snappy"):
        decompress(Compression.SNAPPY, b"\xff\xff\xff\xff\x0f" + b"abc")
