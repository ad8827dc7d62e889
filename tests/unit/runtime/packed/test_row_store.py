"""The store of rows agrees with a dict."""

from random import Random

from duolog.runtime.packed.row_store import RowStore
from duolog.runtime.sql.tables.key_index import KeyIndex


def _key(random: Random) -> bytes:
    return random.randbytes(random.randrange(4))


def test_a_store_agrees_with_a_dict() -> None:
    random, store = Random(1), RowStore()  # noqa: S311
    expected: dict[bytes, bytes] = {}

    for _ in range(60_000):
        key, entry = _key(random), random.randbytes(random.randrange(12))
        if random.random() < 0.3:
            assert store.remove(key) == expected.pop(key, None)
        else:
            assert store.put(key, entry) == expected.get(key)
            expected[key] = entry
        probe = _key(random)
        assert store.get(probe) == expected.get(probe)

    assert len(expected) > 10_000
    assert len(store) == len(expected)
    assert dict(store.snapshot()) == expected
    assert all(store.get(key) == entry for key, entry in expected.items())


def test_an_entry_that_contains_other_keys_is_not_found_by_them() -> None:
    store = RowStore()
    for number in range(200):
        store.put(b"k%d" % number, b"".join(b"\2\0\0\0\0\0\0\0x%d" % n for n in range(9)))

    assert store.get(b"x1") is None
    assert store.get(b"") is None
    assert store.get(b"k1 ") is None


def test_writes_do_not_change_a_snapshot() -> None:
    store = RowStore()
    for number in range(1_000):
        store.put(b"%d" % number, b"old")

    snapshot = store.snapshot()
    for number in range(3_000):
        store.put(b"%d" % number, b"new")
    for number in range(500):
        store.remove(b"%d" % number)

    assert len(snapshot) == 1_000
    assert dict(snapshot) == {b"%d" % number: b"old" for number in range(1_000)}
    assert len(store) == 2_500


def test_an_index_agrees_with_a_sorted_list() -> None:
    random = Random(2)  # noqa: S311
    expected = {random.randbytes(3) for _ in range(6_000)}
    index = KeyIndex(expected)

    for _ in range(12_000):
        key = random.randbytes(3)
        if key not in expected:
            index.add(key)
            expected.add(key)
        elif random.random() < 0.5:
            index.remove(key)
            expected.discard(key)
    for key in random.sample(sorted(expected), 9_000):
        index.remove(key)
        expected.discard(key)

    ordered = sorted(expected)
    assert list(index.between(None, None)) == ordered
    for _ in range(300):
        low, high = random.choice([random.randbytes(2), *ordered]), random.choice(ordered)
        assert list(index.between(low, high)) == [key for key in ordered if low <= key <= high]
        assert list(index.between(low, None)) == [key for key in ordered if low <= key]
        prefix = random.randbytes(1)
        assert list(index.with_prefix(prefix)) == [key for key in ordered if key.startswith(prefix)]


def test_an_index_from_which_all_keys_were_removed_can_be_used_again() -> None:
    index = KeyIndex([b"b"])

    index.remove(b"b")
    assert list(index.between(None, None)) == []
    for key in (b"c", b"a"):
        index.add(key)

    assert list(index.between(None, None)) == [b"a", b"c"]


def test_a_store_with_room_has_the_same_rows_and_grows_beyond_it() -> None:
    random, store, expected = Random(3), RowStore(), dict[bytes, bytes]()  # noqa: S311
    for number in range(30_000):
        if number == 1_000:
            before = store.snapshot()
            store.reserve(5_000)
            store.reserve(100)
        key, entry = _key(random), random.randbytes(random.randrange(12))
        assert store.put(key, entry[:5], entry[5:]) == expected.get(key)
        expected[key] = entry
        if number == 999:
            early = dict(expected)

    assert len(store) == len(expected) > 5_000
    assert dict(store.snapshot()) == expected
    assert dict(before) == early
    assert all(store.get(key) == entry for key, entry in expected.items())
