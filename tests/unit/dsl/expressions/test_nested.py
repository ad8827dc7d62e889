"""Fields of STRUCTs, elements of ARRAYs, entries of MAPs."""

import pytest

from duolog import Topology, acc, col, count, lit, max_, sum_
from duolog.core.errors import StatementError
from duolog.dsl.expressions.columns import Expr
from duolog.dsl.streams import Stream
from duolog.plan.nodes import AggregateNode, Filter

VALUE = (
    "page STRUCT<url STRING, seconds DOUBLE, site STRUCT<name STRING>>, stops ARRAY<STRUCT<faa STRING>>, "
    "tags MAP<STRING, BIGINT>, delay BIGINT, `page.title` STRING"
)


def clicks(topology: Topology | None = None) -> Stream:
    return (topology or Topology("t")).stream("clicks", key="user STRING", value=VALUE)


def test_a_field_is_selected_by_path_or_brackets_and_named_by_its_last_part() -> None:
    found = clicks().map_values("page.url", col("page.site.name"), col("page")["seconds"].cast(int))

    assert str(found.schema) == "key (user STRING) value (url STRING, name STRING, seconds BIGINT)"
    assert "url = page['url'], name = page['site']['name']" in found.node.action


def test_a_column_name_with_a_dot_means_that_column() -> None:
    found = clicks().map_values("page.title", title=col("page.title"))

    assert str(found.schema.value[0]) == "`page.title` STRING"
    assert found.schema.value[1].name == "title"


def test_elements_and_entries_have_the_inner_type() -> None:
    found = clicks().map_values(
        col("tags")["red"],
        first=col("stops")[0],
        last=col("stops")[-1]["faa"],
        at=col("stops")[col("delay")],
        dotted=col("tags.red"),
    )

    assert str(found.schema) == (
        "key (user STRING) value (red BIGINT, first STRUCT<faa STRING>, last STRING, "
        "at STRUCT<faa STRING>, dotted BIGINT)"
    )


def test_every_operator_accepts_nested_parts() -> None:
    topology = Topology("t")
    stream = clicks(topology).filter(col("page.seconds") > 1).filter_not(col("page.url") == "/")
    pages = topology.table("pages", key="url STRING", value="info STRUCT<size INT>")

    assert isinstance(stream.node, Filter)
    assert str(stream.node.predicate) == "NOT((page['url'] = '/'))"
    assert stream.with_columns(col("page.url")).schema.names[-1] == "url"
    assert str(stream.select_key("page.url").schema.key[0]) == "url STRING"
    assert stream.group_by("page.url").count().schema.names == ("url", "count")
    joined = stream.join(pages, on="page.url", select=["info.size", "page.seconds"])
    assert joined.schema.names == ("url", "size", "seconds")


def test_aggregates_accept_nested_parts() -> None:
    group = clicks().group_by("page.url")

    table = group.aggregate(
        spent=sum_("page.seconds"), longest=max_(col("page.seconds")), n=count()
    )
    own = group.aggregate(
        initializer={"total": lit(0.0)}, adder={"total": acc("total") + col("page.seconds")}
    )

    assert str(table.schema) == "key (url STRING) value (spent DOUBLE, longest DOUBLE, n BIGINT)"
    assert isinstance(own.node, AggregateNode)
    assert str(own.node.accumulators[0].add) == "(acc.total + page['seconds'])"


@pytest.mark.parametrize(
    ("expression", "message", "help_given"),
    [
        (col("page.ulr"), 'unknown field "ulr"', "page has the fields url STRING, seconds DOUBLE"),
        (col("page.ulr"), 'unknown field "ulr"', 'Did you mean "url"?'),
        (col("page")["site"]["nam"], 'unknown field "nam"', "page['site'] has the fields name"),
        (col("page")[0], r"page\[0\] does not exist", "page has the fields url STRING"),
        (col("page")[col("delay")], "does not exist", "page has the fields"),
        (col("delay.ms"), r"delay\['ms'\] does not exist", "delay is a BIGINT, which has no parts"),
        (col("stops")["faa"], "does not exist", "stops is an ARRAY<STRUCT<faa STRING>>: its elem"),
        (col("tags")[1], "does not exist", "its keys are STRING"),
        (col("paeg.url"), 'unknown column "paeg.url"', "page.title"),
    ],
)
def test_an_unknown_field_is_refused_with_the_known_ones(
    expression: Expr, message: str, help_given: str
) -> None:
    with pytest.raises(StatementError, match=message) as caught:
        clicks().map_values(x=expression)

    assert help_given in f"{caught.value.detail} {caught.value.hint}"
    assert "test_nested.py:" in caught.value.place


def test_a_column_is_not_iterable() -> None:
    """With only [...], Python would iterate forever."""
    with pytest.raises(TypeError, match="not iterable"):
        list(col("stops"))  # type: ignore[call-overload]
