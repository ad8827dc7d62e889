"""Steps that turn a record into several, and branches of a stream."""

import json

import pytest

from duolog import Topology, array, col
from duolog.core.errors import StatementError
from duolog.dsl.streams import Stream
from duolog.testing.reference import ReferenceEvaluator, SourceRecord

VALUE = (
    "customer STRING, items ARRAY<STRUCT<sku STRING, n INT>>, tags MAP<STRING, INT>, "
    "page STRUCT<links ARRAY<STRING>>"
)
ORDER = {
    "customer": "ann",
    "items": [{"sku": "a", "n": 1}, {"sku": "b", "n": None}],
    "tags": {"red": 1, "blue": None},
    "page": {"links": ["/x", "/y"]},
}


def orders(topology: Topology) -> Stream:
    return topology.stream("orders", key="id STRING", value=VALUE)


def written(topology: Topology, *values: object) -> list[tuple[str, dict[str, object] | None]]:
    given = [
        SourceRecord("orders", 0, at, at, b"1", json.dumps(value).encode() if value else None)
        for at, value in enumerate(values)
    ]
    return [
        ((record.key or b"").decode(), json.loads(record.value) if record.value else None)
        for record in ReferenceEvaluator(topology.build()).run(given)
    ]


def test_words_are_counted_in_four_lines() -> None:
    topology = Topology("words")
    lines = topology.stream("orders", value=str)
    lines.explode(word=col("value").lower().split()).group_by("word").count().to("counts")

    found = ReferenceEvaluator(topology.build()).run(
        [SourceRecord("orders", 0, 0, 0, None, b"  To be \t or not\n to be ")]
    )

    counts = {record.key: json.loads(record.value or b"")["count"] for record in found}
    assert counts == {b"to": 2, b"be": 2, b"or": 1, b"not": 1}


def test_an_element_replaces_its_array_and_other_columns_stay() -> None:
    found = orders(Topology("t")).explode("items").map_values("customer", "items.sku")

    assert str(found.schema) == "key (id STRING) value (customer STRING, sku STRING)"


def test_a_named_element_comes_last_and_an_entry_has_two_names() -> None:
    stream = orders(Topology("t"))

    assert stream.explode(item="items").schema.names[-1] == "item"
    assert stream.explode("page.links").schema.names[-1] == "links"
    assert stream.explode("items", into="one").schema.names[-1] == "one"
    assert stream.explode("tags", into=("tag", "n")).schema.names[-2:] == ("tag", "n")


def test_flat_map_values_returns_the_element_and_flat_map_also_a_key() -> None:
    topology = Topology("t")
    orders(topology).flat_map_values("items").to("a")
    orders(topology).flat_map("items", key="sku").to("b")
    orders(topology).flat_map_values("tags", into=("tag", "n")).to("c")
    orders(topology).flat_map(link="page.links", key="link").map_values(x=1).to("d")

    assert written(topology, ORDER) == [
        ("1", {"sku": "a", "n": 1}),
        ("1", {"sku": "b", "n": None}),
        ("a", {"n": 1}),
        ("b", {"n": None}),
        ("1", {"tag": "red", "n": 1}),
        ("1", {"tag": "blue", "n": None}),
        ("/x", {"x": 1}),
        ("/y", {"x": 1}),
    ]


def test_the_key_of_a_flat_map_may_be_computed_from_all_columns() -> None:
    topology = Topology("t")
    key = [col("customer"), col("sku").upper().alias("SKU")]
    orders(topology).flat_map("items", key=key).map_values("sku").to("a")

    found = ReferenceEvaluator(topology.build()).run(
        [SourceRecord("orders", 0, 0, 0, b"1", json.dumps(ORDER).encode())]
    )

    assert [json.loads(record.key or b"") for record in found] == [
        {"customer": "ann", "SKU": "A"},
        {"customer": "ann", "SKU": "B"},
    ]


@pytest.mark.parametrize("value", [{"customer": "bob"}, {"customer": "bob", "items": []}, None])
def test_a_record_without_elements_is_dropped_unless_outer(value: object) -> None:
    topology = Topology("t")
    orders(topology).explode("items").map_values("customer", "items").to("inner")
    orders(topology).explode("items", outer=True).map_values("customer", "items").to("outer")

    expected = None if value is None else {"customer": "bob", "items": None}
    assert written(topology, value) == [("1", expected)]


def test_columns_can_become_several_records() -> None:
    topology = Topology("t")
    orders(topology).flat_map_values(x=array(col("customer"), col("customer").upper())).to("a")

    assert written(topology, ORDER) == [("1", {"x": "ann"}), ("1", {"x": "ANN"})]


def test_a_record_goes_to_the_first_branch_whose_condition_is_true() -> None:
    topology = Topology("t")
    stream = topology.stream("orders", key="id STRING", value="n INT")
    branches = stream.split(many=col("n") > 10, some=col("n") > 1, default="rest")
    for name, branch in branches.items():
        branch.to(name)

    found = ReferenceEvaluator(topology.build()).run(
        SourceRecord("orders", 0, at, at, b"1", b'{"n":%s}' % n)
        for at, n in enumerate((b"11", b"2", b"1", b"null"))
    )

    assert list(branches) == ["many", "some", "rest"]
    assert sorted(record.topic for record in found) == ["many", "rest", "rest", "some"]


def test_without_a_default_other_records_are_dropped() -> None:
    topology = Topology("t")
    stream = topology.stream("orders", key="id STRING", value="n INT")
    stream.split({"a b": col("n") > 1})["a b"].to("o")

    assert len(written(topology, {"n": 2}, {"n": 0})) == 1


def test_unread_branches_are_left_out() -> None:
    topology = Topology("t")
    stream = topology.stream("orders", key="id STRING", value="n INT")
    stream.split(a=col("n") > 1, b=col("n") > 0, default="c")["c"].to("o")

    assert [node.name for node in topology.build().nodes] == [
        "stream-1",
        "split-2",
        "branch-5",
        "sink-6",
    ]


@pytest.mark.parametrize(
    ("make", "message", "hint"),
    [
        (lambda s: s.explode("customer"), "customer has no elements", ""),
        (lambda s: s.explode("tags"), "tags requires two names", "into="),
        (lambda s: s.explode("items", into=("a", "b")), "items requires one name", ""),
        (lambda s: s.explode("items", "tags"), "one ARRAY or MAP, not 2", "one after the other"),
        (lambda s: s.explode(), "one ARRAY or MAP, not 0", ""),
        (lambda s: s.explode(col("customer").split()), "has no name", "alias"),
        (lambda s: s.explode("itmes"), 'unknown column "itmes"', '"items"'),
        (lambda s: s.explode(id="items"), 'column "id"', ""),
        (lambda s: s.split(), "needs a condition", "split("),
        (
            lambda s: s.split(a=col("customer") == "x", default="a"),
            'branches have the name "a"',
            "",
        ),
        (lambda s: s.split(a=col("customer")), "is not a condition", ""),
    ],
)
def test_invalid_steps_are_refused_with_the_line_of_the_user(make, message: str, hint: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(StatementError, match=message) as caught:
        make(orders(Topology("t")))

    assert hint in caught.value.hint
    assert "test_explode_and_split.py:" in caught.value.place


@pytest.mark.parametrize("name", ["explode", "flat_map", "flat_map_values", "split", "select_key"])
def test_a_table_is_refused_with_a_hint_to_to_stream(name: str) -> None:
    table = Topology("t").table("t", key="k STRING", value="items ARRAY<INT>")

    with pytest.raises(AttributeError, match=rf'no "{name}"\nhint: Use to_stream\(\)'):
        getattr(table, name)
    assert not hasattr(table, "exlpode")


def test_a_topology_may_end_in_a_print() -> None:
    topology = Topology("t")
    orders(topology).peek(limit=3).filter(col("customer") == "ann").print("ann")

    assert [node.action for node in topology.build().nodes[1:]] == [
        "print the first 3 as [orders]",
        "where (customer = 'ann')",
        "print as [ann]",
    ]
    assert written(topology, ORDER) == []


@pytest.mark.parametrize("limit", [0, -1])
def test_an_invalid_limit_of_a_print_is_refused(limit: int) -> None:
    with pytest.raises(StatementError, match=f"cannot print {limit} records"):
        orders(Topology("t")).print(limit=limit)


def test_map_replaces_key_and_value_together() -> None:
    topology = Topology("t")
    orders(topology).map("customer", key=col("tags.red").alias("red"), was=col("id")).to("o")

    assert [node.action for node in topology.build().nodes[1:3]] == [
        "by red = tags['red']",
        "customer, was = id",
    ]
    key = (1).to_bytes(4, "big").decode()
    assert written(topology, ORDER) == [(key, {"customer": "ann", "was": "1"})]


def test_map_refuses_a_value_from_a_column_that_the_new_key_shadows() -> None:
    """The value would be that of the new key, not of the intended column."""
    stream = orders(Topology("t"))

    with pytest.raises(StatementError, match='reads "customer", which is a column of the new key'):
        stream.map("customer", key=col("customer").upper().alias("customer"))
    with pytest.raises(StatementError, match='column "customer"'):
        stream.map("customer", key="customer")
