"""Topologies that read closed windows, for the comparison with Kafka Streams."""

from collections.abc import Callable
from typing import Final

from duolog import Topology, col, count, hopping, max_, session, sliding, sum_, tumbling
from duolog.dsl.streams import Grouped, Stream
from topologies import KEY, VALUE, ms

Define = Callable[[Topology], None]
SIZE: Final = 5
WINDOWS: Final = tumbling(ms(SIZE), grace=ms(2))
LONG: Final = ms(400)


def _grouped(topology: Topology, topic: str, windows: object, emit: str) -> Grouped:
    grouped = _stream(topology, topic).group_by_key()
    windowed = grouped.windowed_by(windows, emit=emit)  # type: ignore[arg-type]
    return windowed.materialized(retention=LONG)


def _stream(topology: Topology, topic: str) -> Stream:
    return topology.stream(topic, key=KEY, value=VALUE)


def sliding_windows_on_close(topology: Topology) -> None:
    """Each window is emitted once; downstream windows aggregate the emitted results."""
    stream = _stream(topology, "s1")
    grouped = stream.group_by_key()
    short = grouped.windowed_by(sliding(ms(3), grace=ms(2)), emit="on close")
    short.aggregate(c=count(), total=sum_("n")).to("short")
    long = grouped.windowed_by(sliding(ms(20), grace=ms(5)), emit="on close")
    long.aggregate(c=count(), total=sum_("n")).to("long")
    by_a = stream.group_by("a").windowed_by(sliding(ms(1), grace=ms(0)), emit="on close")
    by_a.count("c").group_by("window_start").count("windows").to("by_start")


def hops_told_once(topology: Topology) -> None:
    """Adjacent rows that stay stored are emitted in parts, and none of them twice."""
    hops = hopping(ms(8), ms(1), grace=ms(1))
    _grouped(topology, "s1", hops, "on close").aggregate(c=count(), total=sum_("n")).to("hops")


def tables_on_close_joined(topology: Topology) -> None:
    """The other table's current row is found: emitted, still open, or closed long ago."""
    counts = _grouped(topology, "s1", WINDOWS, "on close").count("c")
    sums = _grouped(topology, "s2", WINDOWS, "on close").aggregate(t=sum_("n"))
    counts.join(sums).to("inner")
    counts.outer_join(sums).to("outer")
    updates = _grouped(topology, "s2", WINDOWS, "on update").count("u")
    counts.filter(col("c") > 1).left_join(updates).to("with_updates")


def tables_on_close_looked_up(topology: Topology) -> None:
    """A stream and a table with windowed keys find rows of closed windows."""
    counts = _grouped(topology, "s1", WINDOWS, "on close").count("c")
    stream = topology.stream("w2", key=KEY, value=VALUE, windowed=WINDOWS)
    stream.left_join(counts).to("looked_up")
    topology.table("w1", key=KEY, value=VALUE, windowed=WINDOWS).left_join(counts).to("rows")


def rows_kept_for_longer(topology: Topology) -> None:
    """Rows are found for the retention period, counted from the start of their window."""
    stream = topology.stream("w2", key=KEY, value=VALUE, windowed=WINDOWS)
    for number, retention in enumerate((7, 12, 40)):
        windowed = _stream(topology, "s1").group_by_key().windowed_by(WINDOWS)
        counts = windowed.materialized(retention=ms(retention)).count("c")
        stream.left_join(counts).to(f"looked_up_{number}")
    hops = hopping(ms(SIZE), ms(2), grace=ms(1))
    windowed = _stream(topology, "s1").group_by_key().windowed_by(hops)
    hopped = windowed.materialized(retention=ms(20)).count("c")
    stream.left_join(hopped).to("hops_looked_up")


def sessions_kept_for_longer(topology: Topology) -> None:
    """An in-time record joins a closed session, which is emitted again."""
    windows = session(ms(3), grace=ms(6))
    grouped = _stream(topology, "s1").group_by_key()
    for emit in ("on update", "on close"):
        windowed = grouped.windowed_by(windows, emit=emit)
        windowed.materialized(retention=ms(30)).aggregate(c=count(), total=sum_("n")).to(emit[3:])


def windows_of_every_kind(topology: Topology) -> None:
    """All time-based operators in one topology, for time jumps."""
    stream, other = _stream(topology, "s1"), _stream(topology, "s2")
    grouped = stream.group_by_key()
    grouped.windowed_by(WINDOWS).count().to("tumbling")
    grouped.windowed_by(hopping(ms(9), ms(3), grace=ms(1))).count().to("hopping")
    grouped.windowed_by(sliding(ms(4), grace=ms(3))).count().to("sliding")
    grouped.windowed_by(session(ms(3), grace=ms(3))).count().to("sessions")
    stream.outer_join(other, within=ms(3), grace=ms(2), prefix="o_").to("pairs")


def suppressed_on_close(topology: Topology) -> None:
    """A result that was emitted on close is not suppressed again."""
    counts = _grouped(topology, "s1", WINDOWS, "on close").count("c")
    counts.suppress(until="window close").to("once")


def windowed_tables_by_a_foreign_key(topology: Topology) -> None:
    """One or both sides have windowed keys; final results are joined, too."""
    table = topology.table("t1", key=KEY, value=VALUE)
    windowed = topology.table("w1", key=KEY, value=VALUE, windowed=WINDOWS)
    windowed.left_join(table, on="a", prefix="t_").to("of_windows")
    bounds = [col("a"), col("n") * SIZE, col("n") * SIZE + SIZE]
    table.filter(col("n") >= 0).join(windowed, on=bounds, prefix="w_").to("to_windows")
    closed = _grouped(topology, "s1", WINDOWS, "on close").aggregate(c=count(), a=max_("a"))
    closed.left_join(table, on="a", prefix="t_").to("of_closed")
    # A left join of Streams fails if the foreign key is null and the right table windowed.
    both = windowed.join(closed, on=["a", "window_start", "window_end"], prefix="c_")
    both.group_by("window_start").count("rows").to("by_start")


def windowed_streams_joined(topology: Topology) -> None:
    """Records with windowed keys join records of the same window."""
    one = topology.stream("w1", key=KEY, value=VALUE, windowed=WINDOWS)
    other = topology.stream("w2", key=KEY, value=VALUE, windowed=WINDOWS)
    one.join(other, within=ms(20), prefix="o_").to("inner")
    one.outer_join(other, within=ms(4), grace=ms(1), prefix="o_").to("outer")


ON_CLOSE: Final[tuple[Define, ...]] = (
    sliding_windows_on_close,
    hops_told_once,
    tables_on_close_joined,
    tables_on_close_looked_up,
    rows_kept_for_longer,
    sessions_kept_for_longer,
    suppressed_on_close,
    windowed_streams_joined,
)
BY_A_FOREIGN_KEY: Final = (windowed_tables_by_a_foreign_key,)
