"""CVE-2023-34455: a small batch cannot take much memory, wherever its records are read.

The limit is made small here. A bomb has 32 times as much, so that a place without the limit reads it.
"""

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import cramjam
import pytest

from duolog.broker.identity.security_log import check_client_batch
from duolog.broker.schema_checks.settings import SchemaChecks
from duolog.broker.schema_checks.walk import frames_of
from duolog.cli.dump_log.segment import _record_rows
from duolog.core.errors import DuologError
from duolog.core.units import MIB
from duolog.log.compaction.scan import open_batch
from duolog.log.segments.time_search import Look
from duolog.protocol.error_codes import ErrorCode
from duolog.record import Compression, Record, compression, encode_batch
from duolog.record.batch import read_header
from unit.broker.conftest import Harness

LIMIT = MIB
BOMB_BYTES = 32 * LIMIT
CODECS = [codec for codec in Compression if codec is not Compression.NONE]


@pytest.fixture(autouse=True)
def small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "PLAIN_BYTES_MAX", LIMIT)


@pytest.fixture(params=CODECS, ids=lambda codec: codec.name)
def codec(request: pytest.FixtureRequest) -> Compression:
    found: Compression = request.param
    return found


_made: dict[tuple[Compression, int], bytes] = {}


def bomb_of(codec: Compression, time_ms: int = 1) -> bytes:
    key = codec, time_ms
    if key not in _made:
        record = Record(0, time_ms, b"k", bytes(BOMB_BYTES))
        _made[key] = bytes(encode_batch([record], compression=codec))
    return _made[key]


@pytest.fixture
def bomb(codec: Compression) -> bytes:
    return bomb_of(codec)


@contextmanager
def frugal(bomb: bytes) -> Iterator[None]:
    """Fail if what happens needs memory like that of the bomb."""
    real = cramjam.snappy.decompress_raw
    blocks: list[int] = []

    def decompress_raw(block: bytes) -> Any:
        blocks.append(cramjam.snappy.decompress_raw_len(block))
        return real(block)

    # A buffer is as large as the limit. A few may exist at once, and modules that are loaded at the
    # first use need several MiB.
    bound = max(BOMB_BYTES // 2, 3 * compression.PLAIN_RATIO_USUAL * len(bomb))
    with pytest.MonkeyPatch.context() as patch:
        # Rust's memory is not traced, and snappy allocates what a block claims.
        patch.setattr(cramjam.snappy, "decompress_raw", decompress_raw)
        tracemalloc.start()
        yield
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < bound
    assert sum(blocks) < BOMB_BYTES


def dumped(batch: bytes) -> None:
    [row] = _record_rows(read_header(batch), batch, 0, None)
    raise DuologError(str(row["error"]))


PLACES: dict[str, Callable[[bytes], object]] = {
    "compaction": lambda batch: open_batch(read_header(batch), memoryview(batch)),
    "search by time": lambda batch: Look(batch, 0, 0)(),
    "schema checks": lambda batch: frames_of(
        memoryview(batch), SchemaChecks(key=None, value=None), None
    ),
    "changes of users": lambda batch: check_client_batch(memoryview(batch)),
    "dump-log": dumped,
}


@pytest.mark.parametrize("place", PLACES)
def test_a_bomb_is_refused(bomb: bytes, place: str) -> None:
    with frugal(bomb), pytest.raises(DuologError):
        PLACES[place](bomb)


@pytest.mark.parametrize(
    "configs",
    [
        {"cleanup_policy": "compact"},
        {"message_timestamp_before_max_ms": "1000"},
    ],
    ids=["a compacted topic", "bounds of time"],
)
def test_a_bomb_is_refused_by_produce_and_the_client_is_served(
    harness: Harness, bomb: bytes, configs: dict[str, Any]
) -> None:
    harness.topic("orders", max_message_bytes=str(64 * MIB), **configs)
    client = harness.client()

    with frugal(bomb):
        row = client.produce("orders", bomb)

    assert row.error_code == ErrorCode.INVALID_RECORD
    assert client.produce("orders", harness.batch(b"v")).error_code == 0
    assert harness.broker.log("orders", 0).log_end_offset == 1


def test_a_bomb_with_a_time_in_the_future_is_refused(harness: Harness, codec: Compression) -> None:
    harness.topic("orders", max_message_bytes=str(64 * MIB))
    future_ms = harness.broker.clock.now_ms() // 3_600_000 * 3_600_000 + 10 * 3_600_000

    bomb = bomb_of(codec, future_ms)

    with frugal(bomb):
        row = harness.client().produce("orders", bomb)

    assert row.error_code == ErrorCode.INVALID_RECORD


def test_a_raw_snappy_bomb_is_refused_before_it_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """As old versions of librdkafka frame it: one block, whose first bytes claim the size."""
    monkeypatch.setattr(cramjam.snappy, "decompress_raw", None)
    raw = bytes(cramjam.snappy.compress_raw(bytes(BOMB_BYTES)))

    with pytest.raises(DuologError, match="snappy"):
        compression.decompress(Compression.SNAPPY, raw)


def test_many_small_xerial_blocks_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[bytes] = []
    real = cramjam.snappy.decompress_raw

    def decompress_raw(block: bytes) -> Any:
        opened.append(block)
        return real(block)

    framed = compression.compress(Compression.SNAPPY, bytes(BOMB_BYTES))
    monkeypatch.setattr(cramjam.snappy, "decompress_raw", decompress_raw)

    with pytest.raises(DuologError, match="snappy"):
        compression.decompress(Compression.SNAPPY, framed, LIMIT)

    assert len(opened) == LIMIT // (32 * 1024)
