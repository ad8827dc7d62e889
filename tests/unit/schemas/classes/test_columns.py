"""Columns of classes, and instances of rows."""

import datetime as dt
import enum
import uuid
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, TypedDict

import pytest

from duolog.core.types import render_columns
from duolog.schemas.classes import Meta
from duolog.schemas.classes.columns import columns_of, instance_maker
from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.schema import Language


class Status(enum.Enum):
    NEW = "new"
    PAID = "is paid"


class Place(TypedDict):
    city: str


@dataclass
class Visit:
    user: Annotated[str, Meta(name="userName")]
    day: dt.date
    at: dt.time
    who: uuid.UUID
    status: Status
    price: Annotated[Decimal, Meta(precision=5, scale=1)]
    places: tuple[Place, ...] = ()
    labels: dict[str, Status] = field(default_factory=dict)
    note: str | None = None


@dataclass
class Tree:
    children: "list[Tree]"


def test_columns_have_the_names_of_the_schema() -> None:
    columns = columns_of(Visit, Language.AVRO)

    assert render_columns(columns) == (
        "userName STRING, day DATE, at TIME, who STRING, status STRING, price DECIMAL(5,1), "
        "places ARRAY<STRUCT<city STRING>>, labels MAP<STRING, STRING>, note STRING"
    )


def test_dates_and_times_are_texts_in_json() -> None:
    types = {column.name: str(column.type) for column in columns_of(Visit, Language.JSON)}

    assert (types["day"], types["at"]) == ("STRING", "STRING")


def test_a_class_inside_itself_has_no_columns() -> None:
    with pytest.raises(
        InvalidSchemaError, match=r'of Tree: "children\[\]" is a Tree inside a Tree'
    ):
        columns_of(Tree, Language.AVRO)


@pytest.mark.parametrize(
    ("day", "at", "status"),
    [
        (dt.date(2024, 2, 29), 3_600_001, "PAID"),
        ("2024-02-29", "01:00:00.001000", "is paid"),
        (dt.date(2024, 2, 29), 3_600_001, "STATUS_PAID"),
    ],
)
def test_rows_of_each_language_make_the_same_instance(day: Any, at: Any, status: str) -> None:
    row = {
        "userName": "bob",
        "day": day,
        "at": at,
        "who": "00000000-0000-0000-0000-000000000007",
        "status": status,
        "price": Decimal("1.5"),
        "places": [{"city": "Rome"}],
        "labels": {"a": status},
        "note": None,
        "other": 1,
    }

    found = instance_maker(Visit)(row)

    assert found == Visit(
        "bob",
        dt.date(2024, 2, 29),
        dt.time(1, 0, 0, 1000),
        uuid.UUID(int=7),
        Status.PAID,
        Decimal("1.5"),
        (Place(city="Rome"),),
        {"a": Status.PAID},
    )


def test_a_class_that_no_schema_describes_gets_the_values_as_they_are() -> None:
    @dataclass
    class Plain:
        price: Decimal

    assert instance_maker(Plain)({"price": Decimal(1)}) == Plain(Decimal(1))


def test_a_missing_field_is_named() -> None:
    with pytest.raises(TypeError, match='Visit needs "day", which is not a column'):
        instance_maker(Visit)({"userName": "bob"})


@dataclass
class Line:
    sku: str
    count: int = 1
    tags: list[str] = field(default_factory=list)
    note: str | None = "none given"


def test_a_null_of_an_earlier_version_becomes_the_default_of_the_class() -> None:
    row = {"sku": "pear", "count": None, "tags": None, "note": None}

    assert instance_maker(Line)(row) == Line("pear", 1, [], None)
    assert instance_maker(Line)({**row, "count": 0}).count == 0


def test_a_null_of_a_field_without_a_default_is_none() -> None:
    found = instance_maker(Line)({"sku": None, "count": 2, "tags": [], "note": "a"})

    assert found.sku is None
