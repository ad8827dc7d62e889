import pytest

from duolog.core.errors import SerdeError
from duolog.core.types import parse_columns
from duolog.core.windowed_key import WindowedKey
from duolog.serde.serde import key_serde

KEY = parse_columns("user STRING, window_start BIGINT, window_end BIGINT")


def test_a_windowed_key_has_the_same_bytes_as_in_kafka_streams() -> None:
    keys = key_serde("KAFKA", KEY, WindowedKey(1000))

    assert keys.serialize(("ann", 258, 1258)) == b"ann" + bytes([0, 0, 0, 0, 0, 0, 1, 2])
    assert keys.deserialize(b"ann" + bytes([0, 0, 0, 0, 0, 0, 1, 2])) == ("ann", 258, 1258)
    assert keys.serialize(None) is None
    assert keys.deserialize(None) is None


def test_bounds_may_be_before_1970_and_have_no_end() -> None:
    days = key_serde("KAFKA", KEY, WindowedKey())
    for_ever = key_serde("KAFKA", KEY, WindowedKey(2**63 - 1))

    assert days.deserialize(days.serialize(("ann", -3_600_000, 82_800_000))) == (
        "ann",
        -3_600_000,
        82_800_000,
    )
    assert for_ever.deserialize(for_ever.serialize(("ann", 5, 2**63 - 1))) == ("ann", 5, 2**63 - 1)


def test_a_windowed_null_key_is_null() -> None:
    assert key_serde("JSON", KEY, WindowedKey(1000)).deserialize(b"null" + bytes(8)) is None


def test_bytes_too_short_for_a_windowed_key_are_refused() -> None:
    with pytest.raises(SerdeError, match="windowed"):
        key_serde("KAFKA", KEY, WindowedKey(1000)).deserialize(b"ann")


def test_the_key_of_a_session_ends_with_end_and_start() -> None:
    keys = key_serde("KAFKA", KEY, WindowedKey())
    data = b"ann" + bytes([0] * 7 + [9]) + bytes([0] * 7 + [5])

    assert keys.serialize(("ann", 5, 9)) == data
    assert keys.deserialize(data) == ("ann", 5, 9)
