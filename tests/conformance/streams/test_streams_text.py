"""Compare `describe("kafka-streams")` with the description that Kafka Streams prints.

The test compares sources, sinks, stores and the edges between them, by sub-topology. It ignores
intentional differences: names; processors without a store, of which the test's Kafka Streams plan
has more; the store of a stream converted to a table without lookups, which Streams does not create;
a cogroup, which is one aggregate.
"""

import re
from collections import Counter
from typing import Final

import pytest

from conformance.streams.comparison_cases import (
    Define,
    enriched,
    filtered,
    joined_with_its_own_count,
    joins_of_joins,
    plan_of,
    regrouped_twice,
    split_into_branches,
    table_joined_with_itself,
    tables_joined,
)
from conformance.streams.merge_cases import (
    merged,
    merged_behind_joins,
    reduced,
    repartitioned,
    written_to_topics_of_their_own,
)
from conformance.streams.oracle import KafkaStreams
from duolog import Topology, col
from duolog.plan.text.streams_text import describe_as_streams
from topologies import KEY, VALUE


def taken_for_a_table(topology: Topology) -> None:
    """A rekeyed stream converted to a table that is looked up: Streams stores no others."""
    rows = topology.stream("s1", key=KEY, value=VALUE).select_key(k=col("a")).to_table()
    topology.stream("s2", key=KEY, value=VALUE).left_join(rows, prefix="r_").to("looked_up")


COMPARED: Final[tuple[Define, ...]] = (
    enriched,
    filtered,
    joined_with_its_own_count,
    joins_of_joins,
    regrouped_twice,
    split_into_branches,
    table_joined_with_itself,
    tables_joined,
    merged,
    merged_behind_joins,
    reduced,
    repartitioned,
    taken_for_a_table,
    written_to_topics_of_their_own,
)
_BOX: Final = re.compile(
    r"^ +(Source|Processor|Sink): (\S+) \((topics?|stores|extractor)[ a-z]*: (.*)\)$"
)

Shape = Counter[tuple[str, tuple[str, ...]]]
"""Nodes of a sub-topology with a store or a topic, and the next such nodes of each."""


@pytest.mark.parametrize("define", COMPARED, ids=lambda define: define.__name__)
def test_kafka_streams_prints_the_same_description(
    kafka_streams: KafkaStreams, define: Define
) -> None:
    plan = plan_of(define)

    theirs, ours = kafka_streams.describe(plan), describe_as_streams(plan)

    reported = f"{ours}\n\n{theirs}"
    assert _shapes(ours) == _shapes(theirs), reported
    assert ours.splitlines()[:2] == ["Topologies:", "   Sub-topology: 0"], reported


def _shapes(text: str) -> Counter[frozenset[tuple[tuple[str, tuple[str, ...]], int]]]:
    parts = re.split(r"^ +Sub-topology: \d+.*$", text, flags=re.MULTILINE)[1:]
    return Counter(frozenset(_shape(part).items()) for part in parts)


def _shape(part: str) -> Shape:
    labels: dict[str, str] = {}
    after: dict[str, list[str]] = {}
    name = ""
    for line in part.splitlines():
        if box := _BOX.match(line):
            kind, name = box[1], box[2]
            labels[name] = _label(kind, box[3], box[4])
            after[name] = []
        elif line.strip().startswith("-->"):
            found = line.strip().removeprefix("-->").strip()
            after[name] = [] if found == "none" else re.split(r",\s*", found)
    return Counter(
        (label, tuple(sorted(_reached(name, labels, after))))
        for name, label in labels.items()
        if label
    )


def _label(kind: str, what: str, reported: str) -> str:
    """Return the comparable part of a node; empty for a processor without a store."""
    if what == "stores":
        stores = [store for store in reported.strip("[]").split(", ") if store]
        return f"{len(stores)} stores" if stores else ""
    if what == "extractor":
        return "sink chosen by records"
    topic = reported.strip("[]")
    return f"{kind} of {'a repartition topic' if topic.endswith('-repartition') else topic}"


def _reached(name: str, labels: dict[str, str], after: dict[str, list[str]]) -> set[str]:
    """Return the labels of the next nodes after a node, skipping processors without a store."""
    found: set[str] = set()
    for child in after[name]:
        found |= {labels[child]} if labels[child] else _reached(child, labels, after)
    return found
