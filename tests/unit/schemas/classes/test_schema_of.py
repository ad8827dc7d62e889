"""Schemas of Python classes in three languages, and the classes that have none."""

import datetime as dt
import enum
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict, cast

import pydantic
import pytest

from duolog import Meta, schema_of
from duolog.core.errors import DuologError
from duolog.schemas.languages import parse
from duolog.schemas.schema import Language


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
    """An order of a customer."""

    __schema__ = Meta(namespace="shop")

    id: Annotated[int, Meta(doc="counted from 1", aliases=("number",))]
    at: dt.datetime
    status: Status
    small: Annotated[int, Meta(bits=32)]
    photo: bytes
    who: uuid.UUID
    paid_by: str | None
    lines: list[Line] = field(default_factory=list)
    note: str | None = None
    rate: float | None = 0.5
    day: dt.date = dt.date(1970, 1, 3)
    opens: dt.time = dt.time(0, 0, 1)
    tags: dict[str, bool] = field(default_factory=dict)
    kind: Literal["shop", "web"] = "web"


def avro_fields(of: type) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in json.loads(schema_of(of))["fields"]}


def test_a_dataclass_becomes_an_avro_record() -> None:
    fields = avro_fields(Order)

    assert {name: one["type"] for name, one in fields.items()} == {
        "id": "long",
        "at": {"type": "long", "logicalType": "timestamp-micros"},
        "status": {
            "type": "enum",
            "name": "Status",
            "namespace": "shop",
            "symbols": ["NEW", "PAID"],
        },
        "small": "int",
        "photo": "bytes",
        "who": {"type": "string", "logicalType": "uuid"},
        "paid_by": ["null", "string"],
        "lines": {
            "type": "array",
            "items": {
                "type": "record",
                "name": "Line",
                "namespace": "shop",
                "fields": [
                    {"name": "sku", "type": "string"},
                    {
                        "name": "price",
                        "type": {
                            "type": "bytes",
                            "logicalType": "decimal",
                            "precision": 9,
                            "scale": 2,
                        },
                    },
                    {"name": "count", "type": "long", "default": 1},
                ],
            },
        },
        "note": ["null", "string"],
        "rate": ["double", "null"],
        "day": {"type": "int", "logicalType": "date"},
        "opens": {"type": "long", "logicalType": "time-micros"},
        "tags": {"type": "map", "values": "boolean"},
        "kind": {
            "type": "enum",
            "name": "OrderKind",
            "namespace": "shop",
            "symbols": ["shop", "web"],
        },
    }


def test_defaults_docs_and_aliases_of_a_class_are_in_its_avro_schema() -> None:
    fields = avro_fields(Order)

    assert {name: one["default"] for name, one in fields.items() if "default" in one} == {
        "lines": [],
        "note": None,
        "rate": 0.5,
        "day": 2,
        "opens": 1_000_000,
        "tags": {},
        "kind": "web",
    }
    assert fields["id"] == {
        "name": "id",
        "type": "long",
        "doc": "counted from 1",
        "aliases": ["number"],
    }
    whole = json.loads(schema_of(Order))
    assert (whole["namespace"], whole["name"], whole["doc"]) == (
        "shop",
        "Order",
        "An order of a customer.",
    )


def test_a_dataclass_becomes_a_json_schema() -> None:
    schema = json.loads(schema_of(Order, format="json"))

    assert schema["title"] == "shop.Order"
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["id", "at", "status", "small", "photo", "who", "paid_by"]
    assert schema["properties"]["status"] == {"type": "string", "enum": ["new", "paid"]}
    assert schema["properties"]["lines"] == {
        "type": "array",
        "items": {"$ref": "#/definitions/Line"},
        "default": [],
    }
    assert schema["properties"]["rate"] == {
        "oneOf": [{"type": "null"}, {"type": "number", "connect.type": "float64"}],
        "default": 0.5,
    }
    assert schema["definitions"]["Line"]["required"] == ["sku", "price"]


def test_a_dataclass_becomes_a_protobuf_message() -> None:
    lines = [line.strip() for line in schema_of(Order, format="protobuf").splitlines()]

    assert lines[:2] == ['syntax = "proto3";', "package shop;"]
    for line in (
        "int64 id = 1;",
        "google.protobuf.Timestamp at = 2;",
        "Status status = 3;",
        "int32 small = 4;",
        "bytes photo = 5;",
        "string who = 6;",
        "optional string paid_by = 7;",
        "repeated Line lines = 8;",
        "optional string note = 9;",
        "optional double rate = 10;",
        "google.type.Date day = 11;",
        "google.type.TimeOfDay opens = 12;",
        "map<string, bool> tags = 13;",
        "optional OrderKind kind = 14;",
        "STATUS_NEW = 0;",
        "STATUS_PAID = 1;",
    ):
        assert line in lines


def test_every_kind_of_class_has_the_same_schema() -> None:
    class Typed(TypedDict):
        user: str
        pages: int

    class Named(NamedTuple):
        user: str
        pages: int

    class Model(pydantic.BaseModel):
        user: str
        pages: int

    @dataclass
    class Data:
        user: str
        pages: int

    found = [avro_fields(of) for of in (Typed, Named, Model, Data)]

    assert found[0] == {
        "user": {"name": "user", "type": "string"},
        "pages": {"name": "pages", "type": "long"},
    }
    assert all(one == found[0] for one in found)


def test_the_constraints_and_aliases_of_a_pydantic_model_are_read() -> None:
    class Model(pydantic.BaseModel):
        amount: Decimal = pydantic.Field(max_digits=9, decimal_places=2, description="in EUR")
        user: str = pydantic.Field("nobody", alias="userName")

    fields = avro_fields(Model)

    assert fields["amount"]["type"]["precision"] == 9
    assert fields["amount"]["doc"] == "in EUR"
    assert fields["userName"]["default"] == "nobody"


def test_a_key_that_a_typed_dict_does_not_require_may_be_null() -> None:
    class Visit(TypedDict):
        user: str
        place: NotRequired[str]

    assert avro_fields(Visit)["place"] == {
        "name": "place",
        "type": ["null", "string"],
        "default": None,
    }


@dataclass
class Tree:
    label: str
    children: "list[Tree]" = field(default_factory=list)
    parent: "Tree | None" = None


@pytest.mark.parametrize("form", ["avro", "json", "protobuf"])
def test_a_class_may_contain_itself(form: Any) -> None:
    text = schema_of(Tree, format=form)

    assert "children" in text
    parse(Language[form.upper()], text, {})


def test_a_default_chooses_the_first_branch_of_a_union_in_avro() -> None:
    @dataclass
    class Reading:
        value: int | str | None = "none"

    assert avro_fields(Reading)["value"] == {
        "name": "value",
        "type": ["string", "long", "null"],
        "default": "none",
    }


def test_fields_of_protobuf_have_the_numbers_that_meta_gives() -> None:
    @dataclass
    class Visit:
        user: Annotated[str, Meta(number=7)]
        pages: int

    text = schema_of(Visit, format="protobuf")

    assert "string user = 7;" in text
    assert "int64 pages = 8;" in text


@dataclass
class Card:
    number: str


@dataclass
class Cash:
    amount: float


def made(annotation: Any, **default: Any) -> type:
    class Shop:
        pass

    Shop.__annotations__ = {"before": str, "field": annotation}
    for name, value in default.items():
        setattr(Shop, name, value)
    return dataclass(Shop)


@pytest.mark.parametrize(
    ("form", "annotation", "path", "reason"),
    [
        ("avro", Decimal, "field", "without precision"),
        ("avro", Annotated[Decimal, Meta(precision=39, scale=2)], "field", "precision 39"),
        ("avro", complex, "field", "complex"),
        ("avro", list, "field", "unknown types"),
        ("avro", tuple[int, str], "field", "several types"),
        ("avro", dict[float, int], "field{key}", "type of keys"),
        ("avro", list[dict[str, complex]], "field[]{}", "complex"),
        ("avro", int | dt.datetime, "field", "does not distinguish"),
        ("avro", Literal["a b"], "field", 'choice "a b"'),
        ("avro", Literal[1, 2], "field", "not texts"),
        ("json", dict[int, str], "field", "keys are not texts"),
        ("json", str | uuid.UUID, "field", "does not distinguish"),
        ("json", Card | Cash, "field", "does not distinguish"),
        ("protobuf", list[list[int]], "field[]", "a list inside"),
        ("protobuf", list[int | None], "field[]", "may be None inside"),
        ("protobuf", list[int] | None, "field", "may be None"),
        ("protobuf", int | list[int], "field", "union with a list"),
    ],
)
def test_what_a_language_cannot_express_is_refused_with_its_path(
    form: Any, annotation: Any, path: str, reason: str
) -> None:
    with pytest.raises(DuologError) as failed:
        schema_of(made(annotation), format=form)

    assert f'"{path}"' in failed.value.message
    assert reason in failed.value.message


def test_the_path_of_a_refused_type_leads_through_the_classes() -> None:
    @dataclass
    class Inner:
        amounts: list[Decimal]

    @dataclass
    class Outer:
        inner: dict[str, Inner]

    with pytest.raises(
        DuologError, match=r'schema of Outer: "inner\{\}\.amounts\[\]" is a Decimal'
    ):
        schema_of(Outer)


@pytest.mark.parametrize("form", ["avro", "json"])
def test_a_default_of_another_type_is_refused(form: Any) -> None:
    with pytest.raises(DuologError, match='"field" has a wrong default'):
        schema_of(made(int, field="one"), format=form)


def test_two_classes_of_one_name_are_refused() -> None:
    def other() -> type:
        @dataclass
        class Card:
            holder: str

        return Card

    with pytest.raises(DuologError, match='has the name "Card", which is the name of another type'):
        schema_of(made(Card | other()))


def test_what_is_not_a_class_with_fields_is_refused() -> None:
    with pytest.raises(DuologError, match="int is not a class that a schema can describe"):
        schema_of(int)


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(DuologError, match='in the format "xml"'):
        schema_of(Card, format=cast("Any", "xml"))


def evolved(form: Any, before: type, after: type) -> tuple[str, ...]:
    language = Language[form.upper()]
    old = parse(language, schema_of(before, format=form), {})
    new = parse(language, schema_of(after, format=form), {})
    return tuple(one.kind for one in new.incompatibilities(old))


def versions(default: Callable[[], Any]) -> tuple[type, type]:
    def first() -> type:
        @dataclass
        class Visit:
            user: str

        return Visit

    @dataclass
    class Visit:
        user: str
        place: str = field(default_factory=default) if default is not str else "home"

    return first(), Visit


@pytest.mark.parametrize("form", ["avro", "json", "protobuf"])
def test_a_field_that_is_added_with_a_default_is_compatible(form: Any) -> None:
    before, after = versions(str)

    assert evolved(form, before, after) == ()


def test_a_field_that_is_added_without_a_default_is_not_compatible() -> None:
    before, after = versions(lambda: "computed")

    assert evolved("avro", before, after) == ("READER_FIELD_MISSING_DEFAULT_VALUE",)
