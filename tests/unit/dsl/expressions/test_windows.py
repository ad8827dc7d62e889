import datetime as dt
from collections.abc import Callable

import pytest

from duolog import (
    Topology,
    acc,
    calendar,
    col,
    count,
    hopping,
    lit,
    session,
    sliding,
    tumbling,
    unlimited,
)
from duolog.core.errors import StatementError
from duolog.core.windowed_key import NO_END, WindowedKey
from duolog.dsl.streams import Stream, Table
from duolog.plan.durations import Duration, milliseconds
from duolog.plan.schema import BOUNDS
from duolog.plan.types import parse_columns
from duolog.plan.windows import Windows

BACK = dt.timedelta(seconds=-1)


def visits(topology: Topology) -> Stream:
    return topology.stream("visits", key="user STRING", value="place STRING, n BIGINT")


def hourly(topology: Topology) -> Table:
    return visits(topology).group_by("place").windowed_by(tumbling("1 hour")).count()


def test_window_bounds_are_key_columns_that_results_can_read() -> None:
    windowed = visits(Topology("t")).group_by_key().windowed_by(hopping("10 s", "5 s"))

    found = windowed.aggregate(n=count(), length=col("window_end") - col("window_start"))

    assert str(found.schema) == (
        "key (user STRING, window_start BIGINT, window_end BIGINT) value (n BIGINT, length BIGINT)"
    )
    assert found.filter(col("n") > 1).map_values("n").schema.window == WindowedKey(10_000)


def test_after_rekeying_the_bounds_are_plain_columns() -> None:
    topology = Topology("t")
    table = hourly(topology)

    again = table.to_stream().group_by_key().count()

    assert again.schema.key == table.schema.key
    assert again.schema.window is None
    assert table.to_stream().select_key("window_start").schema.window is None


@pytest.mark.parametrize(
    ("duration", "wanted"),
    [
        ("90 seconds", 90_000),
        ("1 hour 30 minutes", 5_400_000),
        ("250ms", 250),
        ("2 Days", 172_800_000),
        (dt.timedelta(minutes=5), 300_000),
    ],
)
def test_a_duration_is_a_text_or_a_timedelta(duration: Duration, wanted: int) -> None:
    assert milliseconds(duration, "size") == wanted


@pytest.mark.parametrize(
    "duration", ["", "5", "five minutes", "5 minutes ago", "1.5 h", 5, dt.timedelta(microseconds=1)]
)
def test_an_invalid_duration_is_refused(duration: Duration) -> None:
    with pytest.raises(StatementError, match="size"):
        tumbling(duration)


@pytest.mark.parametrize(
    ("size", "advance", "grace"),
    [("0 s", "1 s", "0 s"), ("1 s", "2 s", "0 s"), ("1 s", "0 s", "0 s")],
)
def test_windows_with_gaps_are_refused(size: str, advance: str, grace: str) -> None:
    with pytest.raises(StatementError, match="window"):
        hopping(size, advance, grace=grace)


@pytest.mark.parametrize("offset", ["2 s", dt.timedelta(seconds=-8), "1 minute 2 seconds"])
def test_an_offset_moves_windows_and_each_record_is_in_exactly_one(offset: Duration) -> None:
    windows = tumbling("10 s", offset=offset)

    assert windows.offset_ms == 2000
    assert list(windows.starts(12_345)) == [12_000]
    assert list(windows.starts(11_999)) == [2000]
    assert list(windows.starts(1)) == [-8000]


def test_hopping_windows_start_with_the_one_that_contains_1970() -> None:
    assert list(hopping("10 s", "4 s", offset="1 s").starts(500)) == [-3000]
    assert list(hopping("10 s", "4 s").starts(500)) == [0]


@pytest.mark.parametrize("start", ["2026-01-01", dt.datetime(2026, 1, 1), "yesterday"])  # noqa: DTZ001
def test_windows_start_at_the_same_times_everywhere(start: dt.datetime | str) -> None:
    with pytest.raises(StatementError, match=r"2026|yesterday") as caught:
        unlimited(start)

    assert "+0" in caught.value.hint


def test_a_windowed_key_has_the_size_of_its_windows() -> None:
    visit = visits(Topology("t")).group_by_key()

    def key(windows: Windows) -> WindowedKey | None:
        return visit.windowed_by(windows).count().schema.window

    assert key(sliding("10 s")) == WindowedKey(10_000)
    assert key(unlimited()) == WindowedKey(NO_END)
    assert key(calendar("month", time_zone="UTC")) == WindowedKey()


@pytest.mark.parametrize("windows", [lambda: sliding("0 s"), lambda: session("1 s", grace=BACK)])
def test_empty_windows_and_negative_grace_are_refused(windows: Callable[[], Windows]) -> None:
    with pytest.raises(StatementError, match=r"positive|negative"):
        windows()


def test_a_table_cannot_be_windowed() -> None:
    table = Topology("t").table("users", key="name STRING", value="city STRING")

    with pytest.raises(StatementError, match="in windows") as caught:
        table.group_by("city").windowed_by(tumbling("1 s")).count()

    assert "to_stream()" in caught.value.hint


def test_a_windowed_key_joins_only_with_the_same_windows() -> None:
    topology = Topology("t")
    table = hourly(topology)
    plain = topology.table(
        "plain", key="place STRING, window_start BIGINT, window_end BIGINT", value="x INT"
    )
    of_days = topology.table("days", key="place STRING", value="x INT", windowed=tumbling("1 day"))
    hours = topology.table("hours", key="place STRING", value="x INT", windowed=tumbling("1 h"))

    assert table.join(hours).schema.window == WindowedKey(3_600_000)
    with pytest.raises(StatementError, match="windowed") as caught:
        table.to_stream().join(plain)
    with pytest.raises(StatementError, match="different sizes") as of_two_sizes:
        table.left_join(of_days)

    assert "Windows of 3600000 ms and 86400000 ms" in of_two_sizes.value.detail
    assert "select_key" in caught.value.hint
    assert caught.value.place.startswith("tests")


def test_a_stream_joins_a_windowed_table_by_named_bounds() -> None:
    topology = Topology("t")
    hour = col("n") - col("n") % 3_600_000

    joined = visits(topology).join(
        hourly(topology), on=["place", hour.alias("start"), (hour + 3_600_000).alias("end")]
    )

    assert joined.schema.window == WindowedKey(3_600_000)
    assert str(joined.schema).startswith("key (place STRING, start BIGINT, end BIGINT)")


def test_a_windowed_topic_is_read_with_its_bounds_as_columns() -> None:
    topology = Topology("t")

    stream = topology.stream("s", key="a INT, b INT", value="n INT", windowed=session("1 s"))

    assert stream.schema.key == (*parse_columns("a INT, b INT"), *BOUNDS)
    assert str(stream.node.key_format) == "JSON"  # type: ignore[attr-defined]
    with pytest.raises(StatementError, match="no columns before"):
        topology.stream("s", value="n INT", windowed=session("1 s"))
    with pytest.raises(StatementError, match="are not windows"):
        topology.table("t", key="a INT", value="n INT", windowed="1 hour")  # type: ignore[arg-type]
    with pytest.raises(StatementError, match="window_end"):
        topology.table("t", key="window_end INT", value="n INT", windowed=tumbling("1 hour"))


def test_a_single_column_format_contains_the_key_without_its_window() -> None:
    topology = Topology("t")

    hourly(topology).to("hourly")

    (sink,) = topology.build().sinks
    assert str(sink.key_format) == "KAFKA"


def test_a_custom_aggregate_in_sessions_needs_a_merger() -> None:
    sessions = visits(Topology("t")).group_by_key().windowed_by(session("1 minute"))

    with pytest.raises(StatementError, match="merge") as caught:
        sessions.aggregate(initializer={"n": lit(0)}, adder={"n": acc("n") + 1})

    assert "merger" in caught.value.hint
    assert sessions.count().schema.window == WindowedKey()


def test_results_on_close_need_an_explicit_grace_period() -> None:
    grouped = visits(Topology("t")).group_by("place")

    with pytest.raises(StatementError, match="late") as caught:
        grouped.windowed_by(tumbling("1 hour"), emit="on close").count()

    assert 'grace="0 s"' in caught.value.hint
    assert caught.value.place.startswith("tests")
    table = grouped.windowed_by(tumbling("1 hour", grace="0 s"), emit="on close").count()
    assert "emitted on close" in table.node.action


def test_results_are_emitted_on_update_or_on_close() -> None:
    with pytest.raises(StatementError, match="'final'") as caught:
        visits(Topology("t")).group_by("place").windowed_by(tumbling("1 hour"), emit="final")  # type: ignore[arg-type]

    assert 'emit="on close"' in caught.value.hint


def test_windowed_rows_are_stored_as_long_as_required_or_longer() -> None:
    windowed = visits(Topology("t")).group_by("place").windowed_by(tumbling("1 h", grace="5 m"))

    table = windowed.materialized(retention="1 day").count()

    assert "kept in aggregate-3-store for 86400000 ms" in table.node.action
    with pytest.raises(StatementError, match="cannot expire after 3600000 ms") as caught:
        windowed.materialized(retention="1 h").count()
    assert 'retention="3900000 ms"' in caught.value.hint


@pytest.mark.parametrize(
    ("windowed", "match"), [(False, "for rows of windows"), (True, "without an end")]
)
def test_rows_that_do_not_expire_have_no_retention(windowed: bool, match: str) -> None:  # noqa: FBT001
    grouped = visits(Topology("t")).group_by("place").materialized(retention="1 day")

    with pytest.raises(StatementError, match=match):
        (grouped.windowed_by(unlimited()) if windowed else grouped).count()


def test_window_bounds_may_be_part_of_a_foreign_key() -> None:
    topology = Topology("t")
    hours = hourly(topology)
    cities = topology.table("cities", key="city STRING", value="hour BIGINT, place STRING")

    bounds = [col("hour"), col("hour") + 3_600_000]
    found = cities.join(hours, on=["place", *bounds])
    back = hours.left_join(cities, on="place", prefix="c_")

    assert str(found.schema.key[0]) == "city STRING"
    assert back.schema.window == WindowedKey(3_600_000)


def test_streams_with_windowed_keys_join_if_the_windows_have_the_same_size() -> None:
    topology = Topology("t")
    hours = hourly(topology).to_stream()
    days = visits(topology).group_by("place").windowed_by(tumbling("1 day")).count().to_stream()

    joined = hours.join(hours, within="1 h", prefix="again_")

    assert joined.schema.window == WindowedKey(3_600_000)
    with pytest.raises(StatementError, match="different sizes"):
        hours.join(days, within="1 h", prefix="d_")
