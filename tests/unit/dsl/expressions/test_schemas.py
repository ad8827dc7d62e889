import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Optional

import pytest

from duolog import Topology, col
from duolog.core.errors import StatementError
from duolog.dsl.expressions.schemas import Declared, declared_schema

PAGE = "STRUCT<url STRING, seconds DOUBLE>"


@dataclass
class Page:
    url: str
    seconds: float | None


@dataclass
class Visit:
    user: str
    page: Page
    referrers: list[Page]
    tags: "dict[str, int]"
    at: Optional[dt.datetime] = None  # noqa: UP045 - as many people write it


@dataclass
class Tree:
    children: "list[Tree]"


@pytest.mark.parametrize(
    ("declared", "columns"),
    [
        (str, "value STRING"),
        (int, "value BIGINT"),
        (float, "value DOUBLE"),
        (bool, "value BOOLEAN"),
        (bytes, "value BYTES"),
        (Decimal, "value DECIMAL(38,18)"),
        (dt.datetime, "value TIMESTAMP"),
        (dt.date, "value DATE"),
        (list[str], "value ARRAY<STRING>"),
        (int | None, "value BIGINT"),
        ({"name": str, "fare": "DECIMAL(10,2)"}, "name STRING, fare DECIMAL(10,2)"),
        (
            {"page": {"url": str}, "by day": dict[dt.date, list[int]]},
            "page STRUCT<url STRING>, `by day` MAP<DATE, ARRAY<BIGINT>>",
        ),
        (
            Visit,
            f"user STRING, page {PAGE}, referrers ARRAY<{PAGE}>, tags MAP<STRING, BIGINT>, at TIMESTAMP",
        ),
        ("name STRING", "name STRING"),
    ],
)
def test_python_types_declare_columns(declared: Declared, columns: str) -> None:
    assert str(declared_schema("", declared)) == f"key () value ({columns})"


def test_streams_and_tables_accept_python_types_and_a_plain_type_is_one_value() -> None:
    topology = Topology("t")

    lines = topology.stream("lines", value=str)
    names = topology.table("names", key=int, value={"name": str})
    counts = topology.table("counts", key=str, value=int, value_format="json")
    days = topology.stream("days", key=dt.date, value=list[int])

    assert str(lines.schema) == "key () value (value STRING)"
    assert "key NONE () value KAFKA (value STRING)" in lines.node.action
    assert "key KAFKA (key BIGINT) value JSON (name STRING)" in names.node.action
    assert "value JSON (value BIGINT)" in counts.node.action
    assert "key JSON (key DATE) value JSON (value ARRAY<BIGINT>)" in days.node.action


def test_a_cast_accepts_a_python_type() -> None:
    found = Topology("t").stream("s", value={"a": str}).map_values(a=col("a").cast(int))

    assert str(found.schema.value[0]) == "a BIGINT"


@pytest.mark.parametrize(
    ("declared", "message", "help_given"),
    [
        (complex, "complex is not a column type", "text"),
        ({"a": {"b": set[str]}}, r"set\[str\] is not a column type", '"a.b"'),
        ({"a": list}, "list is not a column type", r"list[str]"),
        ({"a": int | str}, r"int \| str is not a column type", '"a"'),
        ({"a": Any}, "is not a column type", '"a"'),
        ({"a": 7}, "7 is not a column type", '"a"'),
        ({"a": None}, "None is not a column type", '"a"'),
        ({1: str}, "1 is not the name of a column", ""),
        ({"a": "STRNG"}, 'unknown type "STRNG"', "STRING"),
        (Tree, "Tree contains itself", ""),
    ],
)
def test_an_annotation_without_a_column_type_is_refused_at_its_place(
    declared: Any, message: str, help_given: str
) -> None:
    with pytest.raises(StatementError, match=message) as caught:
        Topology("t").stream("s", value=declared)

    assert help_given in f"{caught.value.detail} {caught.value.hint}"
    assert "test_schemas.py:" in caught.value.place


def test_an_annotation_that_cannot_be_resolved_is_refused() -> None:
    @dataclass
    class Local:
        page: "NoSuchClass"  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(StatementError, match="cannot read the annotations of Local") as caught:
        declared_schema("", Local)

    assert "NoSuchClass" in caught.value.detail
