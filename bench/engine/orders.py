"""Orders in JSON, AVRO, PROTOBUF and JSON_SR: rows, topologies, and the results that are right.

    key customer STRING, value (item, variant, quantity, price, currency, paid, ordered_at, note)

    stateless   drops orders of less than 20 pieces, keeps all columns and adds the total
    aggregate   number of orders, sum of quantities and of prices by customer

There are `VALUES` different values, so that the records of all formats are written quickly, and
`CUSTOMERS` keys. Prices are multiples of a quarter: their sums do not depend on the order of the
records. No value is null: Protobuf reads a missing text as an empty one.
"""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from bench.engine.streams_comparison import Record

from duolog import Topology, col, count, sum_
from duolog.core.types import parse_columns
from duolog.plan.formats import LANGUAGES, Format
from duolog.registry.client import HttpRegistry
from duolog.runtime.schema_registries import provide_registries
from duolog.schemas.columns import text_of
from duolog.serde.row import Row
from duolog.serde.serde import value_serde

FORMATS: Final = ("JSON", "AVRO", "PROTOBUF", "JSON_SR")
ROWS: Final = ("stateless", "aggregate")
CUSTOMERS: Final = 100_000
VALUES: Final = 20_000
QUANTITY_MIN: Final = 20
BEGIN_MS: Final = 1_700_000_000_000

COLUMNS: Final = (
    "item STRING, variant STRING, quantity INT, price DOUBLE, currency STRING, paid BOOLEAN, "
    "ordered_at BIGINT, note STRING"
)
PRICED: Final = f"{COLUMNS}, total DOUBLE"
SUMS: Final = "orders BIGINT, quantity BIGINT, price DOUBLE"
_RESULTS: Final = {"stateless": PRICED, "aggregate": SUMS}
_CURRENCIES: Final = ("EUR", "USD", "GBP", "JPY")
_QUANTITY, _PRICE = 2, 3


def values() -> list[Row]:
    """Return the different values."""
    rng = random.Random(VALUES)  # noqa: S311 - nothing secret
    return [
        (
            f"item-{rng.randrange(5_000):05}",
            f"variant {rng.choice('ABCDEFGH')}, size {rng.randrange(30, 50)}",
            number % 100,
            rng.randrange(4, 40_000) / 4,
            rng.choice(_CURRENCIES),
            rng.random() < 0.9,
            BEGIN_MS + rng.randrange(10_000_000),
            f"deliver to the back door, ring {number % 7} times" if number % 4 == 0 else "",
        )
        for number in range(VALUES)
    ]


def customers(orders: int) -> Iterator[int]:
    """Yield the customer of each order; its value is the next of `values`, in turns."""
    rng = random.Random(orders)  # noqa: S311 - nothing secret
    for _ in range(orders):
        yield rng.randrange(CUSTOMERS)


def key_of(customer: int) -> str:
    return f"customer-{customer:06}"


def bound_format(name: str, topic: str, columns: str, registry: str) -> Format:
    """Return a format that writes the columns of a topic; their schema is registered."""
    if name == "JSON":
        return Format(name)
    schema = text_of(LANGUAGES[name], parse_columns(columns), name=None, bare=False)
    number = HttpRegistry(registry).register(f"{topic}-value", schema)
    options = {"id": str(number), "registry": registry, "schema": schema.text}
    return Format(name, tuple(sorted(options.items())))


def records(name: str, topic: str, registry: str, orders: int) -> Iterator[Record]:
    """Yield the orders in a format."""
    provide_registries()
    form = bound_format(name, topic, COLUMNS, registry)
    serde = value_serde(form.name, parse_columns(COLUMNS), form.options)
    encoded = [serde.serialize(row) or b"" for row in values()]
    for number, customer in enumerate(customers(orders)):
        yield key_of(customer), encoded[number % VALUES], BEGIN_MS + number


def topology(row: str, form: str, name: str, source: str, result: str) -> Topology:
    """Return the topology of a row, which reads and writes values in a format."""
    built = Topology(name)
    orders = built.stream(source, key="customer STRING", value=COLUMNS, value_format=form)
    if row == "stateless":
        kept = orders.filter(col("quantity") >= QUANTITY_MIN)
        total = col("price") * col("quantity")
        kept.with_columns(total=total).to(result, value_format=form, partitions=2)
    else:
        sums = orders.group_by_key().aggregate(
            orders=count(), quantity=sum_("quantity"), price=sum_("price")
        )
        sums.to(result, value_format=form, partitions=2)
    return built


@dataclass(frozen=True, slots=True)
class Expected:
    """The results of a row over a number of orders."""

    stateless: Counter[Row]
    """How often each row is written."""
    aggregate: dict[bytes, Row]
    """The last row of each key."""

    @classmethod
    def of(cls, orders: int) -> "Expected":
        """Compute the results in plain Python."""
        rows = values()
        priced: Counter[Row] = Counter()
        sums: dict[bytes, list[int | float]] = {}
        for number, customer in enumerate(customers(orders)):
            row = rows[number % VALUES]
            quantity, price = row[_QUANTITY], row[_PRICE]
            assert isinstance(quantity, int)
            assert isinstance(price, float)
            if quantity >= QUANTITY_MIN:
                priced[(*row, price * quantity)] += 1
            kept = sums.setdefault(key_of(customer).encode(), [0, 0, 0.0])
            kept[0] += 1
            kept[1] += quantity
            kept[2] += price
        return cls(priced, {key: tuple(kept) for key, kept in sums.items()})

    def ensure(
        self, row: str, form: str, registry: str, found: Iterable[tuple[bytes, bytes]]
    ) -> int:
        """Compare all results, keys and values as they were read; return how many there are.

        Raises:
            SystemExit: they are not the expected ones.
        """
        options = () if form == "JSON" else (("registry", registry),)
        serde = value_serde(form, parse_columns(_RESULTS[row]), options)
        results = list(found)
        if row == "stateless":
            # Equal rows have equal bytes, so that few are decoded.
            counted = Counter(value for _, value in results)
            decoded: Counter[Row] = Counter()
            for value, times in counted.items():
                decoded[_row(serde.deserialize(value))] += times
            _ensure_equal(row, form, decoded, self.stateless)
        else:
            last = dict(results)
            sums = {key: _row(serde.deserialize(value)) for key, value in last.items()}
            _ensure_equal(row, form, sums, self.aggregate)
        return len(results)


def _row(found: Row | None) -> Row:
    return () if found is None else tuple(found)


def _ensure_equal(row: str, form: str, found: object, expected: object) -> None:
    if found != expected:
        raise SystemExit(f"{row} in {form}: wrong results, such as {_examples(found, expected)}")


def _examples(found: object, expected: object) -> Sequence[object]:
    assert isinstance(found, dict)
    assert isinstance(expected, dict)
    keys = (found | expected).keys()
    wrong = (key for key in keys if found.get(key) != expected.get(key))
    return [
        (key, found.get(key), expected.get(key)) for key, _ in zip(wrong, range(3), strict=False)
    ]
