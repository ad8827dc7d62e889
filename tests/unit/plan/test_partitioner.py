import pytest

from duolog.plan.partitioner import murmur2, partition_of


@pytest.mark.parametrize(
    ("data", "signed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_the_hash_is_kafkas(data: bytes, signed: int) -> None:
    """The values of Kafka's `UtilsTest.testMurmur2`."""
    assert murmur2(data) == signed & 0xFFFFFFFF


def test_a_partition_is_never_negative() -> None:
    assert {partition_of(str(n).encode(), 3) for n in range(100)} == {0, 1, 2}
