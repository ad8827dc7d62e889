"""Encoded keys sort as their values do."""

import math
import struct
from collections.abc import Callable
from random import Random

import pytest

from duolog.plan.types import BIGINT, BOOLEAN, BYTES, DOUBLE, INT, STRING, Array, Type
from duolog.runtime.packed.sortable_keys import SortableKeys

_VALUES: dict[Type, Callable[[Random], object]] = {
    BOOLEAN: lambda random: random.random() < 0.5,
    INT: lambda random: random.randrange(-(2**31), 2**31) >> random.randrange(31),
    BIGINT: lambda random: random.randrange(-(2**63), 2**63) >> random.randrange(63),
    DOUBLE: lambda random: struct.unpack("d", random.randbytes(8))[0],
    STRING: lambda random: "".join(random.choices("\0\1aé\U0001f600\xff", k=random.randrange(4))),
    BYTES: lambda random: bytes(random.choices((0, 1, 254, 255), k=random.randrange(4))),
}


def _order(value: object) -> object:
    if isinstance(value, str):
        return value.encode()
    return math.inf if isinstance(value, float) and math.isnan(value) else value


@pytest.mark.parametrize("first", _VALUES)
@pytest.mark.parametrize("second", _VALUES)
def test_encoded_keys_sort_as_their_values(first: Type, second: Type) -> None:
    random, keys = Random(3), SortableKeys([first, second])  # noqa: S311
    rows = [(_VALUES[first](random), _VALUES[second](random)) for _ in range(300)]
    rows = [row for row in rows if not any(isinstance(x, float) and math.isnan(x) for x in row)]

    assert sorted(rows, key=keys.encode) == sorted(
        rows, key=lambda row: tuple(_order(value) for value in row)
    )


def test_nulls_sort_last_and_differ_from_all_values() -> None:
    keys = SortableKeys([STRING, INT])

    found = [keys.encode(row) for row in (("", -5), ("", None), ("\0", 0), (None, 1))]

    assert sorted(found) == found
    assert len(set(found)) == 4


def test_no_key_is_a_prefix_of_another() -> None:
    keys = SortableKeys([STRING])
    texts = ["", "\0", "a", "a\0", "a\0\0", "ab", "\xff"]

    found = [keys.encode((text,)) for text in texts]

    assert not any(a != b and b.startswith(a) for a in found for b in found)


def test_the_first_columns_are_a_prefix() -> None:
    keys = SortableKeys([STRING, BIGINT, BIGINT])

    assert keys.encode(("a", 1, 2)).startswith(keys.encode(("a", 1)))
    assert not keys.encode(("ab", 1, 2)).startswith(keys.encode(("a",)))


def test_equal_values_have_equal_bytes() -> None:
    doubles = SortableKeys([DOUBLE])
    lists = SortableKeys([Array(INT)])

    assert doubles.encode((-0.0,)) == doubles.encode((0.0,))
    assert doubles.encode((math.nan,)) > doubles.encode((math.inf,))
    assert lists.encode(([1, 2],)) == lists.encode(((1, 2),))
    assert lists.encode(([1, 2],)) != lists.encode(([12],))
