"""Hints for names of pandas, Polars, PySpark and Kafka Streams."""

import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

import duolog
from duolog import Topology, col, count, sum_, tumbling
from duolog.core.errors import StatementError
from duolog.dsl.handles import foreign_names
from duolog.dsl.streams import Stream, Table

HOURLY = tumbling("1 hour")
PAGE = Path(__file__).parents[4] / "docs/guide/from-pandas.md"


def orders(topology: Topology | None = None) -> Any:
    columns = {"amount": float, "item": str, "size": int}
    return (topology or Topology("t")).stream("orders", key={"id": str}, value=columns)


def shops(topology: Topology | None = None) -> Any:
    return (topology or Topology("t")).table("shops", key={"id": int}, value={"city": str})


def by_item(topology: Topology | None = None) -> Any:
    return (topology or Topology("t")).table("prices", key={"item": str}, value={"price": float})


def with_prices() -> Any:
    topology = Topology("t")
    return orders(topology).join(by_item(topology))


def shops_with_orders() -> Any:
    topology = Topology("t")
    return shops(topology).join(orders(topology))


@pytest.mark.parametrize(
    ("of", "name", "wanted"),
    [
        (orders, "groupby", "group_by(...)"),
        (orders, "groupBy", "group_by(...)"),
        (orders, "mapValues", "map_values(...)"),
        (orders, "selectKey", "select_key(...)"),
        (orders, "leftJoin", "left_join(...)"),
        (orders, "foreach", "for_each(...)"),
        (orders, "withColumns", "with_columns(...)"),
        (orders, "agg", "aggregate("),
        (orders, "select", "map_values("),
        (orders, "rename", "map_values("),
        (orders, "withColumnRenamed", "map_values("),
        (orders, "drop", "map_values("),
        (orders, "assign", "with_columns("),
        (orders, "withColumn", "with_columns("),
        (orders, "head", "print(limit=10)"),
        (orders, "where", "filter("),
        (orders, "fillna", "coalesce("),
        (orders, "fill_null", "coalesce("),
        (orders, "drop_duplicates", "to_table()"),
        (orders, "sort_values", "top_k("),
        (orders, "through", "repartition()"),
        (orders, "branch", "split("),
        (orders, "toStream", "already a stream"),
        (orders, "windowedBy", "Group first"),
        (orders, "windowed_by", "Group first"),
        (orders, "count", "Group first"),
        (orders, "writeStream", 'to("topic")'),
        (orders, "filtr", 'Did you mean "filter"?'),
        (orders, "amount", 'col("amount")'),
        (orders, "size", 'col("size")'),
        (orders, "id", 'col("id")'),
        (shops, "mapValues", "map_values(...)"),
        (shops, "toStream", "to_stream(...)"),
        (shops, "with_headers", "Use to_stream() first."),
        (shops, "city", 'col("city")'),
        (lambda: orders().group_by("item"), "sum", 'sum_("amount")'),
        (lambda: orders().group_by("item"), "agg", "aggregate("),
        (lambda: orders().group_by("item"), "size", "count()"),
        (lambda: orders().group_by("item"), "windowedBy", "windowed_by(...)"),
        (lambda: orders().group_by("item"), "to", "count() or aggregate(...)"),
        (lambda: orders().group_by("item"), "to_stream", "count() or aggregate(...)"),
        (lambda: orders().group_by("item").cogroup({"n": 1}), "agg", "aggregate("),
        (lambda: col("a"), "isNull", "is_null(...)"),
        (lambda: col("a"), "is_in", "isin(...)"),
        (lambda: col("a"), "starts_with", "startswith(...)"),
        (lambda: col("a"), "isna", "is_null()"),
        (lambda: col("a"), "astype", "cast(int)"),
        (lambda: col("a"), "str", "upper()"),
        (lambda: col("a"), "sum", 'sum_("amount")'),
        (lambda: Topology("t"), "globalTable", "global_table(...)"),
        (lambda: Topology("t"), "readStream", "stream("),
        (lambda: Topology("t"), "run", "Application(topology"),
        (
            lambda: Topology("t").global_table("g", key=str, value=str),
            "filter",
            "topology.table(...)",
        ),
    ],
)
def test_a_name_of_another_library_is_refused_with_the_right_one(
    of: Callable[[], Any], name: str, wanted: str
) -> None:
    with pytest.raises(StatementError) as caught:
        getattr(of(), name)

    assert isinstance(caught.value, AttributeError)
    assert f'"{name}"' in caught.value.message
    assert wanted in caught.value.hint
    assert "test_foreign_names.py:" in caught.value.place


@pytest.mark.parametrize(
    ("define", "wanted"),
    [
        (lambda: orders()["amount"], 'col("amount")'),
        (lambda: orders()[["amount", "item"]], "map_values('amount', 'item')"),
        (lambda: orders()[col("amount") > 1], "filter("),
        (lambda: orders()[:3], "print(limit=10)"),
        (lambda: orders().group_by("item")["amount"], 'aggregate(total=sum_("amount"))'),
        (lambda: orders().join(shops(), on="size", how="left"), "Write left_join(...)."),
        (lambda: orders().join(shops(), on="size", how="inner"), "Write join(...)."),
        (lambda: orders().join(shops(), on="size", how="left_outer"), "Write left_join(...)."),
        (lambda: orders().join(shops(), on="size", how="full_outer"), "Write outer_join(...)."),
        (lambda: shops().join(shops(), how="outer"), "Write outer_join(...)."),
        (lambda: shops().join(shops(), how="cross"), "join, left_join and outer_join"),
        (lambda: orders().join(shops(), left_on="size"), 'on="customer"'),
        (lambda: orders().join(shops(), suffixes=("", "_r")), "prefix="),
        (lambda: orders().merge(orders(), on="id"), "join(table, on=...)"),
        (lambda: orders().filter(conditon=col("amount") > 1), 'Did you mean "condition"?'),
        (lambda: orders().to("x", partition=3), 'Did you mean "partitions"?'),
        (lambda: cast("Any", Topology)(nam="x"), 'Did you mean "name"?'),
        (lambda: orders().group_by("item").windowed_by("1 hour"), 'tumbling("1 hour")'),
        (lambda: orders().group_by("item").windowed_by(3600), 'tumbling("1 hour")'),
        (
            lambda: orders().group_by("item").windowed_by(HOURLY).windowed_by(HOURLY),
            "windowed_by(...) once",
        ),
        (lambda: orders().group_by(["item", "size"]), "'item', 'size' without brackets"),
        (lambda: orders().join(shops(), "size"), "on=..."),
        (shops_with_orders, "stream.join(table, on=...)"),
        (with_prices, 'join(table, on="item")'),
        (lambda: orders().to("out", key="item"), 'select_key("customer")'),
        (lambda: orders().with_columns(x=col("item") + "!"), "concat(...)"),
        (lambda: orders().filter(max(col("amount"), 3)), "greatest(...)"),
        (lambda: Topology("t").stream("s", key="id", value="a INT"), '{"id": str}'),
        (lambda: Topology("t").stream("s", value="a INT, b"), '"b STRING"'),
        (lambda: orders().join("shops"), "topology.table(...)"),
        (lambda: shops().join("shops"), "topology.table(...)"),
        (lambda: orders().merge("shops"), "topology.stream(...)"),
        (lambda: orders().to(orders()), 'to("orders")'),
        (lambda: orders().group_by(lambda item: item), "call(function"),
        (lambda: orders().group_by(orders()), 'col("dest")'),
        (lambda: orders().group_by("item").aggregate(n=sum), 'sum_("amount")'),
        (lambda: orders().with_columns(x=[1, 2]), "array(...)"),
        (lambda: orders().filter(lambda row: row["amount"] > 1), "lambda value: ..."),
        (lambda: Topology("t").stream("s", value={"a": "text"}), '"STRING"'),
        (lambda: Topology("t").stream("s", value="a text, b int"), '"STRING"'),
        (lambda: Topology("t").stream("s", value={"a": "int64"}), '"BIGINT"'),
        (lambda: Topology("t").stream("s", value={"a": "int32"}), '"INT"'),
        (lambda: Topology("t").stream("s", value={"a": "float64"}), '"DOUBLE"'),
        (lambda: Topology("t").stream("s", value={"a": "datetime64"}), '"TIMESTAMP"'),
    ],
)
def test_a_call_as_in_another_library_is_refused_with_the_right_form(
    define: Callable[[], Any], wanted: str
) -> None:
    with pytest.raises(StatementError) as caught:
        define()

    assert wanted in caught.value.hint


def test_an_unknown_argument_is_a_type_error_too() -> None:
    with pytest.raises(TypeError, match=r'join\(...\) has no argument "how"'):
        orders().join(shops(), how="left")
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        orders().join()


def test_keys_of_different_types_are_refused_with_the_needed_cast() -> None:
    topology = Topology("t")
    stream, table = orders(topology), shops(topology)

    with pytest.raises(StatementError, match="cannot join") as caught:
        stream.join(table)

    written = 'select_key(id=col("id").cast("BIGINT"))'
    assert written in caught.value.hint
    assert stream.select_key(id=col("id").cast("BIGINT")).join(table).schema.key[0].name == "id"


def test_each_word_of_the_page_for_users_of_pandas_has_a_hint() -> None:
    words = PAGE.read_text(encoding="utf-8").partition("## Names in pandas and Duolog")[2]
    first_cells = [line.split("|")[1] for line in words.splitlines() if line.startswith("| `")]
    methods = {name for cell in first_cells for name in re.findall(r"(?:df|\A)\.(\w+)\(", cell)}
    methods |= {"sort_values", "head", "pivot", "rolling", "resample", "to_csv", "to_parquet"}

    without = [
        name
        for name in methods - {"explode"}
        if not foreign_names.foreign_hint(name, foreign_names.OF_RECORDS, dir(Stream))
    ]

    assert {"assign", "rename", "groupby"} <= methods
    assert without == []


def test_hints_mention_only_existing_methods() -> None:
    grouped = orders().group_by("item")
    handles = (Stream, Table, Topology, type(grouped), type(col("a")))
    known = {name for of in (duolog, *handles) for name in dir(of)}
    known |= {"start", "head", "pivot", "sort_values", "MyProcessor", "TopologyDriver", "otherwise"}
    tables = ("OF_RECORDS", "OF_GROUPS", "OF_COLUMNS", "OF_TOPOLOGIES", "OF_ARGUMENTS")
    hints = {hint for table in tables for hint in getattr(foreign_names, table).values()}

    written = {name for hint in hints for name in re.findall(r"(\w+)\(", hint)}

    assert written - known == set()


def test_copies_and_lookups_of_notebooks_get_an_attribute_error_only() -> None:
    stream = orders()

    assert repr(copy.copy(stream)) == repr(stream)
    assert not hasattr(stream, "_repr_mimebundle_")
    assert not hasattr(stream, "__array__")
    assert not hasattr(col("a"), "_ipython_display_")
    with pytest.raises(TypeError, match="not iterable"):
        list(stream)


def test_a_failing_property_is_not_reported_as_a_missing_name() -> None:
    class Broken(Stream):
        @property
        def broken(self) -> int:
            return int(self.node.no_such_field)  # type: ignore[attr-defined]

    given = orders()

    with pytest.raises(AttributeError, match="no_such_field"):
        assert Broken(given.builder, given.node).broken


def test_values_may_be_passed_as_one_list() -> None:
    assert repr(col("a").isin(["x", "y"])) == repr(col("a").isin("x", "y")) == "<IN(a, 'x', 'y')>"


def test_functions_with_other_names_elsewhere_are_suggested() -> None:
    for name, wanted in (("sum", "sum_"), ("mean", "avg"), ("StreamsBuilder", "Topology")):
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'; write {wanted}"):
            getattr(duolog, name)


def test_the_suggestions_of_the_hints_work() -> None:
    topology = Topology("t")
    stream = orders(topology)
    windowed = stream.group_by("item").windowed_by(tumbling("1 hour", grace="5 minutes"))
    windowed.aggregate(total=sum_("amount"), n=count()).to("a")
    stream.map_values("item", total=col("amount")).to("b")

    assert {sink.topic for sink in topology.build().sinks} == {"a", "b"}
