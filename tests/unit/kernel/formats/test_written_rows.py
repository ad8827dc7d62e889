"""Values that Spark makes and no format reads, in AVRO and PROTOBUF; and maps of many entries."""

import json
import random
from typing import Any, Final

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from duolog.schemas.protobuf import parse
from unit.kernel.formats.schema_conversions import convert, written
from unit.kernel.java_program import run_java

pytestmark = pytest.mark.timeout(120)

TEXTS: Final = 'syntax = "proto3"; message R { string s = 1; map<string, string> m = 2; }'
MAPS: Final = """syntax = "proto3"; message R {
  map<bool, int32> b = 1; map<int32, int32> i = 2; map<int64, int32> l = 3;
  map<string, int32> s = 4; map<string, string> t = 5; }"""
COLUMNS: Final = (
    "B MAP<BOOLEAN, INT>, I MAP<INT, INT>, L MAP<BIGINT, INT>, "
    "S MAP<STRING, INT>, T MAP<STRING, STRING>"
)


def described(text: str) -> bytes:
    found: bytes = parse(text, {}).formatted("serialized").encode()
    return found


def test_times_before_1970_are_rounded_down_and_broken_texts_are_repaired() -> None:
    field = {"name": "a", "type": {"type": "long", "logicalType": "timestamp-millis"}}
    avro = {
        "id": "7",
        "schema": json.dumps({"type": "record", "name": "R", "fields": [field]}),
    }
    protobuf = {"descriptor": described(TEXTS).decode()}

    found = [
        bytes.fromhex(w) for w in run_java("WrittenRows", json.dumps(avro), json.dumps(protobuf))
    ]

    frame = b"\0\0\0\0\7"
    # Zigzag: -2 is 3, -1 is 1, 1 is 2.
    assert found[:6] == [frame + one for one in (b"\3", b"\1", b"\1", b"\0", b"\0", b"\2")]
    repaired = ("a\ufffdb", "\ufffd", "é")
    assert found[6:] == [message(text.encode()) for text in repaired]


def message(text: bytes) -> bytes:
    """Return the text as field 1, and as key and value of an entry of field 2."""
    size = bytes((len(text),))
    entry = b"\x0a" + size + text + b"\x12" + size + text
    return b"\x0a" + size + text + b"\x12" + bytes((len(entry),)) + entry


def test_an_address_that_is_withdrawn_has_no_schemas() -> None:
    assert run_java("WithdrawnRegistry") == ["int", "away", "long"]


def message_class() -> Any:  # Any: it is made at run time.
    """Return the class of `MAPS` that Google's library makes."""
    file = descriptor_pb2.FileDescriptorProto(name="maps.proto", syntax="proto3")
    of = file.message_type.add(name="R")
    types = descriptor_pb2.FieldDescriptorProto
    kinds = (
        ("b", types.TYPE_BOOL, types.TYPE_INT32),
        ("i", types.TYPE_INT32, types.TYPE_INT32),
        ("l", types.TYPE_INT64, types.TYPE_INT32),
        ("s", types.TYPE_STRING, types.TYPE_INT32),
        ("t", types.TYPE_STRING, types.TYPE_STRING),
    )
    for number, (name, key, value) in enumerate(kinds, 1):
        entry = of.nested_type.add(name=f"{name.upper()}Entry")
        entry.options.map_entry = True
        entry.field.add(name="key", number=1, type=key, label=1)
        entry.field.add(name="value", number=2, type=value, label=1)
        of.field.add(
            name=name, number=number, type=types.TYPE_MESSAGE, label=3, type_name=f".R.{entry.name}"
        )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("R"))


def maps(chance: random.Random) -> dict[str, dict[Any, Any]]:
    """Return a map for each column, of up to nine entries."""
    whole = (-(2**31), -1000, -2, -1, 0, 1, 2, 127, 128, 2**31 - 1)
    long = (*whole, -(2**63), 2**63 - 1, 2**40)
    texts = ("", "a", "aa", "ab", "b", "é", "z", "\U0001f600", "\uffff", "ä", "aaa")

    def some(keys: tuple[Any, ...], values: tuple[Any, ...]) -> dict[Any, Any]:
        chosen = chance.sample(keys, chance.randint(0, min(9, len(keys))))
        return {key: chance.choice(values) for key in chosen}

    return {
        "B": some((False, True), whole),
        "I": some(whole, whole),
        "L": some(long, whole),
        "S": some(texts, whole),
        "T": some(texts, texts),
    }


def test_entries_of_maps_are_in_the_order_of_googles_library() -> None:
    chance = random.Random(7)  # noqa: S311 - a seed that can be run again
    rows = [maps(chance) for _ in range(40)]
    of = message_class()
    given = [
        json.dumps(
            {
                name: [{"key": key, "value": value} for key, value in entries.items()]
                for name, entries in row.items()
            }
        )
        for row in rows
    ]

    (found,) = convert(
        written(COLUMNS, "PROTOBUF_NOSR", {"descriptor": described(MAPS).decode()}, *given)
    ).outcomes

    for row, data in zip(rows, found, strict=True):
        expected = of(**{name.lower(): entries for name, entries in row.items()})
        assert data == expected.SerializeToString(deterministic=True), row
