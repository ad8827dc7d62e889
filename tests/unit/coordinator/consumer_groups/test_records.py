"""The records of groups of the new protocol, byte by byte."""

from uuid import UUID

import pytest

from duolog.coordinator.consumer_groups.records import (
    ClassicMetadata,
    ConsumerGroupRecord,
    CurrentAssignment,
    CurrentChange,
    EpochChange,
    MemberChange,
    MemberMetadata,
    MemberState,
    RegexChange,
    ResolvedRegex,
    TargetChange,
    TargetEpochChange,
    decode_record,
)
from duolog.coordinator.messages import MemberProtocol
from duolog.core.errors import SerdeError

T, U = UUID(int=1), UUID(int=2)
METADATA = MemberMetadata(
    instance_id="i",
    rack_id="r",
    client_id="c",
    client_host="/h",
    topics=("t", "u"),
    regex="x.*",
    rebalance_timeout_ms=7,
    assignor="range",
)
CLASSIC = ClassicMetadata(9, (MemberProtocol("range", b"\0\1"), MemberProtocol("x", b"")))
RECORDS: list[ConsumerGroupRecord] = [
    EpochChange("g", 3, -5),
    EpochChange("g", 3),
    EpochChange("g", None),
    TargetEpochChange("g", 2),
    TargetEpochChange("g", None),
    MemberChange("g", "m", METADATA),
    MemberChange("g", "m", MemberMetadata()),
    MemberChange("g", "m", MemberMetadata(classic=CLASSIC)),
    MemberChange("g", "m", MemberMetadata(classic=ClassicMetadata(0, ()))),
    MemberChange("g", "m", None),
    TargetChange("g", "m", {T: frozenset((0, 300)), U: frozenset((1,))}),
    TargetChange("g", "m", {}),
    TargetChange("g", "m", None),
    CurrentChange("g", "m", CurrentAssignment(4, 3, MemberState.STABLE, {T: frozenset((1,))})),
    CurrentChange(
        "g",
        "m",
        CurrentAssignment(-2, 3, MemberState.UNREVOKED_PARTITIONS, {}, {U: frozenset((2, 3))}),
    ),
    CurrentChange("g", "m", None),
    RegexChange("g", "x.*", ResolvedRegex(frozenset(("t", "ü")), 5, 1_385_000_000_000)),
    RegexChange("g", "x.*", None),
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_every_record_is_read_back(record: ConsumerGroupRecord) -> None:
    assert decode_record(record.encode_key(), record.encode_value()) == record


@pytest.mark.parametrize(
    ("record", "key", "value"),
    [
        (EpochChange("g", 3), "0003 0001 67", "0000 00000003 00"),
        (EpochChange("g", 3, 1), "0003 0001 67", "0000 00000003 01 00 08 0000000000000001"),
        (TargetEpochChange("g", 2), "0006 0001 67", "0000 00000002 00"),
        (
            TargetChange("g", "m", {T: frozenset((5,))}),
            "0007 0001 67 0001 6d",
            f"0000 02 {T.hex} 02 00000005 00 00",
        ),
        (
            CurrentChange("g", "m", CurrentAssignment(4, 3, MemberState.UNRELEASED_PARTITIONS)),
            "0008 0001 67 0001 6d",
            "0000 00000004 00000003 02 01 01 00",
        ),
        (
            MemberChange("g", "m", METADATA),
            "0005 0001 67 0001 6d",
            "0000 0269 0272 0263 032f68 03 0274 0275 04782e2a 00000007 0672616e6765 01 00 01 00",
        ),
        (
            MemberChange("g", "m", MemberMetadata(classic=ClassicMetadata(9, ()))),
            "0005 0001 67 0001 6d",
            "0000 00 00 01 01 01 00 ffffffff 00 01 00 07 01 00000009 01 00",
        ),
        (
            RegexChange("g", "x", ResolvedRegex(frozenset(("t",)), 5, 6)),
            "0010 0001 67 0001 78",
            "0000 02 0274 0000000000000005 0000000000000006 00",
        ),
    ],
    ids=lambda value: "" if isinstance(value, str) else type(value).__name__,
)
def test_bytes_are_those_of_kafkas_schemas(
    record: ConsumerGroupRecord, key: str, value: str
) -> None:
    encoded = record.encode_value()

    assert record.encode_key() == bytes.fromhex(key)
    assert encoded == bytes.fromhex(value)


def test_unknown_tagged_fields_are_skipped() -> None:
    value = bytes.fromhex("0000 00000003 02 00 08 0000000000000001 05 02 ffff")

    assert decode_record(bytes.fromhex("0003000167"), value) == EpochChange("g", 3, 1)


def test_a_state_that_is_not_known_is_kept_as_unknown() -> None:
    value = bytes.fromhex("0000 00000004 00000003 09 01 01 00")

    record = decode_record(bytes.fromhex("00080001670001 6d"), value)

    assert isinstance(record, CurrentChange)
    assert record.value == CurrentAssignment(4, 3, MemberState.UNKNOWN)


@pytest.mark.parametrize("value", ["0001 00000003 00", "0000 0000", "0000 00000003"])
def test_values_that_are_cut_or_newer_are_refused(value: str) -> None:
    with pytest.raises(SerdeError):
        decode_record(bytes.fromhex("0003000167"), bytes.fromhex(value))
