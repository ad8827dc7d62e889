import pytest

from duolog.core.errors import StatementError
from duolog.plan.expressions import ColumnRef, literal
from duolog.plan.formats import JSON, KAFKA, Format
from duolog.plan.nodes import (
    Filter,
    GroupBy,
    Plan,
    Project,
    Rename,
    SelectKey,
    Sink,
    StreamSource,
    StreamTableJoin,
    TableSource,
    plan_of,
)
from duolog.plan.schema import parse_schema

FLIGHTS = StreamSource(
    "flights", "flights", parse_schema("carrier STRING", "dest STRING, delay BIGINT"), KAFKA, JSON
)
AIRLINES = TableSource(
    "airlines", "airlines", parse_schema("id STRING", "name STRING"), KAFKA, JSON, "airlines-store"
)


def test_a_new_key_moves_its_columns_out_of_the_value_and_the_old_key_into_it() -> None:
    node = SelectKey("s", FLIGHTS, (("dest", ColumnRef("dest")),))

    assert node.schema == parse_schema("dest STRING", "carrier STRING, delay BIGINT")
    assert node.rekeys


def test_a_group_by_the_current_key_changes_nothing() -> None:
    node = GroupBy("g", FLIGHTS, (("carrier", ColumnRef("carrier")),))

    assert node.schema == FLIGHTS.schema
    assert not node.rekeys


def test_a_filter_must_be_a_condition() -> None:
    with pytest.raises(StatementError, match="delay is not a condition"):
        Filter("f", FLIGHTS, ColumnRef("delay"))


def test_a_column_of_nulls_needs_a_type() -> None:
    with pytest.raises(StatementError, match='column "x" has no type'):
        Project("p", FLIGHTS, (("x", literal(None)),))


def test_a_value_column_cannot_have_the_name_of_a_key_column() -> None:
    with pytest.raises(StatementError, match='"carrier" is declared twice'):
        Project("p", FLIGHTS, (("carrier", ColumnRef("dest")),))


def test_a_join_on_another_type_of_key_is_refused() -> None:
    by_delay = SelectKey("s", FLIGHTS, (("delay", ColumnRef("delay")),))

    with pytest.raises(StatementError, match='cannot join stream "s" with table "airlines"'):
        StreamTableJoin("j", by_delay, AIRLINES, "inner", (("x", ColumnRef("dest")),))


def test_format_kafka_supports_one_column_of_a_simple_type() -> None:
    with pytest.raises(StatementError, match='KAFKA cannot carry the value of "out"'):
        Sink("s", FLIGHTS, "out", KAFKA, KAFKA)


def test_an_unknown_format_names_the_nearest() -> None:
    with pytest.raises(StatementError, match='unknown format "JSN"') as caught:
        Format("JSN")

    assert caught.value.hint == 'Did you mean "JSON"?'


def test_a_plan_lists_parents_first_and_shared_nodes_once() -> None:
    joined = StreamTableJoin("j", FLIGHTS, AIRLINES, "left", (("dest", ColumnRef("dest")),))
    one = Sink("one", joined, "one", KAFKA, JSON)
    two = Sink("two", joined, "two", KAFKA, JSON)

    plan = plan_of(one, two)

    assert [node.name for node in plan.nodes] == ["flights", "airlines", "j", "one", "two"]
    assert plan.children(joined) == (one, two)
    assert plan.sources == (FLIGHTS, AIRLINES)


def test_a_plan_without_a_sink_is_refused() -> None:
    with pytest.raises(StatementError, match="writes nothing"):
        Plan((), ())


def test_a_rename_only_changes_names() -> None:
    renamed = Rename("r", AIRLINES, ("code",), ("title",))

    assert renamed.schema == parse_schema("code STRING", "title STRING")
    assert renamed.is_table
    assert renamed.reads(AIRLINES, frozenset({"title"})) == {"name"}


def test_column_names_are_unique() -> None:
    with pytest.raises(StatementError, match="1 name for 2 columns of the value"):
        Rename("r", FLIGHTS, ("code",), ("title",))
