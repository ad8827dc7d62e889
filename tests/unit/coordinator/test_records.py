"""Golden bytes were written down by hand from Kafka's schemas, and are checked against its order."""

from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.coordinator.consumer_groups.records import EpochChange
from duolog.coordinator.decoding import decode_record
from duolog.coordinator.records import (
    NO_TOPIC_ID,
    CoordinatorRecord,
    GroupChange,
    GroupRecord,
    MemberRecord,
    OffsetChange,
    OffsetRecord,
)
from duolog.core.errors import SerdeError
from duolog.core.ids import TopicPartition

OFFSET = OffsetChange(
    "grp",
    TopicPartition("orders", 7),
    OffsetRecord(42, 3, "note", 1_385_000_000_000, topic_id=UUID(int=7)),
)
WITHOUT_ID = replace(OFFSET, value=OFFSET.value and OFFSET.value._replace(topic_id=NO_TOPIC_ID))
GROUP = GroupChange(
    "grp",
    GroupRecord(
        "consumer",
        5,
        "range",
        "m-1",
        1_385_000_000_000,
        (MemberRecord("m-1", None, "c", "/127.0.0.1", 60_000, 45_000, b"\x00\x01", b"\x02"),),
    ),
)

OFFSET_KEY = "0001 0003 677270 0006 6f7264657273 00000007"
OFFSET_VALUE = (
    "0004 000000000000002a 00000003 05 6e6f7465 00000142786eda00"
    "01 00 10 00000000000000000000000000000007"
)
GROUP_KEY = "0002 0003 677270"
GROUP_VALUE = (
    "0003 0008 636f6e73756d6572 00000005 0005 72616e6765 0003 6d2d31 00000142786eda00 00000001"
    "0003 6d2d31 ffff 0001 63 000a 2f3132372e302e302e31 0000ea60 0000afc8"
    "00000002 0001 00000001 02"
)


def test_an_offset_is_written_as_key_1_and_value_4_with_the_id_of_its_topic() -> None:
    assert OFFSET.encode_key().hex() == bytes.fromhex(OFFSET_KEY).hex()
    assert (OFFSET.encode_value() or b"").hex() == bytes.fromhex(OFFSET_VALUE).hex()


def test_a_group_is_written_as_key_2_and_value_3() -> None:
    assert GROUP.encode_key().hex() == bytes.fromhex(GROUP_KEY).hex()
    assert (GROUP.encode_value() or b"").hex() == bytes.fromhex(GROUP_VALUE).hex()


def test_an_offset_with_an_expiry_is_written_as_value_1() -> None:
    expiring = OffsetChange("g", TopicPartition("t", 0), OffsetRecord(1, -1, "", 2, 3))

    value = expiring.encode_value()

    assert value == bytes.fromhex("0001 0000000000000001 0000 0000000000000002 0000000000000003")
    assert decode_record(expiring.encode_key(), value) == expiring


@pytest.mark.parametrize(
    "value",
    [
        "0003 000000000000002a 00000003 0004 6e6f7465 00000142786eda00",
        "0004 000000000000002a 00000003 05 6e6f7465 00000142786eda00 00",
        "0004 000000000000002a 00000003 05 6e6f7465 00000142786eda00 01 07 02 abcd",
    ],
    ids=["version 3", "without tags", "with a tag of a newer broker"],
)
def test_an_offset_without_the_id_of_its_topic_is_read(value: str) -> None:
    assert decode_record(OFFSET.encode_key(), bytes.fromhex(value)) == WITHOUT_ID


def test_the_id_of_a_topic_is_read_among_other_tags() -> None:
    value = bytes.fromhex(
        "0004 000000000000002a 00000003 05 6e6f7465 00000142786eda00"
        "02 00 10 00000000000000000000000000000007 01 00"
    )

    assert decode_record(OFFSET.encode_key(), value) == OFFSET


def test_the_flexible_group_value_4_is_read() -> None:
    value = bytes.fromhex(
        "0004 09 636f6e73756d6572 00000005 06 72616e6765 04 6d2d31 00000142786eda00 02"
        "04 6d2d31 00 02 63 0b 2f3132372e302e302e31 0000ea60 0000afc8 03 0001 02 02 00 00"
    )

    assert decode_record(GROUP.encode_key(), value) == GROUP


def test_old_group_values_are_read_with_what_they_have() -> None:
    value = bytes.fromhex(
        "0000 0001 63 00000005 ffff ffff 00000001 0001 6d 0001 63 0001 68 0000afc8 00000000 00000000"
    )

    assert decode_record(GROUP.encode_key(), value) == GroupChange(
        "grp",
        GroupRecord(
            "c", 5, None, None, -1, (MemberRecord("m", None, "c", "h", 45_000, 45_000, b"", b""),)
        ),
    )


@pytest.mark.parametrize("kind", ["0004", "0009", "000b", "0011"])
def test_keys_of_other_kinds_of_groups_are_skipped(kind: str) -> None:
    assert decode_record(bytes.fromhex(f"{kind} 0001 67"), b"") is None


def test_a_key_of_a_group_of_the_new_protocol_is_read_by_its_own_package() -> None:
    assert decode_record(bytes.fromhex("0003 0001 67"), None) == EpochChange("g", None)


def test_a_value_of_a_newer_version_is_refused() -> None:
    with pytest.raises(SerdeError, match="version 5"):
        decode_record(GROUP.encode_key(), bytes.fromhex("0005"))


@given(cut=st.integers(0, len(bytes.fromhex(GROUP_VALUE)) - 1))
def test_a_value_that_ends_too_early_is_refused(cut: int) -> None:
    with pytest.raises(SerdeError):
        decode_record(GROUP.encode_key(), bytes.fromhex(GROUP_VALUE)[:cut])


texts = st.text(max_size=20)
int32s = st.integers(0, 2**31 - 1)
int64s = st.integers(0, 2**63 - 1)
members = st.builds(
    MemberRecord,
    texts,
    st.none() | texts,
    texts,
    texts,
    int32s,
    int32s,
    st.binary(max_size=9),
    st.binary(max_size=9),
)
changes = st.builds(
    OffsetChange,
    texts,
    st.builds(TopicPartition, texts, int32s),
    st.none()
    | st.builds(
        OffsetRecord,
        int64s,
        st.integers(-1, 9),
        texts,
        int64s,
        expires_at_ms=st.just(-1),
        topic_id=st.just(NO_TOPIC_ID) | st.uuids(),
    ),
) | st.builds(
    GroupChange,
    texts,
    st.none()
    | st.builds(
        GroupRecord,
        texts,
        int32s,
        st.none() | texts,
        st.none() | texts,
        int64s,
        st.lists(members, max_size=3).map(tuple),
    ),
)


@given(record=changes)
def test_written_files_are_read_back(record: CoordinatorRecord) -> None:
    assert decode_record(record.encode_key(), record.encode_value()) == record


@pytest.mark.parametrize("cut", range(len(bytes.fromhex(OFFSET_VALUE))))
def test_an_offset_that_ends_too_early_is_an_error(cut: int) -> None:
    with pytest.raises(SerdeError):
        decode_record(OFFSET.encode_key(), bytes.fromhex(OFFSET_VALUE)[:cut])


@pytest.mark.parametrize("cut", range(len(bytes.fromhex(OFFSET_KEY))))
def test_the_key_of_an_offset_that_ends_too_early_is_an_error(cut: int) -> None:
    with pytest.raises(SerdeError):
        decode_record(bytes.fromhex(OFFSET_KEY)[:cut], bytes.fromhex(OFFSET_VALUE))
