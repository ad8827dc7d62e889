"""Names and texts of any content are quoted correctly in generated SQL."""

import json

import pytest
from pyspark.sql import SparkSession

from conformance.streams.test_engine_semantics import by_topic_and_partition, drive, driver_of_plan
from duolog import Topology, col, count, lit, max_
from duolog.testing.reference import ReferenceEvaluator, SourceRecord

pytestmark = pytest.mark.spark

TEXTS = [
    "it's",
    'q"q',
    "back\\slash",
    "ends in \\",
    "\\'",
    "\\n",
    "new\nline",
    "\x00\t",
    "a' OR '1'='1",
    "-- /* */ ;",
    "%_",
    "${env:HOME}",
    "${spark.master}",
    "tick`tock",
    "a.b",
    "select",
    "k0",
    "é中🙂\u2028",
]


def records(*rows: dict[str, object]) -> list[SourceRecord]:
    return [
        SourceRecord("in", 0, at, at, b"k", json.dumps(row, ensure_ascii=False).encode())
        for at, row in enumerate(rows)
    ]


def ensure_same(spark: SparkSession, topology: Topology, given: list[SourceRecord]) -> None:
    plan = topology.build()
    expected = by_topic_and_partition(ReferenceEvaluator(plan, tasks=2).run(given))
    assert expected
    assert by_topic_and_partition(drive(driver_of_plan(spark, plan, 0), given)) == expected


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_text_is_never_interpreted_as_sql(spark: SparkSession, text: str) -> None:
    """Regression: a literal `${env:HOME}` was replaced by the home directory."""
    topology = Topology("texts")
    texts = topology.stream("in", key="k STRING", value="a STRING")
    texts.map_values(text=lit(text), same=col("a") == text, one_of=col("a").isin(text, "x")).to("o")

    ensure_same(spark, topology, records({"a": text}, {"a": "other"}))


@pytest.mark.parametrize("name", TEXTS, ids=ascii)
def test_a_column_may_have_any_name(spark: SparkSession, name: str) -> None:
    quoted = "`" + name.replace("`", "``") + "`"
    topology = Topology("names")
    named = topology.stream("in", key="k STRING", value=f"{quoted} STRING, other BIGINT")
    named.to("copy")
    grouped = named.map_values(name, z=col(name)).group_by(name)
    grouped.aggregate(count().alias(f"{name}2"), most=max_("z")).to("out")

    ensure_same(spark, topology, records({name: "x", "other": 1}, {name: "y", "other": 2}))


def test_names_that_differ_in_case_only_are_two_columns(spark: SparkSession) -> None:
    topology = Topology("case")
    both = topology.stream("in", key="k STRING", value="a STRING, A BIGINT")
    both.map_values("a", "A", more=col("A") + 1).group_by("a").count("n").to("out")
    both.to("copy")

    ensure_same(spark, topology, records({"a": "x", "A": 1}, {"A": 2}, {"a": "y"}))
