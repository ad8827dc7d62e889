"""Fields, elements and entries of nested values equal those of the reference evaluator."""

import json

import pytest
from pyspark.sql import SparkSession

from conformance.streams.test_engine_semantics import by_topic_and_partition, drive, driver_of_plan
from duolog import Topology, col, count, max_, sum_
from duolog.testing.reference import ReferenceEvaluator, SourceRecord

pytestmark = pytest.mark.spark

VALUE = (
    "page STRUCT<url STRING, Url STRING, `the ``place``` INT, site STRUCT<name STRING>>, stops ARRAY<STRING>, "
    "legs ARRAY<STRUCT<faa STRING>>, tags MAP<STRING, BIGINT>, at BIGINT, near INT"
)
PAGE = {"url": "/a", "Url": "/A", "the `place`": 3, "site": {"name": "shop"}}
GIVEN: list[dict[str, object]] = [
    {},
    {"page": {}, "stops": [], "legs": [], "tags": {}, "at": 0, "near": -1},
    {"page": {"site": {}}, "stops": [None], "legs": [None], "tags": {"it's": None}, "at": -1},
    {
        "page": PAGE,
        "stops": ["EWR", "ORD", "SFO"],
        "legs": [{"faa": "EWR"}, {}],
        "tags": {"it's": 5, "/a": 6},
        "at": 1,
        "near": -3,
    },
    {"page": PAGE, "stops": ["JFK"], "legs": [{"faa": "JFK"}], "at": 2**32, "near": -(2**31)},
    {"page": PAGE, "stops": ["JFK"], "at": -(2**32), "near": 2**31 - 1},
    {"stops": ["LAX", "DCA"], "tags": {"it's": -1}, "at": -2, "near": 0},
]


def topology_of_parts() -> Topology:
    topology = Topology("nested")
    clicks = topology.stream("in", key="k STRING", value=VALUE)
    clicks.map_values(
        "page.url",
        col("page.Url"),
        col("page")["the `place`"],
        "page.site",
        "page.site.name",
        first=col("stops")[0],
        last=col("stops")[-1],
        second_last=col("stops")[-2],
        beyond=col("stops")[2**31 - 1],
        by_bigint=col("stops")[col("at")],
        by_int=col("stops")[col("near")],
        leg=col("legs")[0],
        of_leg=col("legs")[0]["faa"],
        tag=col("tags")["it's"],
        by_url=col("tags")[col("page.url")],
        far=col("stops")[2**40],
        of_site=col("page.site")["name"].upper(),
    ).to("parts")
    clicks.filter(col("stops")[0] != "EWR").select_key("page.url").to("by-url")
    by_site = clicks.group_by(name=col("page.site.name"))
    by_site.aggregate(n=count(), tags=sum_(col("tags")["it's"]), last=max_(col("stops")[-1])).to(
        "by-site"
    )
    return topology


def test_nested_parts_equal_the_reference_evaluator(spark: SparkSession) -> None:
    plan = topology_of_parts().build()
    given = [
        SourceRecord("in", 0, at, at, b"k", json.dumps(value).encode())
        for at, value in enumerate(GIVEN)
    ]

    expected = by_topic_and_partition(ReferenceEvaluator(plan, tasks=2).run(given))

    assert len(expected) >= 3
    assert by_topic_and_partition(drive(driver_of_plan(spark, plan, 0), given)) == expected
