"""Stores for the rows of tables: memory per row, look-ups, and rate of filling, side by side.

Each store runs in a process of its own and is filled with keys in random order, as a topic has
them. Times are processor time, which other processes disturb less. `lmdb` and `rocksdict` are
measured if they are installed. Memory is the growth of the proportional set size, which includes
mapped files; the kernel may evict those.

    tuples      dict of keys to decoded rows
    dict        dict of keys to bytes
    buckets     `RowStore`, with `KeyIndex` for ranges
    lmdb, sqlite, duckdb, rocksdict     the same bytes in an embedded database
"""

import argparse
import gc
import importlib.util
import json
import multiprocessing
import sqlite3
import statistics
import struct
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, Protocol

from bench.common.results_file import write_result

from duolog.runtime.packed.row_store import RowStore
from duolog.runtime.sql.tables.key_index import KeyIndex

_META = struct.Struct(">qqI")
_AT_ONCE = 5_000
_RANGE = 100

Pair = tuple[bytes, bytes]


class Store(Protocol):
    """A store under test."""

    def fill(self, rows: Iterator[Pair]) -> None: ...
    def get(self, key: bytes) -> object: ...
    def between(self, low: bytes, high: bytes) -> "list[object] | None": ...


class Tuples:
    """Decoded rows by key."""

    def __init__(self, _directory: str) -> None:
        self._rows: dict[tuple[str], tuple[object, ...]] = {}

    def fill(self, rows: Iterator[Pair]) -> None:
        for key, entry in rows:
            time_ms, offset, partition = _META.unpack_from(entry)
            value = json.loads(entry[_META.size :])
            row = (key.decode(), *value.values(), time_ms, partition, offset)
            self._rows[row[0],] = row

    def get(self, key: bytes) -> object:
        return self._rows[key.decode(),]

    def between(self, low: bytes, high: bytes) -> list[object] | None:
        return None


class Dict:
    """Bytes by key."""

    def __init__(self, _directory: str) -> None:
        self._rows: dict[bytes, bytes] = {}

    def fill(self, rows: Iterator[Pair]) -> None:
        for key, entry in rows:
            self._rows[key] = entry

    def get(self, key: bytes) -> object:
        return self._rows[key]

    def between(self, low: bytes, high: bytes) -> list[object] | None:
        return None


class Buckets:
    """The store of Duolog."""

    def __init__(self, _directory: str) -> None:
        self._rows = RowStore()
        self._index: KeyIndex | None = None

    def fill(self, rows: Iterator[Pair]) -> None:
        for key, entry in rows:
            self._rows.put(key, entry)

    def get(self, key: bytes) -> object:
        return self._rows.get(key)

    def between(self, low: bytes, high: bytes) -> list[object] | None:
        if self._index is None:
            self._index = KeyIndex(key for key, _ in self._rows.snapshot())
        return [self._rows.get(key) for key in self._index.between(low, high)]


class Lmdb:
    """A memory-mapped tree."""

    def __init__(self, directory: str) -> None:
        import lmdb  # noqa: PLC0415 - may be missing

        self._file = lmdb.open(directory, map_size=1 << 34, sync=False, metasync=False, lock=False)

    def fill(self, rows: Iterator[Pair]) -> None:
        while some := list(islice(rows, _AT_ONCE)):
            with self._file.begin(write=True) as transaction:
                transaction.cursor().putmulti(some)

    def get(self, key: bytes) -> object:
        with self._file.begin() as transaction:
            return transaction.get(key)

    def between(self, low: bytes, high: bytes) -> list[object] | None:
        found: list[object] = []
        with self._file.begin() as transaction:
            cursor = transaction.cursor()
            cursor.set_range(low)
            for key, entry in cursor:
                if key > high:
                    break
                found.append(entry)
        return found


class Sqlite:
    """A table of SQLite."""

    def __init__(self, directory: str) -> None:
        self._file = sqlite3.connect(f"{directory}/rows.db", isolation_level=None)
        for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -200000"):
            self._file.execute(f"PRAGMA {pragma}")
        self._file.execute("CREATE TABLE t (k BLOB PRIMARY KEY, v BLOB) WITHOUT ROWID")

    def fill(self, rows: Iterator[Pair]) -> None:
        while some := list(islice(rows, _AT_ONCE)):
            self._file.execute("BEGIN")
            self._file.executemany("INSERT OR REPLACE INTO t VALUES (?, ?)", some)
            self._file.execute("COMMIT")

    def get(self, key: bytes) -> object:
        return self._file.execute("SELECT v FROM t WHERE k = ?", (key,)).fetchone()[0]

    def between(self, low: bytes, high: bytes) -> list[object] | None:
        asked = self._file.execute("SELECT v FROM t WHERE k BETWEEN ? AND ?", (low, high))
        return asked.fetchall()


class Duckdb:
    """A table of DuckDB."""

    def __init__(self, _directory: str) -> None:
        import duckdb  # noqa: PLC0415 - measured in its own process

        self._database = duckdb.connect(config={"threads": 1})
        self._database.execute("CREATE TABLE t (k BLOB PRIMARY KEY, v BLOB)")

    def fill(self, rows: Iterator[Pair]) -> None:
        while some := list(islice(rows, 10 * _AT_ONCE)):
            keys, entries = zip(*some, strict=True)
            self._database.execute(
                "INSERT OR REPLACE INTO t SELECT unnest(?::BLOB[]), unnest(?::BLOB[])",
                [list(keys), list(entries)],
            )

    def get(self, key: bytes) -> object:
        found = self._database.execute("SELECT v FROM t WHERE k = ?", (key,)).fetchone()
        return found and found[0]

    def between(self, low: bytes, high: bytes) -> list[object] | None:
        asked = self._database.execute("SELECT v FROM t WHERE k BETWEEN ? AND ?", (low, high))
        return list(asked.fetchall())


class Rocksdict:
    """RocksDB."""

    def __init__(self, directory: str) -> None:
        import rocksdict  # noqa: PLC0415 - may be missing

        options = rocksdict.Options(raw_mode=True)
        options.create_if_missing(True)  # noqa: FBT003
        self._library = rocksdict
        self._file = rocksdict.Rdict(f"{directory}/rows", options=options)

    def fill(self, rows: Iterator[Pair]) -> None:
        while some := list(islice(rows, _AT_ONCE)):
            batch = self._library.WriteBatch(raw_mode=True)
            for key, entry in some:
                batch.put(key, entry)
            self._file.write(batch)

    def get(self, key: bytes) -> object:
        return self._file.get(key)

    def between(self, low: bytes, high: bytes) -> list[object] | None:
        found: list[object] = []
        for key, entry in self._file.items(from_key=low):
            if key > high:
                break
            found.append(entry)
        return found


STORES: dict[str, tuple[str, Callable[[str], Store]]] = {
    "tuples": ("", Tuples),
    "dict": ("", Dict),
    "buckets": ("", Buckets),
    "lmdb": ("lmdb", Lmdb),
    "sqlite": ("", Sqlite),
    "duckdb": ("duckdb", Duckdb),
    "rocksdict": ("rocksdict", Rocksdict),
}


def rows(count: int) -> Iterable[Pair]:
    """Yield keys in random order, with entries of about 70 bytes."""
    numbers = list(range(count))
    Random(5).shuffle(numbers)  # noqa: S311 - the same order each time
    for offset, number in enumerate(numbers):
        value = f'{{"NAME":"rider {number}","RIDES":{number % 97},"KM":{number % 1013 / 7}}}'
        place = _META.pack(1_700_000_000_000 + offset, offset, offset % 4)
        yield _key(number), place + value.encode()


def _key(number: int) -> bytes:
    return f"r{number:07d}".encode()


def _memory() -> int:
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    raise AssertionError


def _quantiles(times_us: list[float]) -> dict[str, float]:
    cuts = statistics.quantiles(times_us, n=100)
    return {"p50_us": round(cuts[49], 2), "p99_us": round(cuts[98], 2)}


def _taken_us(work: Callable[[], object]) -> float:
    started = time.thread_time_ns()
    work()
    return (time.thread_time_ns() - started) / 1000


def measure(name: str, count: int, answers: "multiprocessing.Queue[dict[str, Any]]") -> None:
    """Measure one store, and put the figures into the queue."""
    with tempfile.TemporaryDirectory(prefix="duolog-stores-") as directory:
        file = Path(directory) / "given"
        with file.open("wb") as out:
            for key, entry in rows(count):
                out.write(struct.pack("<HH", len(key), len(entry)) + key + entry)

        def read() -> Iterator[Pair]:
            with file.open("rb") as source:
                while sizes := source.read(4):
                    of_key, of_entry = struct.unpack("<HH", sizes)
                    yield source.read(of_key), source.read(of_entry)

        gc.collect()
        started = time.process_time()
        for _ in read():
            pass
        reading_s = time.process_time() - started
        before = _memory()
        store = STORES[name][1](directory)
        started = time.process_time()
        store.fill(read())
        filling_s = time.process_time() - started - reading_s
        gc.collect()
        memory = _memory() - before
        random = Random(1)  # noqa: S311 - the same keys each time
        keys = [_key(random.randrange(count)) for _ in range(20_000)]
        found: dict[str, Any] = {
            "rows_per_second": round(count / filling_s, -3),
            "bytes_per_row": round(memory / count),
            "get": _quantiles([_taken_us(lambda key=key: store.get(key)) for key in keys]),
        }
        if store.between(_key(0), _key(1)) is not None:
            starts = [random.randrange(count - _RANGE) for _ in range(300)]
            found["range_of_100"] = _quantiles(
                [
                    _taken_us(lambda at=at: store.between(_key(at), _key(at + _RANGE - 1)))
                    for at in starts
                ]
            )
            found["bytes_per_row_with_ranges"] = round((_memory() - before) / count)
        answers.put(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--stores", nargs="*", default=list(STORES))
    options = parser.parse_args()
    results: dict[str, object] = {"rows": options.rows}
    context = multiprocessing.get_context("spawn")
    for name in options.stores:
        needed = STORES[name][0]
        if needed and importlib.util.find_spec(needed) is None:
            print(f"{name} is not installed")
            continue
        answers: multiprocessing.Queue[dict[str, Any]] = context.Queue()
        process = context.Process(target=measure, args=(name, options.rows, answers))
        process.start()
        results[name] = answers.get()
        process.join()
        print(name, results[name], flush=True)
    write_result("table_stores", results)


if __name__ == "__main__":
    main()
