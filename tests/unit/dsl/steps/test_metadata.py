"""Record metadata in a topology: where it is available, and what cannot be written."""

import pytest

from duolog import (
    Topology,
    col,
    count,
    header,
    headers,
    max_,
    offset,
    partition,
    row_time,
    sum_,
    topic,
    wall_clock,
)
from duolog.core.errors import StatementError
from duolog.dsl.streams import Stream, Table
from duolog.plan.types import render_columns


def orders() -> Stream:
    return Topology("shop").stream("orders", key="id STRING", value="user STRING, n BIGINT")


def totals() -> Table:
    return orders().group_by("user").aggregate(n=sum_("n"))


def test_stream_records_have_topic_partition_offset_and_headers() -> None:
    known = orders().map_values(topic(), partition(), offset(), headers(), trace=header("t"))

    assert render_columns(known.schema.value) == (
        "topic STRING, partition INT, offset BIGINT, "
        "headers ARRAY<STRUCT<key STRING, value BYTES>>, trace BYTES"
    )


@pytest.mark.parametrize(
    "define",
    [
        lambda: orders().filter(offset() > 10),
        lambda: orders().select_key(at=partition()),
        lambda: orders().group_by(topic()).count(),
        lambda: orders().explode(one=headers()),
        lambda: orders().split(new=header("new").is_not_null()),
        lambda: orders().group_by_key().aggregate(last=max_(offset())),
        lambda: totals().to_stream().with_columns(last=offset()),
    ],
)
def test_metadata_is_available_in_every_step_of_a_stream(define: object) -> None:
    assert callable(define)
    assert define() is not None


@pytest.mark.parametrize(
    "define",
    [
        lambda: totals().filter(offset() > 10),
        lambda: totals().with_columns(at=topic()),
        lambda: totals().group_by(at=partition()).count(),
        lambda: totals().group_by("n").aggregate(last=sum_(offset())),
        lambda: orders().group_by("user").aggregate(last=count() + offset()),
    ],
)
def test_metadata_is_not_available_for_rows_of_tables(define: object) -> None:
    assert callable(define)
    with pytest.raises(StatementError) as error:
        define()

    assert "is only available for records of a stream" in str(error.value)
    assert "to_stream()" in error.value.hint


def test_the_wall_clock_is_only_available_for_timestamps_of_sources() -> None:
    with pytest.raises(StatementError, match="the wall clock is not part of a record"):
        orders().with_columns(now=wall_clock())


def test_headers_must_be_bytes_or_texts() -> None:
    with pytest.raises(StatementError, match='header "n" cannot be BIGINT') as error:
        orders().with_headers(n=col("n"))

    assert error.value.hint == "Cast it: .cast(str)."


def test_a_timestamp_must_be_a_number_or_a_timestamp() -> None:
    assert orders().with_time(row_time() + 5).node.action == "timestamp (ROWTIME + 5)"
    with pytest.raises(StatementError, match="user is not a timestamp"):
        orders().with_time("user")


def test_a_table_sets_headers_and_timestamps_of_its_changes() -> None:
    with pytest.raises(AttributeError, match='a table has no "with_headers"') as caught:
        totals().with_headers(a="b")  # type: ignore[attr-defined]

    assert isinstance(caught.value, StatementError)
    assert caught.value.hint == "Use to_stream() first."


def test_written_metadata_appears_in_the_description() -> None:
    written = (
        orders().with_headers({"x-user": col("user")}, source="shop").without_headers("a", "b")
    )

    assert written.node.action == "without headers a, b"
    assert written.node.parents[0].action == "headers `x-user` = user, source = 'shop'"
    assert orders().without_headers().node.action == "no headers"


def test_the_timestamp_expression_of_a_source_is_checked_at_its_line() -> None:
    topology = Topology("shop")

    with pytest.raises(StatementError, match="at is not a timestamp") as error:
        topology.stream("orders", value="at STRING", timestamp="at")
    assert error.value.hint == 'Cast a text: .cast("TIMESTAMP").'
    with pytest.raises(StatementError, match='unknown invalid_timestamp "drop"'):
        topology.stream("orders", value="at BIGINT", timestamp="at", invalid_timestamp="drop")  # type: ignore[arg-type]
    described = topology.stream(
        "orders", value="at BIGINT", timestamp="at", invalid_timestamp="skip"
    )
    assert described.node.action.endswith(
        "value JSON (at BIGINT), timestamp at, invalid ones: skip"
    )


def test_a_partition_must_be_an_integer_expression() -> None:
    orders().to("out", partitioner=col("n") % 4)
    totals().to("out", partitioner=col("n") % 4)

    with pytest.raises(StatementError, match="user is not a partition"):
        orders().to("out", partitioner=col("user"))
    with pytest.raises(StatementError, match="is neither an expression over columns") as error:
        orders().to("out", partitioner=4)  # type: ignore[arg-type]
    assert error.value.hint == 'Write partitioner=col("region") % 4, or partitioner=function.'
    with pytest.raises(StatementError, match="is only available for records of a stream"):
        totals().to("out", partitioner=partition())
