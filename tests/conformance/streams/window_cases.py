"""Topologies with windows of each kind, for the comparison with Kafka Streams."""

from duolog import (
    Topology,
    calendar,
    col,
    count,
    hopping,
    max_,
    min_,
    sliding,
    sum_,
    tumbling,
    unlimited,
)
from topologies import KEY, VALUE, ms


def in_sliding_windows(topology: Topology) -> None:
    """Out-of-order records create windows around others; early ones share one, late ones none."""
    stream = topology.stream("s1", key=KEY, value=VALUE)
    grouped = stream.group_by_key()
    short = grouped.windowed_by(sliding(ms(3), grace=ms(2)))
    short.aggregate(c=count(), total=sum_("n"), least=min_("a")).to("short")
    grouped.windowed_by(sliding(ms(10), grace=ms(30))).aggregate(c=count(), m=max_("n")).to("long")
    bounds = stream.group_by("a").windowed_by(sliding(ms(1))).count("c").to_stream()
    bounds.select_key("a", "window_start", "window_end").to("bounds")


def sliding_windows_counted_again(topology: Topology) -> None:
    """Earlier results of a window are retracted."""
    stream = topology.stream("s1", key=KEY, value=VALUE)
    counted = stream.group_by_key().windowed_by(sliding(ms(4), grace=ms(10))).count("c")
    counted.group_by("window_start").aggregate(keys=count(), total=sum_("c")).to("by_start")


def in_windows_with_an_offset(topology: Topology) -> None:
    """Windows with an offset from the multiples of their advance."""
    stream = topology.stream("s1", key=KEY, value=VALUE)
    grouped = stream.group_by_key()
    grouped.windowed_by(tumbling(ms(5), offset=ms(2), grace=ms(2))).aggregate(
        c=count(), total=sum_("n")
    ).to("tumbling")
    grouped.windowed_by(hopping(ms(7), ms(3), offset=ms(10))).count().to("hopping")


def in_one_window(topology: Topology) -> None:
    """An unlimited window; records before its start are in no window."""
    stream = topology.stream("s1", key=KEY, value=VALUE)
    stream.group_by_key().windowed_by(unlimited()).count().to("all")
    since = stream.group_by("a").windowed_by(unlimited("1970-01-01T00:00:00.105+00:00"))
    since.aggregate(c=count(), total=sum_("n")).to("since")


def in_windows_of_the_calendar(topology: Topology) -> None:
    """Days with 23 hours, weeks from Sunday on, months, quarters and years."""
    grouped = topology.stream("s1", key=KEY, value=VALUE).group_by_key()
    berlin, new_york = "Europe/Berlin", "America/New_York"
    for windows in (
        calendar("day", time_zone=berlin, grace="7 hours"),
        calendar("week", time_zone=new_york, first_day="sunday"),
        calendar("month", time_zone=berlin, grace="1 day"),
        calendar("quarter", time_zone=berlin),
        calendar("year", time_zone="Asia/Kathmandu"),
    ):
        windowed = grouped.windowed_by(windows)
        results = windowed.aggregate(c=count(), hours=(col("window_end") - col("window_start")))
        results.to(windows.unit)
