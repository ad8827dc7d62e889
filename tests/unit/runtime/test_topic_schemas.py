"""Typed topics: columns of a class, instances in functions, schemas in the registry."""

import datetime as dt
import enum
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pytest

from duolog import Application, Meta, Topology, TypedSerde, col
from duolog.core.errors import ConfigError, DuologError, RegistryError, StatementError
from duolog.registry.in_process import InProcessRegistry
from duolog.schemas.schema import Language
from duolog.schemas.source import SchemaText, provide, withdraw
from duolog.testing import TopologyDriver

ADDRESS = "mock://typed-topics"
SETTINGS = {"schema.registry.url": ADDRESS}
FORMATS = {"AVRO": "avro", "JSON_SR": "json", "PROTOBUF": "protobuf"}


class Status(enum.Enum):
    NEW = "new"
    PAID = "paid"


@dataclass
class Line:
    sku: str
    price: Annotated[Decimal, Meta(precision=9, scale=2)]
    count: int = 1


@dataclass
class Order:
    id: int
    at: dt.datetime
    who: uuid.UUID
    status: Status
    lines: list[Line] = field(default_factory=list)
    tags: set[str] = field(default_factory=set)
    note: str | None = None


class Total(NamedTuple):
    id: int
    total: float
    note: str | None = None


ORDER = Order(
    7,
    dt.datetime(2024, 2, 29, 12, 0, 0, 250_000, tzinfo=dt.UTC),
    uuid.UUID(int=5),
    Status.PAID,
    [Line("a", Decimal("1.25"), 2), Line("b", Decimal("10.00"))],
    {"x"},
)


@pytest.fixture
def registry() -> Iterator[InProcessRegistry]:
    made = InProcessRegistry()
    provide(ADDRESS, made)
    yield made
    withdraw(ADDRESS)


def totals(form: str, seen: list[Order] | None = None) -> Topology:
    def total(value: Order) -> float:
        if seen is not None:
            seen.append(value)
        return sum(float(line.price) * line.count for line in value.lines)

    topology = Topology("totals")
    orders = topology.stream("orders", key=str, value=Order, value_format=form)
    found = orders.map_values(id=col("id"), total=total, note=col("note"))
    found.to("totals", value=Total, value_format=form)
    return topology


def written(of: type, value: Any, form: str, registry: InProcessRegistry, topic: str) -> Any:
    return TypedSerde(of, registry=registry, format=FORMATS[form], topic=topic).serialize(value)


@pytest.mark.parametrize("form", FORMATS)
def test_functions_get_instances_and_results_are_read_as_instances(
    form: str, registry: InProcessRegistry
) -> None:
    seen: list[Order] = []
    driver = TopologyDriver(totals(form, seen), settings=SETTINGS)

    driver.input_topic("orders").pipe_bytes(
        b"k", written(Order, ORDER, form, registry, "orders"), 5
    )

    assert seen == [ORDER]
    assert driver.output_topic("totals").read_key_values() == [
        ("k", {"id": 7, "total": 12.5, "note": None})
    ]


@pytest.mark.parametrize("form", FORMATS)
def test_schemas_of_classes_are_registered_at_the_start(
    form: str, registry: InProcessRegistry
) -> None:
    TopologyDriver(totals(form), settings=SETTINGS)

    for subject, of in (("orders-value", Order), ("totals-value", Total)):
        serde = TypedSerde(of, registry=registry, format=FORMATS[form], subject=subject)
        assert registry.id_of(subject, serde.schema) is not None


def test_columns_are_those_of_the_class() -> None:
    topology = Topology("columns")

    avro = topology.stream("orders", value=Order, value_format="AVRO")
    json = topology.stream("orders", value=Order, value_format="JSON_SR")

    line = "ARRAY<STRUCT<sku STRING, price DECIMAL(9,2), count BIGINT>>"
    assert str(avro.schema) == (
        f"key () value (id BIGINT, at TIMESTAMP, who STRING, status STRING, lines {line}, "
        "tags ARRAY<STRING>, note STRING)"
    )
    assert "at STRING" in str(json.schema)


def test_columns_make_the_schema_of_a_topic_that_no_class_describes(
    registry: InProcessRegistry,
) -> None:
    topology = Topology("plain")
    visits = topology.stream("visits", key=str, value="place STRING")
    visits.to("places", value_format="AVRO")
    driver = TopologyDriver(topology, settings=SETTINGS)

    driver.input_topic("visits").pipe_input("bob", {"place": "park"})

    assert driver.output_topic("places").read_key_values() == [("bob", {"place": "park"})]
    assert registry.latest("places-value") is not None


def test_an_incompatible_class_to_write_is_refused_before_anything_is_registered(
    registry: InProcessRegistry,
) -> None:
    text = '{"type":"record","name":"Total","fields":[{"name":"id","type":"string"}]}'
    registry.register("totals-value", SchemaText(Language.AVRO, text))

    with pytest.raises(
        RegistryError, match='schema to write is incompatible with subject "totals-value"'
    ) as failed:
        TopologyDriver(totals("AVRO"), settings=SETTINGS)

    assert "TYPE_MISMATCH" in failed.value.detail
    assert registry.latest("orders-value") is None


def test_a_class_that_cannot_read_the_topic_is_refused(registry: InProcessRegistry) -> None:
    text = '{"type":"record","name":"Order","fields":[{"name":"id","type":"long"}]}'
    registry.register("orders-value", SchemaText(Language.AVRO, text))

    with pytest.raises(
        RegistryError, match='class to read is incompatible with subject "orders-value"'
    ) as failed:
        TopologyDriver(totals("AVRO"), settings=SETTINGS)

    assert "READER_FIELD_MISSING_DEFAULT_VALUE" in failed.value.detail


def test_a_topic_that_is_ahead_of_the_class_is_read_and_not_changed(
    registry: InProcessRegistry,
) -> None:
    @dataclass
    class Visit:
        user: str

    @dataclass
    class VisitOfTomorrow:
        __schema__ = Meta(name="Visit")
        user: str
        pages: int = 1

    data = written(VisitOfTomorrow, VisitOfTomorrow("bob", 3), "AVRO", registry, "visits")
    topology = Topology("visits")
    topology.stream("visits", value=Visit, value_format="AVRO").to("users")
    driver = TopologyDriver(topology, settings=SETTINGS)

    driver.input_topic("visits").pipe_bytes(None, data)

    assert driver.output_topic("users").read_key_values() == [(None, {"user": "bob"})]
    latest = registry.latest("visits-value")
    assert latest is not None
    assert latest.number == 1


def test_a_table_is_typed_too(registry: InProcessRegistry) -> None:
    topology = Topology("table")
    table = topology.table("totals", key=str, value=Total, value_format="AVRO", store="totals")
    table.to("copy", value_format="JSON")
    driver = TopologyDriver(topology, settings=SETTINGS)

    data = written(Total, Total(1, 2.5), "AVRO", registry, "totals")
    driver.input_topic("totals").pipe_bytes(b"k", data)

    assert driver.output_topic("copy").read_table() == {"k": {"id": 1, "total": 2.5, "note": None}}


def test_a_test_writes_rows_to_a_typed_topic(registry: InProcessRegistry) -> None:
    topology = Topology("rows")
    topology.stream("totals", key=str, value=Total, value_format="AVRO").to("copy")
    driver = TopologyDriver(topology, settings=SETTINGS)

    driver.input_topic("totals").pipe_input("k", {"id": 1, "total": 2.5})

    copied = [("k", {"id": 1, "total": 2.5, "note": None})]
    assert driver.output_topic("copy").read_key_values() == copied
    assert registry.latest("totals-value") is not None


def test_a_topology_with_typed_topics_needs_a_registry() -> None:
    with pytest.raises(ConfigError, match='schema of "orders-value" needs a schema registry'):
        TopologyDriver(totals("AVRO"))


def test_a_class_without_columns_is_refused_with_the_path() -> None:
    @dataclass
    class Inner:
        either: int | str

    @dataclass
    class Outer:
        inner: list[Inner]

    with pytest.raises(StatementError, match=r'columns of Outer: "inner\[\]\.either" is a union'):
        Topology("t").stream("t", value=Outer, value_format="AVRO")


def test_columns_that_are_not_the_fields_of_a_class_are_refused() -> None:
    visits = Topology("t").stream("visits", value="id BIGINT")

    with pytest.raises(StatementError, match="not the fields of Total"):
        visits.to("totals", value=Total, value_format="AVRO")
    with pytest.raises(StatementError, match="has no schema in the format JSON"):
        visits.to("totals", value=Total)


def test_an_application_checks_schemas_before_it_starts_anything(
    registry: InProcessRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = '{"type":"record","name":"Total","fields":[{"name":"id","type":"string"}]}'
    registry.register("totals-value", SchemaText(Language.AVRO, text))
    monkeypatch.setattr("duolog.runtime.application.ensure_reachable", lambda _servers: None)
    application = Application(
        totals("AVRO"),
        bootstrap_servers="127.0.0.1:1",
        data_dir=tmp_path,
        settings=SETTINGS,
    )

    with pytest.raises(DuologError, match="the schema to write is incompatible"):
        application.start()

    assert not application.runs
    assert registry.latest("orders-value") is None
