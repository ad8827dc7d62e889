"""Instances of classes to bytes and back, over a registry in this process."""

import datetime as dt
import enum
import io
import json
import uuid
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

import fastavro
import jsonschema
import pydantic
import pytest

from duolog import Meta, TypedSerde
from duolog.core.errors import RegistryError, SerdeError
from duolog.registry.in_process import InProcessRegistry
from duolog.schemas.protobuf import parse as parse_protobuf
from duolog.schemas.schema import Language, Schema
from duolog.schemas.source import RegistryAwayError, SchemaText
from duolog.serde.typed import class_serde
from duolog.serde.wire_format import SchemaUnavailableError, framed, unframed

FORMS = ("avro", "json", "protobuf")


class Status(enum.Enum):
    NEW = "new"
    PAID = "paid"


@dataclass
class Card:
    number: str
    kind: Literal["card"] = "card"


@dataclass
class Cash:
    amount: float
    kind: Literal["cash"] = "cash"


@dataclass
class Order:
    id: int
    at: dt.datetime
    price: Annotated[Decimal, Meta(precision=9, scale=2)]
    who: uuid.UUID
    photo: bytes
    day: dt.date
    opens: dt.time
    paid: Card | Cash
    status: Status = Status.NEW
    tags: set[str] = field(default_factory=set)
    sizes: tuple[float, ...] = ()
    by_name: dict[str, int] = field(default_factory=dict)
    note: str | None = None
    parent: "Order | None" = None


ORDER = Order(
    2**53 + 1,
    dt.datetime(2024, 2, 29, 12, 30, 15, 123457, tzinfo=dt.UTC),
    Decimal("-1234567.89"),
    uuid.UUID(int=77),
    b"\x00\xff",
    dt.date(1969, 12, 31),
    dt.time(23, 59, 59, 999999),
    Cash(0.1),
    Status.PAID,
    {"a"},
    (1.5, -0.0),
    {"x": -1},
)
ORDER.parent = Order(
    0,
    dt.datetime(1969, 12, 31, 23, 59, 59, 1, tzinfo=dt.UTC),
    Decimal("0.00"),
    uuid.UUID(int=0),
    b"",
    dt.date(1, 1, 1),
    dt.time(0),
    Card("7"),
)


def serde_of(of: type, form: str, registry: InProcessRegistry | None = None) -> TypedSerde[Any]:
    return TypedSerde(of, registry=registry or InProcessRegistry(), format=form, topic="orders")


@pytest.mark.parametrize("form", FORMS)
def test_an_instance_is_read_as_it_was_written(form: str) -> None:
    orders = serde_of(Order, form)

    assert orders.deserialize(orders.serialize(ORDER)) == ORDER


@pytest.mark.parametrize("form", FORMS)
def test_none_is_a_record_without_bytes(form: str) -> None:
    orders = serde_of(Order, form)

    assert orders.serialize(None) is None
    assert orders.deserialize(None) is None


def payload_of(form: str, value: Any = ORDER) -> tuple[str, bytes]:
    orders = serde_of(type(value), form)
    data = orders.serialize(value)
    assert data is not None
    return orders.schema.text, unframed(data).payload


def test_fastavro_reads_the_same_values() -> None:
    text, payload = payload_of("avro")
    schema = fastavro.parse_schema(json.loads(text))

    found: Any = fastavro.schemaless_reader(io.BytesIO(payload), schema, None)

    assert found["id"] == ORDER.id
    assert found["at"] == ORDER.at
    assert found["price"] == ORDER.price
    assert found["who"] == ORDER.who
    assert found["day"] == ORDER.day
    assert found["opens"] == ORDER.opens
    assert found["status"] == "PAID"
    assert found["paid"] == {"amount": 0.1, "kind": "cash"}
    assert found["parent"]["paid"] == {"number": "7", "kind": "card"}


def test_protobuf_reads_the_same_values() -> None:
    text, payload = payload_of("protobuf")
    message: Any = parse_protobuf(text, {}).message_class("Order")()

    message.ParseFromString(payload[1:])  # after the byte that stands for the first message

    assert message.id == ORDER.id
    assert message.at.ToDatetime(tzinfo=dt.UTC) == ORDER.at
    assert int.from_bytes(message.price.value, "big", signed=True) == -123456789
    assert message.who == str(ORDER.who)
    assert (message.day.year, message.day.month, message.day.day) == (1969, 12, 31)
    assert message.opens.nanos == 999999000
    assert message.WhichOneof("paid") == "paid_cash"
    assert message.status == 1
    assert dict(message.by_name) == {"x": -1}
    assert not message.HasField("note")


def test_a_json_payload_is_valid_by_its_schema_and_has_all_digits() -> None:
    text, payload = payload_of("json")

    jsonschema.Draft7Validator(json.loads(text)).validate(json.loads(payload))
    assert b'"price":-1234567.89' in payload
    assert b'"at":"2024-02-29T12:30:15.123457Z"' in payload
    assert b'"status":"paid"' in payload


class VisitTuple(NamedTuple):
    user: str
    pages: int = 1


class VisitDict(TypedDict):
    user: str
    pages: NotRequired[int]


class VisitModel(pydantic.BaseModel):
    user: str = pydantic.Field(alias="userName")
    pages: int = 1


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("of", "value"),
    [
        (VisitTuple, VisitTuple("bob", 3)),
        (VisitDict, VisitDict(user="bob")),
        (VisitDict, VisitDict(user="bob", pages=0)),
        (VisitModel, VisitModel(userName="bob", pages=0)),
    ],
)
def test_instances_of_each_kind_of_class_are_read_back(form: str, of: type, value: Any) -> None:
    visits = serde_of(of, form)

    found = visits.deserialize(visits.serialize(value))

    assert found == value
    assert type(found) is type(value)


def test_a_pydantic_model_validates_what_is_read() -> None:
    class Positive(pydantic.BaseModel):
        number: int = pydantic.Field(gt=0)

    numbers = serde_of(Positive, "avro")
    data = numbers.serialize(Positive.model_construct(number=-1))

    with pytest.raises(SerdeError, match="cannot read a Positive from Avro") as failed:
        numbers.deserialize(data)

    assert "greater than 0" in failed.value.detail


def first_version() -> type:
    @dataclass
    class Visit:
        name: str
        pages: Annotated[int, Meta(bits=32)]

    return Visit


def second_version() -> type:
    @dataclass
    class Visit:
        user: Annotated[str, Meta(aliases=("name",))]
        pages: int
        place: str = "home"
        rating: float | None = None

    return Visit


@pytest.mark.parametrize("form", ["avro", "json"])
def test_records_of_an_earlier_class_are_read_with_aliases_and_defaults(form: str) -> None:
    registry = InProcessRegistry()
    registry.set_compatibility("NONE")
    before, after = first_version(), second_version()
    data = serde_of(before, form, registry).serialize(before("bob", 3))

    found = serde_of(after, form, registry).deserialize(data)

    assert found == after("bob", 3, "home", None)


def test_protobuf_reads_records_of_an_earlier_class_by_the_numbers_of_fields() -> None:
    registry = InProcessRegistry()
    before, after = first_version(), second_version()
    data = serde_of(before, "protobuf", registry).serialize(before("bob", 3))

    assert serde_of(after, "protobuf", registry).deserialize(data) == after("bob", 3, "home", None)


def test_an_avro_record_of_another_name_is_read() -> None:
    registry = InProcessRegistry()
    text = (
        '{"type":"record","name":"KsqlDataSourceSchema","fields":'
        '[{"name":"pages","type":"int"},{"name":"user","type":"string"}]}'
    )
    number = registry.register("visits-value", SchemaText(Language.AVRO, text))

    found = serde_of(VisitTuple, "avro", registry).deserialize(framed(number, b"\x06\x06bob"))

    assert found == VisitTuple("bob", 3)


@pytest.mark.parametrize("form", FORMS)
def test_the_schema_is_registered_once_under_the_topic(form: str) -> None:
    registry = InProcessRegistry()
    visits = serde_of(VisitTuple, form, registry)

    first, second = visits.serialize(VisitTuple("a")), visits.serialize(VisitTuple("b"))

    latest = registry.latest("orders-value")
    assert latest is not None
    assert latest.number == 1
    assert first is not None
    assert second is not None
    assert unframed(first).schema == unframed(second).schema == latest.schema_id


def test_an_incompatible_class_is_refused_before_anything_is_written() -> None:
    registry = InProcessRegistry()
    serde_of(VisitTuple, "avro", registry).register()

    @dataclass
    class VisitTupleOfToday:
        __schema__ = Meta(name="VisitTuple")
        user: str
        place: str

    with pytest.raises(RegistryError, match="incompatible"):
        serde_of(VisitTupleOfToday, "avro", registry).register()


def test_without_registration_the_subject_must_have_the_schema() -> None:
    registry = InProcessRegistry()
    visits = TypedSerde(VisitTuple, registry=registry, topic="v", auto_register=False)

    with pytest.raises(RegistryError, match='subject "v-value" does not have the schema'):
        visits.serialize(VisitTuple("bob"))
    TypedSerde(VisitTuple, registry=registry, topic="v").register()

    assert visits.serialize(VisitTuple("bob")) is not None


def test_a_context_of_confluent_kafka_names_topic_and_part() -> None:
    class Context:
        topic = "visits"
        field = "key"
        headers: Any = None

    registry = InProcessRegistry()
    visits: TypedSerde[VisitTuple] = TypedSerde(VisitTuple, registry=registry)

    data = visits.serializer(VisitTuple("bob"), Context())

    assert visits.deserializer(data, Context()) == VisitTuple("bob")
    assert registry.latest("visits-key") is not None


def test_a_record_whose_header_names_the_schema_is_read() -> None:
    class Context:
        topic = "visits"
        field = "value"
        headers: Any = None

    registry = InProcessRegistry()
    visits = serde_of(VisitTuple, "avro", registry)
    data = visits.serialize(VisitTuple("bob", 3))
    assert data is not None
    frame, payload = data[:5], data[5:]
    context = Context()
    context.headers = [("__value_schema_id", frame)]

    assert visits.deserializer(payload, context) == VisitTuple("bob", 3)


def test_a_serde_without_a_topic_says_so() -> None:
    with pytest.raises(SerdeError, match="its topic is unknown"):
        TypedSerde(VisitTuple, registry=InProcessRegistry()).serialize(VisitTuple("bob"))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"id": 2**63}, '"id" is 9223372036854775808, which is not an integer of 64 bits'),
        ({"id": True}, '"id" is True, not a value of int'),
        ({"id": "1"}, """"id" is '1', not a value of int"""),
        ({"at": dt.datetime(2024, 1, 1)}, "which has no time zone"),  # noqa: DTZ001 - the point
        ({"price": Decimal("1.234")}, "not a decimal(9,2)"),
        ({"price": Decimal("12345678.9")}, "not a decimal(9,2)"),
        ({"day": dt.datetime(2024, 1, 1, tzinfo=dt.UTC)}, '"day" is'),
        ({"paid": 7}, '"paid" is 7'),
        ({"status": "new"}, '"status" is '),
        ({"by_name": {1: 1}}, '"by_name{key}" is 1'),
        ({"sizes": (1.0, None)}, '"sizes[]" is None'),
        ({"note": 1}, '"note" is 1'),
    ],
)
def test_a_value_of_another_type_is_refused_with_its_path(
    form: str, change: dict[str, Any], reason: str
) -> None:
    order = Order(**{**vars(ORDER), **change})

    with pytest.raises(SerdeError, match="cannot write a Order") as failed:
        serde_of(Order, form).serialize(order)

    assert reason in failed.value.detail


@pytest.mark.parametrize("form", FORMS)
def test_damaged_bytes_are_refused(form: str) -> None:
    orders = serde_of(Order, form)
    data = orders.serialize(ORDER)
    assert data is not None

    with pytest.raises(SerdeError, match="cannot read a Order"):
        orders.deserialize(data[:-1])
    with pytest.raises(SerdeError, match="do not start with the id"):
        orders.deserialize(b"{}")


def test_a_message_of_another_name_is_refused() -> None:
    registry = InProcessRegistry()
    data = serde_of(Card, "protobuf", registry).serialize(Card("7"))
    registry.set_compatibility("NONE")

    with pytest.raises(SerdeError) as failed:
        serde_of(Order, "protobuf", registry).deserialize(data)

    assert "the message is a Card, not a Order" in failed.value.detail


def test_a_registry_that_is_down_stops_no_reader_of_known_schemas(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    registry = InProcessRegistry()
    visits = serde_of(VisitTuple, "avro", registry)
    data = visits.serialize(VisitTuple("bob"))
    visits.deserialize(data)

    monkeypatch.delattr(InProcessRegistry, "by_id")

    assert visits.deserialize(data) == VisitTuple("bob", 1)


class Changing(InProcessRegistry):
    """A registry that does not answer at first."""

    away = True

    def by_id(self, schema_id: int) -> Schema:
        if self.away:
            raise RegistryAwayError("the schema registry does not answer")
        return super().by_id(schema_id)


def test_a_record_can_be_read_after_the_registry_was_away() -> None:
    registry = Changing()
    cards = serde_of(Card, "avro", registry)
    data = cards.serialize(Card("7"))

    with pytest.raises(SchemaUnavailableError, match="cannot find the schema of id 1"):
        cards.deserialize(data)
    registry.away = False

    assert cards.deserialize(data) == Card("7")


def kept(serde: TypedSerde[Any]) -> int:
    return len(serde._decoders)  # noqa: SLF001 - the growth of memory cannot be seen otherwise


def test_json_records_with_many_ids_do_not_make_a_serde_grow() -> None:
    cards = serde_of(Card, "json")
    _, payload = payload_of("json", Card("7"))

    for number in range(50):
        assert cards.deserialize(framed(number, payload)) == Card("7")

    assert kept(cards) == 1


def test_a_serde_keeps_decoders_of_a_limited_number_of_schemas(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(class_serde, "DECODERS_MAX", 3)
    registry = InProcessRegistry()
    registry.set_compatibility("NONE")
    cards = serde_of(Card, "avro", registry)
    data = cards.serialize(Card("7"))
    assert data is not None
    text = json.loads(cards.schema.text)
    for number in range(6):
        more = SchemaText(Language.AVRO, json.dumps({**text, "doc": f"version {number}"}))
        schema_id = registry.register("orders-value", more)
        assert cards.deserialize(framed(schema_id, unframed(data).payload)) == Card("7")

    assert kept(cards) == 3
    assert cards.deserialize(data) == Card("7"), "one that was evicted is made again"


@pytest.mark.parametrize("text", [b"1e400", b"1" + b"0" * 400])
def test_a_number_beyond_a_float_is_infinity_as_jackson_reads_it(text: bytes) -> None:
    cash = serde_of(Cash, "json")

    found = cash.deserialize(framed(1, b'{"amount":-' + text + b',"kind":"cash"}'))

    assert found == Cash(float("-inf"))
