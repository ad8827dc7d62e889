"""Joins of tables in the DSL."""

import pytest

from duolog import Topology, col, concat
from duolog.core.errors import StatementError
from duolog.dsl.streams import Table

KINDS = ("join", "left_join", "outer_join")


def tables(topology: Topology) -> tuple[Table, Table]:
    left = topology.table("prices", key="item STRING", value="price BIGINT, at STRING")
    return left, topology.table("stock", key="item STRING", value="pieces BIGINT, at STRING")


@pytest.mark.parametrize("kind", KINDS)
def test_a_join_has_the_columns_of_both_tables(kind: str) -> None:
    left, right = tables(Topology("t"))

    joined = getattr(left, kind)(right, prefix="stock_")

    assert str(joined.schema) == (
        "key (item STRING) value (price BIGINT, at STRING, stock_pieces BIGINT, stock_at STRING)"
    )


def test_a_join_selects_columns_and_expressions_over_both_tables() -> None:
    left, right = tables(Topology("t"))

    joined = left.join(right, prefix="s_", select={"worth": col("price") * col("s_pieces")})

    assert str(joined.schema) == "key (item STRING) value (worth BIGINT)"


def test_clashing_names_are_refused_with_a_hint_to_use_a_prefix() -> None:
    left, right = tables(Topology("t"))

    with pytest.raises(StatementError, match='table "table-1" and table "table-2" both') as caught:
        left.join(right)

    assert "prefix=" in caught.value.hint


@pytest.mark.parametrize("kind", KINDS)
def test_keys_with_different_names_need_an_explicit_on(kind: str) -> None:
    topology = Topology("t")
    left, _ = tables(topology)
    names = topology.table("names", key="id STRING", value="name STRING")

    with pytest.raises(StatementError, match="have different names") as caught:
        getattr(left, kind)(names)

    assert 'join(table, on="item")' in caught.value.hint
    assert "of the stream" not in caught.value.hint
    joined = getattr(left, kind)(names, on="item", select=["name"])
    assert str(joined.schema) == "key (item STRING) value (name STRING)"


def test_a_table_is_joined_by_a_foreign_key() -> None:
    left, right = tables(Topology("t"))

    joined = left.left_join(right, on="at", prefix="s_")

    assert str(joined.schema) == (
        "key (item STRING) value (price BIGINT, at STRING, s_pieces BIGINT, s_at STRING)"
    )
    with pytest.raises(StatementError, match="cannot be outer-joined on at"):
        left.outer_join(right, on="at", prefix="s_")
    with pytest.raises(StatementError, match="cannot join table") as caught:
        left.join(right, on="price", prefix="s_")
    assert "(price BIGINT)" in caught.value.detail


def test_a_table_cannot_be_joined_with_a_stream() -> None:
    topology = Topology("t")
    left, _ = tables(topology)
    stream = topology.stream("s", key="item STRING", value="n BIGINT")

    with pytest.raises(StatementError, match="stream") as caught:
        left.join(stream)  # type: ignore[arg-type]

    assert "table(...)" in caught.value.hint


def test_a_table_of_another_topology_is_refused() -> None:
    left, _ = tables(Topology("t"))
    _, right = tables(Topology("u"))

    with pytest.raises(StatementError, match="belongs to another topology"):
        left.join(right, prefix="s_")


def test_the_name_of_a_foreign_key_join_names_all_its_stores() -> None:
    def stores(topology: Topology) -> set[str]:
        left, right = tables(topology)
        left.join(right, on="at", prefix="s_").named("located").to("out")
        found = {store for node in topology.build().nodes for store in node.stores}
        return {store for store in found if "table" not in store}

    grown = Topology("t")
    grown.stream("more", key="item STRING", value="n INT").filter(col("n") > 0).to("some")

    assert stores(grown) == stores(Topology("t"))
    assert stores(Topology("t")) == {
        "located-store",
        "located-numbered-store",
        "located-subscriptions-store",
        "located-newest-store",
    }


def test_a_foreign_key_may_be_an_unnamed_expression() -> None:
    left, right = tables(Topology("t"))

    joined = left.join(right, on=concat(col("item"), col("at")), prefix="s_", select=["s_pieces"])

    assert str(joined.schema) == "key (item STRING) value (s_pieces BIGINT)"
    with pytest.raises(StatementError, match="cannot join table") as caught:
        left.join(right, on=[col("at").upper(), "price"], prefix="s_")
    assert "(`UPPER(at)` STRING, price BIGINT)" in caught.value.detail
    with pytest.raises(StatementError, match="nothing"):
        left.join(right, on="nothing", prefix="s_")
