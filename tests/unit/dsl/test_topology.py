import pytest

from duolog import Topology, acc, avg, col, count, lit, row_time, sum_
from duolog.core.errors import StatementError
from duolog.dsl.streams import Stream, Table
from duolog.plan.nodes import AggregateNode, Sink


def flights(topology: Topology) -> Stream:
    return topology.stream("flights", key="carrier STRING", value="dest STRING, delay BIGINT")


def airlines(topology: Topology) -> Table:
    return topology.table("airlines", key="carrier STRING", value="name STRING, dest STRING")


def test_a_key_of_none_is_ignored() -> None:
    """The docstring allowed it, but it was refused: None is not a column type."""
    topology = Topology("t")

    stream = topology.stream("lines", key=None, value=str)
    stream.to("copy")

    assert str(stream.schema) == "key () value (value STRING)"
    assert "key NONE ()" in topology.describe()


def test_map_values_replaces_the_value_and_keeps_the_key() -> None:
    found = flights(Topology("t")).map_values("dest", late=col("delay") > 15, at=row_time())

    assert str(found.schema) == "key (carrier STRING) value (dest STRING, late BOOLEAN, at BIGINT)"


def test_with_columns_replaces_in_place_and_appends() -> None:
    found = flights(Topology("t")).with_columns(dest=col("dest").upper(), hours=col("delay") / 60)

    assert str(found.schema) == (
        "key (carrier STRING) value (dest STRING, delay BIGINT, hours DOUBLE)"
    )


def test_an_expression_without_a_name_is_refused() -> None:
    with pytest.raises(StatementError, match="has no name") as caught:
        flights(Topology("t")).map_values(col("delay") / 60)

    assert "alias" in caught.value.hint


def test_a_wrong_column_names_the_nearest() -> None:
    with pytest.raises(StatementError) as caught:
        flights(Topology("t")).filter(col("dealy") > 0)

    assert caught.value.message == 'unknown column "dealy"'
    assert caught.value.hint == 'Did you mean "delay"?'


def test_and_between_conditions_is_refused_naming_the_operator() -> None:
    with pytest.raises(StatementError, match="no value while the topology is built") as caught:
        flights(Topology("t")).filter(col("delay") > 0 and col("delay") < 5)

    assert "&" in caught.value.hint


def test_clashing_names_in_a_join_are_refused_with_a_hint_to_use_a_prefix() -> None:
    topology = Topology("t")

    with pytest.raises(StatementError, match='both have a column "dest"') as caught:
        flights(topology).join(airlines(topology))

    assert "prefix=" in caught.value.hint


def test_a_join_with_a_prefix_has_the_columns_of_both() -> None:
    topology = Topology("t")

    found = flights(topology).left_join(airlines(topology), prefix="airline_")

    assert [column.name for column in found.schema.value] == [
        "dest",
        "delay",
        "airline_name",
        "airline_dest",
    ]


def test_a_join_selects_columns_of_both_sides() -> None:
    topology = Topology("t")

    found = flights(topology).join(
        airlines(topology),
        prefix="a_",
        select={"text": col("a_name").upper(), "delay": col("delay")},
    )

    assert str(found.schema) == "key (carrier STRING) value (text STRING, delay BIGINT)"


def test_an_unknown_column_in_a_join_is_refused_with_the_columns_of_both_sides() -> None:
    topology = Topology("t")

    with pytest.raises(StatementError) as caught:
        flights(topology).join(airlines(topology), prefix="a_", select=["a_nam"])

    assert caught.value.hint == 'Did you mean "a_name"?'


def orders_and_customers() -> tuple[Stream, Table]:
    topology = Topology("shop")
    orders = topology.stream("orders", key="id STRING", value="customer STRING, amount INT")
    return orders, topology.table("customers", key="customer STRING", value="city STRING")


@pytest.mark.parametrize("kind", ["join", "left_join"])
def test_keys_with_different_names_need_an_explicit_on(kind: str) -> None:
    orders, customers = orders_and_customers()

    with pytest.raises(StatementError, match=r"keys of .* have different names") as caught:
        getattr(orders, kind)(customers)

    assert "(id STRING)" in caught.value.detail
    assert "(customer STRING)" in caught.value.detail
    assert 'join(table, on="customer")' in caught.value.hint


def test_a_join_on_the_renamed_key_does_not_rekey() -> None:
    orders, customers = orders_and_customers()

    joined = orders.join(customers, on="id")

    assert str(joined.schema) == "key (id STRING) value (customer STRING, amount INT, city STRING)"
    assert [parent.name for parent in joined.node.parents] == ["stream-1", "table-2"]


def test_a_join_on_another_column_makes_that_column_the_key() -> None:
    orders, customers = orders_and_customers()

    joined = orders.left_join(customers, on="customer")
    shouted = orders.join(customers, on=col("customer").upper().alias("who"), select=["city"])

    assert str(joined.schema) == "key (customer STRING) value (id STRING, amount INT, city STRING)"
    assert str(shouted.schema) == "key (who STRING) value (city STRING)"


def test_a_join_on_several_columns_uses_the_order_of_the_table_key() -> None:
    topology = Topology("several")
    stream = topology.stream("s", key="a STRING, b INT", value="v INT")
    table = topology.table("t", key="x INT, y STRING", value="w INT")

    assert (
        str(stream.join(table, on=["b", "a"]).schema)
        == "key (b INT, a STRING) value (v INT, w INT)"
    )
    with pytest.raises(StatementError, match="cannot join stream"):
        stream.join(table, on=["a", "b"])


def test_a_key_must_not_contain_a_map() -> None:
    topology = Topology("maps")
    stream = topology.stream(
        "s", key="k STRING", value="m MAP<STRING, INT>, l ARRAY<MAP<STRING, INT>>"
    )

    for refused in (stream.group_by, stream.select_key):
        for column in ("m", "l"):
            with pytest.raises(StatementError, match=f'"{column}" cannot be a key') as caught:
                refused(column)
            assert "no order" in caught.value.detail
    for form in ("stream", "table"):
        with pytest.raises(StatementError, match="cannot be a key"):
            getattr(topology, form)("t", key="m MAP<STRING, INT>", value="v INT")


def test_two_groups_by_the_same_columns_share_a_node() -> None:
    stream = flights(Topology("t"))

    one, other = stream.group_by("dest").count("n"), stream.group_by("dest").count("m")

    assert one.node.parents == other.node.parents


def test_a_table_of_another_topology_is_refused() -> None:
    with pytest.raises(StatementError, match="belongs to another topology"):
        flights(Topology("t")).join(airlines(Topology("u")), prefix="a_")


def test_aggregates_share_accumulators() -> None:
    topology = Topology("t")
    flights(topology).group_by_key().aggregate(
        flights=count(), total=sum_("delay"), mean=avg("delay"), known=count("delay")
    ).to("out")

    aggregate = next(n for n in topology.build().nodes if isinstance(n, AggregateNode))

    assert [kept.name for kept in aggregate.accumulators] == [
        "count(*)",
        "sum(delay)",
        "count(delay)",
    ]
    assert str(aggregate.schema) == (
        "key (carrier STRING) value (flights BIGINT, total BIGINT, mean DOUBLE, known BIGINT)"
    )


def test_results_may_be_expressions_of_aggregates() -> None:
    table = flights(Topology("t")).group_by_key().aggregate(per=sum_("delay") / count())

    assert str(table.schema) == "key (carrier STRING) value (per DOUBLE)"


def test_an_aggregate_outside_of_a_group_is_refused() -> None:
    with pytest.raises(StatementError, match="is not a single value"):
        flights(Topology("t")).map_values(total=sum_("delay"))


def test_a_custom_aggregate_widens_its_accumulators() -> None:
    table = (
        flights(Topology("t"))
        .group_by_key()
        .aggregate(
            initializer={"total": lit(0), "last": lit(None)},
            adder={"total": acc("total") + col("delay"), "last": col("dest")},
        )
    )

    assert str(table.schema) == "key (carrier STRING) value (total BIGINT, last STRING)"


def test_a_custom_aggregate_loses_no_digit_of_a_decimal() -> None:
    topology = Topology("t")
    rows = topology.stream("in", key="k STRING", value="n BIGINT, d DECIMAL(38,10)")

    table = rows.group_by_key().aggregate(
        initializer={"sum": lit(0), "none": lit(0).cast("DECIMAL(5,2)")},
        adder={"sum": acc("sum") + col("d") - col("n"), "none": acc("none") + lit(None)},
    )

    assert str(table.schema) == "key (k STRING) value (sum DECIMAL(38,10), none DECIMAL(7,2))"


def test_a_custom_aggregate_over_a_table_needs_a_subtractor() -> None:
    grouped = airlines(Topology("t")).group_by("dest")

    with pytest.raises(StatementError, match="cannot subtract rows"):
        grouped.aggregate(initializer={"n": lit(0)}, adder={"n": acc("n") + 1})


def test_an_adder_without_one_of_the_accumulators_is_refused() -> None:
    grouped = flights(Topology("t")).group_by_key()

    with pytest.raises(StatementError, match="does not set every accumulator"):
        grouped.aggregate(initializer={"a": lit(0), "b": lit(0)}, adder={"a": acc("a")})


def test_steps_that_no_sink_reads_are_left_out_of_the_plan() -> None:
    topology = Topology("t")
    flights(topology).filter(col("delay") > 0)
    flights(topology).to("copy")

    assert [node.name for node in topology.build().nodes] == ["stream-3", "sink-4"]


def test_two_stores_with_one_name_are_refused() -> None:
    topology = Topology("t")
    grouped = flights(topology).group_by_key().materialized("same")
    grouped.count().to("one")
    grouped.count().to("two")

    with pytest.raises(StatementError, match='two stores have the name "same"'):
        topology.build()


def test_keys_and_formats_have_sensible_defaults() -> None:
    topology = Topology("t")
    flights(topology).select_key("dest", "delay").to("pairs", partitions=3)

    sink = topology.build().nodes[-1]

    assert isinstance(sink, Sink)
    assert (sink.key_format.name, sink.value_format.name) == ("JSON", "JSON")
    assert sink.partitions == 3


def test_a_stream_without_a_key_cannot_be_grouped_by_it() -> None:
    stream = Topology("t").stream("lines", value="text STRING")

    with pytest.raises(StatementError, match="at least one column"):
        stream.group_by_key()


def test_a_description_names_levels_stores_and_conditions() -> None:
    topology = Topology("t")
    flights(topology).filter(~col("dest").is_null()).group_by("dest").materialized(
        "dests"
    ).count().to("out")

    text = topology.describe()

    assert "filter-2: where NOT(IS_NULL(dest))" in text
    assert "Sub-topology 0, stores dests" in text
    assert "Level 0" in text


def test_a_column_may_be_called_self() -> None:
    topology = Topology("self")
    stream = topology.stream("s", key="k STRING", value="self STRING, n BIGINT")
    table = topology.table("t", key="k STRING", value="name STRING")

    assert str(stream.join(table, on="self").schema) == (
        "key (self STRING) value (k STRING, n BIGINT, name STRING)"
    )
    counted = stream.map_values(self=col("n")).group_by(self=col("k")).aggregate(self_=count())
    assert str(counted.schema) == "key (self STRING) value (self_ BIGINT)"


def test_a_column_is_matched_with_only_one_key_column() -> None:
    topology = Topology("twice")
    stream = topology.stream("s", key="k STRING", value="a STRING")
    table = topology.table("t", key="k STRING", value="name STRING")

    with pytest.raises(StatementError, match='"a" is declared twice'):
        stream.join(table, on=["a", "a"])


def test_json_requires_texts_as_map_keys() -> None:
    """They were read as texts, but the engine treated them as numbers."""
    with pytest.raises(StatementError, match='JSON cannot carry the value of "s"') as caught:
        Topology("t").stream("s", value={"by": list[dict[int, float]]})

    assert 'column "by" has a MAP<BIGINT, DOUBLE>' in caught.value.detail
    assert caught.value.hint == "Declare MAP<STRING, DOUBLE>."
