"""A plain text in place of a column: refused if a column has this name."""

from collections.abc import Callable

import pytest

from duolog import (
    Topology,
    acc,
    array,
    call,
    coalesce,
    col,
    concat,
    count,
    first,
    greatest,
    last,
    least,
    lit,
    session,
    when,
)
from duolog.core.errors import StatementError
from duolog.dsl.streams import Stream, Table
from duolog.plan.expressions import Call, ColumnRef, literal
from duolog.testing import TopologyDriver


def orders(topology: Topology) -> Stream:
    columns = {"amount": float, "place": str, "page": {"url": str}}
    return topology.stream("orders", key={"id": str}, value=columns)


def shops(topology: Topology) -> Table:
    return topology.table("shops", key={"id": str}, value={"n": int})


def shout(text: str) -> str:
    return text


def both(t: Topology, step: str) -> object:
    grouped = orders(t).group_by_key().cogroup({"total": step})
    return grouped.aggregate(initializer={"total": lit("")})


LATE = col("amount") > 3


@pytest.mark.parametrize(
    ("define", "name"),
    [
        (lambda t: orders(t).with_columns(x="amount"), "amount"),
        (lambda t: orders(t).with_columns(x="id"), "id"),
        (lambda t: orders(t).with_columns(x="page.url"), "page.url"),
        (lambda t: orders(t).map_values(place="place"), "place"),
        (lambda t: shops(t).map_values(m="n"), "n"),
        (lambda t: shops(t).with_columns(m="n"), "n"),
        (lambda t: orders(t).map(key="id", x="place"), "place"),
        (lambda t: orders(t).select_key(x="place"), "place"),
        (lambda t: orders(t).group_by(x="place"), "place"),
        (lambda t: orders(t).join(shops(t), select={"n": "n"}), "n"),
        (lambda t: orders(t).join(shops(t), prefix="s_", select={"n": "s_n"}), "s_n"),
        (lambda t: orders(t).left_join(shops(t), select={"n": "place"}), "place"),
        (lambda t: shops(t).join(shops(t), prefix="s_", select={"n": "s_n"}), "s_n"),
        (
            lambda t: orders(t).join(orders(t), within="1 h", select={"n": "place"}, prefix="s"),
            "place",
        ),
        (lambda t: orders(t).with_headers(x="place"), "place"),
        (lambda t: orders(t).with_headers({"x": "place"}), "place"),
        (lambda t: orders(t).with_columns(x=when(LATE, "place").otherwise("no")), "place"),
        (lambda t: orders(t).with_columns(x=when(LATE, "no").otherwise("place")), "place"),
        (lambda t: orders(t).with_columns(x=when(~LATE, "a").when(LATE, "place")), "place"),
        (lambda t: orders(t).with_columns(x=coalesce("place", "none")), "place"),
        (lambda t: orders(t).with_columns(x=concat("place", "!")), "place"),
        (lambda t: orders(t).with_columns(x=greatest("place", "!")), "place"),
        (lambda t: orders(t).with_columns(x=least("place", "!")), "place"),
        (lambda t: orders(t).with_columns(x=array("place", "!")), "place"),
        (lambda t: orders(t).with_columns(x=call(shout, "place")), "place"),
        (lambda t: orders(t).filter(coalesce("place", "") == "x"), "place"),
        (lambda t: orders(t).split(x=coalesce("place", "") == "x"), "place"),
        (lambda t: orders(t).explode(x=coalesce("place", "").split()), "place"),
        (lambda t: orders(t).to(concat("place", "-orders"), topics=["a-orders"]), "place"),
        (lambda t: orders(t).join(shops(t), on=coalesce("place", "").alias("p")), "place"),
        (lambda t: shops(t).join(shops(t), on=coalesce("n", ""), prefix="s"), "n"),
        (lambda t: orders(t).group_by_key().aggregate(x=first(concat("place", "!"))), "place"),
        (lambda t: orders(t).group_by_key().reduce({"place": "place"}), "place"),
        (lambda t: orders(t).group_by_key().cogroup({"x": "place"}), "place"),
    ],
)
def test_a_text_equal_to_a_column_name_is_refused_with_both_alternatives(
    define: Callable[[Topology], object], name: str
) -> None:
    with pytest.raises(StatementError, match="constant text") as caught:
        define(Topology("t"))

    assert caught.value.message.startswith(f'"{name}" can mean the column')
    assert (
        caught.value.hint == f'Write col("{name}") for the column, or lit("{name}") for the text.'
    )
    assert caught.value.place.startswith("tests/unit/dsl/expressions/test_texts.py:")


@pytest.mark.parametrize(
    "define",
    [
        lambda t: both(t, "total"),
        lambda t: orders(t).group_by_key().aggregate(initializer={"n": ""}, adder={"n": "n"}),
        lambda t: (
            orders(t)
            .group_by_key()
            .windowed_by(session("1 h"))
            .aggregate(initializer={"n": ""}, adder={"n": col("place")}, merger={"n": "n"})
        ),
        lambda t: (
            orders(t)
            .group_by_key()
            .aggregate(initializer={"n": ""}, adder={"n": col("place")}, x="n")
        ),
    ],
)
def test_a_text_equal_to_an_accumulator_name_is_refused(
    define: Callable[[Topology], object],
) -> None:
    with pytest.raises(StatementError, match="can mean the accumulator") as caught:
        define(Topology("t"))

    assert "Write acc(" in caught.value.hint


def test_a_text_as_aggregate_is_refused_naming_aggregates_of_that_column() -> None:
    with pytest.raises(StatementError, match='"amount" can mean the column') as caught:
        orders(Topology("t")).group_by_key().aggregate(total="amount")

    assert 'sum_("amount")' in caught.value.hint
    assert 'lit("amount")' in caught.value.hint


@pytest.mark.parametrize(
    "result", [col("amount"), col("amount") / count(), coalesce(col("amount"), 0.0)]
)
def test_a_column_as_aggregate_is_refused_as_a_function_is_missing(result: object) -> None:
    grouped = orders(Topology("t")).group_by_key()

    with pytest.raises(StatementError, match='result "total" reads column "amount"') as caught:
        grouped.aggregate(total=result)  # type: ignore[arg-type]

    assert 'total=sum_("amount")' in caught.value.hint


def test_a_key_column_is_allowed_as_aggregate_result() -> None:
    table = orders(Topology("t")).group_by("place").aggregate(n=count(), where=col("place").upper())

    assert [column.name for column in table.schema.value] == ["n", "where"]


def test_a_text_that_is_not_a_column_name_is_a_constant_like_lit() -> None:
    topology = Topology("t")
    when_late = when(LATE, "late").otherwise(lit("place"))
    labelled = orders(topology).map_values(kind="order", name=lit("amount"), late=when_late)
    labelled.to("labelled")

    with TopologyDriver(topology) as driver:
        driver.input_topic("orders").pipe_input("a", {"amount": 2.5, "place": "x", "page": None})
        written = driver.output_topic("labelled").read_key_values()

    assert written == [("a", {"kind": "order", "name": "amount", "late": "place"})]


def test_a_text_next_to_an_operator_and_in_a_method_is_a_constant() -> None:
    condition = (col("place") == "amount") | col("place").isin("id", "x") | col("place").like("id")

    kept = orders(Topology("t")).filter(condition & col("place").between("amount", "id"))

    assert "'amount'" in kept.node.action


def test_an_initial_value_may_equal_a_column_name() -> None:
    grouped = orders(Topology("t")).group_by_key()

    table = grouped.aggregate(initializer={"n": "place"}, adder={"n": acc("n")})

    assert [column.name for column in table.schema.value] == ["n"]


def test_last_takes_a_text_as_a_column_name() -> None:
    assert str(last("place")) == str(last(col("place")))


@pytest.mark.parametrize(
    "define",
    [
        lambda t: orders(t).with_columns(x=f"{col('place')}!"),
        lambda t: orders(t).with_columns(x=str(col("place"))),
        lambda t: orders(t).filter(col("place") == str(col("id"))),
        lambda t: orders(t).with_columns(x=coalesce(str(col("place")), "none")),
        lambda t: orders(t).with_headers(x=str(col("place"))),
    ],
)
def test_an_expression_converted_to_a_text_is_refused(
    define: Callable[[Topology], object],
) -> None:
    with pytest.raises(StatementError, match="has no value while the topology is built"):
        define(Topology("t"))


def test_an_expression_can_be_printed() -> None:
    assert str(col("place").upper()) == repr(col("place").upper()) == "<UPPER(place)>"


@pytest.mark.parametrize("text", ["count", "total", "sum(amount)"])
def test_a_plain_text_is_refused_as_aggregate_result(text: str) -> None:
    grouped = orders(Topology("t")).group_by_key()

    with pytest.raises(StatementError, match="is a constant text") as caught:
        grouped.aggregate(n=text)

    assert "count()" in caught.value.hint
    assert grouped.aggregate(n=lit(text), m=count()).schema.value[0].name == "n"


def test_a_plan_contains_no_bare_texts() -> None:
    topology = Topology("t")
    stream = orders(topology).map_values(x=when(LATE, "late"))

    ((_, expression),) = stream.node.values  # type: ignore[attr-defined]

    assert expression == Call(
        "CASE", (Call(">", (ColumnRef("amount"), literal(3))), literal("late"))
    )
    assert [type(part) for part in expression.args][1] is type(literal("late"))


@pytest.mark.parametrize("condition", ["amount", True, None])
def test_a_when_condition_must_be_an_expression(condition: object) -> None:
    with pytest.raises(StatementError, match="is not a condition over columns"):
        when(condition, "x")  # type: ignore[arg-type]
