"""Formats with schemas: the kernel and the serdes read and write alike.

Rows are random, from a fixed seed. Bytes to read are what the serde writes, whole and damaged.
"""

import io
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import fastavro
import pytest

from conformance.spark.schema_values import (
    Columns,
    columns_of,
    damaged,
    random_columns,
    random_row,
)
from duolog.core.errors import SerdeError
from duolog.core.types import Column
from duolog.engine.kernel_classes import kernel_class
from duolog.engine.lowering.formats.formats import decode, encode
from duolog.engine.lowering.spark_sql.sql import spark_type
from duolog.plan.formats import Format
from duolog.registry.in_process import InProcessRegistry
from duolog.schemas.columns import text_of
from duolog.schemas.schema import Language
from duolog.schemas.source import SchemaText, provide, withdraw
from duolog.serde.serde import value_serde
from duolog.testing.registries import serve

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from duolog.serde.row import Row

pytestmark = pytest.mark.spark

ADDRESS: Final = "mock://schema-formats"
LANGUAGES: Final = {"AVRO": Language.AVRO, "JSON_SR": Language.JSON}
FORMATS: Final = tuple(LANGUAGES)
UNREADABLE: Final = "unreadable"
SCHEMAS: Final = 5
ROWS: Final = 20


@dataclass
class Registry:
    """A registry that both sides reach."""

    rules: InProcessRegistry

    def format_of(self, name: str, columns: Columns, *, bare: bool = False) -> Format:
        """Return a format that writes with the schema of columns."""
        schema = text_of(LANGUAGES[name], columns, name=None, bare=bare)
        number = self.rules.register(f"t{random.random()}", schema)  # noqa: S311 - a name
        single = (("single", "bare"),) if bare else ()
        return Format(
            name,
            (("id", str(number)), ("registry", ADDRESS), ("schema", schema.text), *single),
        )


@pytest.fixture
def registry(spark: "SparkSession") -> Iterator[Registry]:
    kernel_class(spark._jvm, "Kernel").register(spark._jsparkSession)  # noqa: SLF001
    rules = InProcessRegistry()
    provide(ADDRESS, rules)
    kernel_class(spark._jvm, "SchemaRegistry").provide(ADDRESS, serve(ADDRESS))  # noqa: SLF001
    yield Registry(rules)
    kernel_class(spark._jvm, "SchemaRegistry").withdraw(ADDRESS)  # noqa: SLF001
    withdraw(ADDRESS)


def written_by_kernel(
    spark: "SparkSession", of: Format, columns: Columns, rows: list["Row"]
) -> list[bytes | None]:
    names = [f"v{number}" for number in range(len(columns))]
    ddl = ", ".join(f"v{number} {spark_type(c.type)}" for number, c in enumerate(columns))
    data = f"duolog_try({encode(of, columns, names, 'value')})"
    frame = spark.createDataFrame(rows, ddl).coalesce(1)
    return [
        None if row.data is None else bytes(row.data)
        for row in frame.selectExpr(f"{data} AS data").collect()
    ]


def written_by_serde(of: Format, columns: Columns, rows: list["Row"]) -> list[bytes | None]:
    serde = value_serde(of.name, columns, of.options)

    def one(row: "Row") -> bytes | None:
        try:
            return serde.serialize(row)
        except SerdeError:
            return None

    return [one(row) for row in rows]


def read_by_kernel(
    spark: "SparkSession",
    of: Format,
    columns: Columns,
    data: list[bytes],
    shown: Format | None = None,
) -> list[object]:
    """Return each row in the format `shown`, by default as JSON; None for a missing row.

    A row that cannot be read is `UNREADABLE`.
    """
    decoded = decode(of, columns, "value", first=0)
    (read,) = decoded.parsed
    shown = shown or _shown(of, columns)
    again = encode(shown, columns, decoded.columns, "value").replace("p0.", "x.p0.")
    frame = spark.createDataFrame(
        spark.sparkContext.parallelize([(i, bytearray(item)) for i, item in enumerate(data)], 1),
        "i INT, value BINARY",
    )
    found = (
        frame.selectExpr("*", "CAST(NULL AS BINARY) AS headers")
        .selectExpr("i", f"duolog_try(named_struct('p0', {read})) AS x")
        .selectExpr("i", "x IS NULL AS bad", "x.p0 IS NULL AS missing", f"{again} AS json")
        .orderBy("i")
        .collect()
    )
    return [
        UNREADABLE if row.bad else None if row.missing or row.json is None else bytes(row.json)
        for row in found
    ]


def read_by_serde(of: Format, columns: Columns, data: list[bytes]) -> list[object]:
    serde = value_serde(of.name, columns, of.options)
    shown = _shown(of, columns)
    again = value_serde(shown.name, columns, shown.options)

    def one(item: bytes) -> object:
        try:
            row = serde.deserialize(item)
        except SerdeError:
            return UNREADABLE
        return again.serialize(row)

    return [one(item) for item in data]


def _shown(of: Format, columns: Columns) -> Format:
    """Return a format that shows rows with columns of any type."""
    single = (("single", "bare"),) if of.option("single") and len(columns) == 1 else ()
    return Format("JSON_SR", (("id", "1"), ("registry", ADDRESS), *single))


def assert_read_alike(
    spark: "SparkSession",
    of: Format,
    columns: Columns,
    data: list[bytes],
    *,
    damaged_from: int | None = None,
) -> None:
    """Compare both sides; of damaged bytes, the kernel may refuse what the serde reads.

    fastavro takes a negative number of a branch for one from the end, and Python's maps have null
    keys.
    """
    kernel = read_by_kernel(spark, of, columns, data)
    serde = read_by_serde(of, columns, data)
    differ = [
        (item.hex(" "), one, other)
        for at, (item, one, other) in enumerate(zip(data, kernel, serde, strict=True))
        if one != other
        and not (damaged_from is not None and at >= damaged_from and one == UNREADABLE)
    ]
    assert not differ, f"{of.name} {columns}: (bytes, kernel, serde) {differ[:5]}"


@pytest.mark.parametrize("seed", range(SCHEMAS))
@pytest.mark.parametrize("name", FORMATS)
def test_rows_of_random_columns(
    spark: "SparkSession", registry: Registry, name: str, seed: int
) -> None:
    chance = random.Random(seed)  # noqa: S311 - a test
    columns = random_columns(chance)
    of = registry.format_of(name, columns)
    rows = [random_row(chance, columns, entries_max=1) for _ in range(ROWS)]
    rows.append((None,) * len(columns))

    assert written_by_kernel(spark, of, columns, rows) == written_by_serde(of, columns, rows)

    rows = [random_row(chance, columns) for _ in range(ROWS)]
    whole = [data for data in written_by_serde(of, columns, rows) if data is not None]
    assert len(whole) == len(rows)
    broken = [data for one in whole for data in damaged(chance, one)]
    assert_read_alike(spark, of, columns, whole + broken, damaged_from=len(whole))


@pytest.mark.parametrize("seed", range(SCHEMAS))
@pytest.mark.parametrize("name", FORMATS)
def test_maps_with_several_entries_are_written_alike(
    spark: "SparkSession", registry: Registry, name: str, seed: int
) -> None:
    """The rows reach Spark as bytes: PySpark changes the order of entries of Python's dicts."""
    chance = random.Random(seed)  # noqa: S311 - a test
    columns = (*columns_of("M MAP<STRING, INT>, N MAP<BIGINT, MAP<STRING, ARRAY<INT>>>"),)
    columns += tuple(
        Column(f"R{number}", one.type) for number, one in enumerate(random_columns(chance))
    )
    of = registry.format_of(name, columns)
    rows = [random_row(chance, columns) for _ in range(ROWS)]
    several = {f"k{number}": number for number in range(20)}
    nested = {7 - number: {"b": [1], "a": None} for number in range(5)}
    rows.append((several, nested, *random_row(chance, columns[2:])))
    written = [data for data in written_by_serde(of, columns, rows) if data is not None]

    assert len(written) == len(rows)
    assert read_by_kernel(spark, of, columns, written, shown=of) == written


@pytest.mark.parametrize("name", FORMATS)
def test_a_single_column_without_a_record(
    spark: "SparkSession", registry: Registry, name: str
) -> None:
    chance = random.Random(0)  # noqa: S311 - a test
    for column in random_columns(chance, count=4):
        of = registry.format_of(name, (column,), bare=True)
        rows = [(None,), *(random_row(chance, (column,), entries_max=1) for _ in range(ROWS))]

        by_kernel = written_by_kernel(spark, of, (column,), rows)

        assert by_kernel == written_by_serde(of, (column,), rows)
        whole = [data for data in by_kernel if data is not None]
        assert_read_alike(spark, of, (column,), whole + [one[:-1] for one in whole])


@pytest.mark.parametrize("name", FORMATS)
def test_bytes_without_a_known_schema_are_bad_records(
    spark: "SparkSession", registry: Registry, name: str
) -> None:
    columns = columns_of("A INT")
    of = registry.format_of(name, columns)
    other = registry.rules.register("proto", SchemaText(Language.PROTOBUF, "message M{}"))
    data = [
        b"\0\0\0\0\1null",
        b"\0\0\0\0\1 null\n",
        b"",
        b"\0",
        b"\0\0\0\0",
        b"{}",
        b"\1\0\0\0\1\2",
        b"\0\xff\xff\xff\xff\2\2",
    ]
    data += [b"\0\0\0\0" + bytes([other]) + b"\0", b"\0\0\0\0" + bytes([other + 1]) + b"\2\2"]

    assert_read_alike(spark, of, columns, data)


def record(*fields: tuple[str, Any]) -> Any:
    named = [{"name": name, "type": kind} for name, kind in fields]
    return {"type": "record", "name": "R", "fields": named}


NODE: Final = {
    "type": "record",
    "name": "Node",
    "fields": [{"name": "n", "type": "int"}, {"name": "next", "type": ["null", "Node"]}],
}
ENTRIES: Final[dict[str, Any]] = {
    "type": "array",
    "items": {
        "type": "record",
        "name": "E",
        "connect.internal.type": "MapEntry",
        "fields": [{"name": "value", "type": "string"}, {"name": "key", "type": ["null", "int"]}],
    },
}
LONG: Final = "long"
FOREIGN: Final[dict[str, tuple[Any, Any, str]]] = {
    "names without regard to case": (
        record(("id", "int"), ("Name", "string"), ("NAME", "string")),
        {"id": 1, "Name": "a", "NAME": "b"},
        "NAME STRING, ID BIGINT, name STRING, MORE ARRAY<INT>",
    ),
    "fields without a column": (
        record(("a", NODE), ("m", {"type": "map", "values": ["null", "double"]}), ("b", "int"),
               ("f", {"type": "fixed", "name": "F", "size": 3}), ("e", "float"), ("c", LONG)),
        {"a": {"n": 1, "next": {"n": 2, "next": None}}, "m": {"x": 1.5, "y": None}, "b": 7,
         "f": b"abc", "e": 1.5, "c": -1},
        "B INT, C BIGINT",
    ),
    "a union of several types": (
        record(("u", ["null", "int", "string", NODE]), ("v", ["int", "boolean"]),
               ("w", ["null", "int", "string"])),
        {"u": "x", "v": True, "w": None},
        "U STRUCT<INT INT, STRING STRING>, V STRUCT<BOOLEAN BOOLEAN>, W STRUCT<`INT` INT>",
    ),
    "plain types as texts": (
        record(("a", "int"), ("b", LONG), ("c", "float"), ("d", "double"), ("e", "boolean"),
               ("f", {"type": "enum", "name": "U", "symbols": ["KM", "MI"]})),
        {"a": -1, "b": 2**40, "c": 0.5, "d": 1e20, "e": True, "f": "MI"},
        "A STRING, B STRING, C STRING, D STRING, E STRING, F STRING",
    ),
    "times": (
        record(("a", {"type": LONG, "logicalType": "timestamp-micros"}),
               ("b", {"type": LONG, "logicalType": "local-timestamp-millis"}),
               ("c", {"type": LONG, "logicalType": "timestamp-nanos"}),
               ("d", {"type": "int", "logicalType": "date"}),
               ("e", {"type": "int", "logicalType": "date"}),
               ("f", {"type": LONG, "logicalType": "timestamp-millis"})),
        {"a": -1, "b": 1_500, "c": 1_999_999, "d": 3, "e": 4, "f": 10**13},
        "A TIMESTAMP, B TIMESTAMP, C TIMESTAMP, D DATE, E INT, F BIGINT",
    ),
    "a time out of range": (
        record(("a", {"type": LONG, "logicalType": "timestamp-millis"})), {"a": 10**18},
        "A TIMESTAMP",
    ),
    "decimals": (
        record(("a", {"type": "fixed", "name": "F", "size": 4, "logicalType": "decimal",
                      "precision": 5}),
               ("b", {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}),
               ("c", {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2})),
        {"a": b"\xff\xff\xff\x85", "b": b"\x01\x00", "c": b""},
        "A DECIMAL(5, 1), B DECIMAL(20, 3), C BYTES",
    ),
    "a decimal that would be rounded": (
        record(("a", {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2})),
        {"a": b"\x01"}, "A DECIMAL(5, 1)",
    ),
    "entries of a map": (
        record(("m", ENTRIES), ("s", {"type": "map", "values": "int"})),
        {"m": [{"key": 1, "value": "a"}, {"key": 2, "value": "b"}, {"key": 1, "value": "c"}],
         "s": {"x": 1}},
        "M MAP<INT, STRING>, S MAP<STRING, INT>",
    ),
    "keys in bytes": (
        record(("m", {**ENTRIES, "items": {**ENTRIES["items"], "fields": [
            {"name": "key", "type": "bytes"}, {"name": "value", "type": "int"}]}})),
        {"m": [{"key": b"k", "value": 1}, {"key": b"l", "value": 2}, {"key": b"k", "value": 3}]},
        "M MAP<BYTES, INT>",
    ),
    "a decimal with too many decimal places": (
        record(("a", {"type": "bytes", "logicalType": "decimal", "precision": 2**31 - 1,
                      "scale": 2**31 - 1})),
        {"a": b"\x01"}, "A DECIMAL(5, 1)",
    ),
    "another type": (record(("a", "string")), {"a": "1"}, "A INT"),
    "a type that is missing in the columns": (record(("a", NODE)), {"a": {"n": 1, "next": None}},
                                              "A STRUCT<N INT, NEXT STRUCT<N INT>>"),
    "no record": ("string", "x", "A STRING"),
    "null": (["null", record(("a", "int"))], None, "A INT"),
}  # fmt: skip


@pytest.mark.parametrize("case", FOREIGN)
def test_avro_of_other_writers(spark: "SparkSession", registry: Registry, case: str) -> None:
    schema, value, declared = FOREIGN[case]
    number = registry.rules.register("other", SchemaText(Language.AVRO, json.dumps(schema)))
    out = io.BytesIO()
    plain = fastavro.parse_schema(schema)
    fastavro.schemaless_writer(out, plain, value)
    data = b"\0" + number.to_bytes(4, "big") + out.getvalue()

    assert_read_alike(spark, Format("AVRO", (("registry", ADDRESS),)), columns_of(declared), [data])


@pytest.mark.parametrize("declared", ["A ARRAY<STRUCT<X INT>>", "B INT"])
def test_items_without_bytes_are_limited(
    spark: "SparkSession", registry: Registry, declared: str
) -> None:
    """Three bytes claim a hundred thousand of them, and a record may have any number of blocks."""
    empty = {"type": "record", "name": "E", "fields": []}
    schema = record(("a", {"type": "array", "items": empty}), ("b", "int"))
    number = registry.rules.register("empty", SchemaText(Language.AVRO, json.dumps(schema)))
    head, block = b"\0" + number.to_bytes(4, "big"), b"\xc0\x9a\x0c"
    of = Format("AVRO", (("registry", ADDRESS),))

    one, many = read_by_kernel(
        spark, of, columns_of(declared), [head + b"\x06\0\2", head + 2 * block + b"\0\2"]
    )

    shown = b'{"B":1}' if declared == "B INT" else b'{"A":[{"X":null},{"X":null},{"X":null}]}'
    assert one == b"\0\0\0\0\1" + shown
    assert many == UNREADABLE
