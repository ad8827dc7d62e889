"""Changes that a later start may or may not make: for each pair, one store was once read as the other."""

from collections.abc import Callable

import pytest

from duolog import (
    Topology,
    avg,
    calendar,
    col,
    count,
    hopping,
    max_,
    sliding,
    sum_,
    tumbling,
    unlimited,
)
from duolog.dsl.expressions.columns import Expr
from duolog.dsl.streams import Stream, Table
from duolog.engine.checkpoint.shape_difference import first_difference
from duolog.engine.json_object import Json
from duolog.plan.cutting.levels import Levels
from duolog.plan.windows import Windows
from unit.engine.lowering.shapes import shape_of_topology

Build = Callable[[Topology, Stream, Table], None]

FLIGHTS = "carrier STRING, dest STRING, delay BIGINT, air BIGINT"
AIRLINES = "name STRING, country STRING, size BIGINT"


def difference(
    before: Build, after: Build, *, flights: str = FLIGHTS, airlines: str = AIRLINES
) -> str:
    return first_difference(shape(before, FLIGHTS, AIRLINES), shape(after, flights, airlines))


def shape(build: Build, flights: str, airlines: str) -> Json:
    topology = Topology("app")
    stream = topology.stream("flights", key="id STRING", value=flights)
    table = topology.table("airlines", key="code STRING", value=airlines)
    build(topology, stream, table)
    return shape_of_topology(topology)


def two_sums(first: str, second: str) -> Build:
    def build(_topology: Topology, flights: Stream, _airlines: Table) -> None:
        by_dest = flights.group_by("dest").materialized("by_dest")
        by_dest.aggregate(a=sum_(first), b=sum_(second)).to("out")

    return build


def windowed(windows: Windows) -> Build:
    def build(_topology: Topology, flights: Stream, _airlines: Table) -> None:
        flights.group_by("dest").windowed_by(windows).count().to("out")

    return build


def test_windows_of_another_size_are_other_state_and_grace_may_change() -> None:
    hours = windowed(tumbling("1 hour"))

    assert "window" in difference(hours, windowed(tumbling("2 hours")))
    assert "window" in difference(hours, windowed(hopping("1 hour", "1 minute")))
    assert "window" in difference(hours, windowed(tumbling("1 hour", offset="1 minute")))
    assert difference(hours, windowed(tumbling("1 hour", grace="1 day"))) == ""


def of_other_names(join: Callable[[Stream, Stream], Stream | Table]) -> Json:
    topology = Topology("app")
    here = topology.stream("here", key="a STRING, b BIGINT", value="v BIGINT")
    there = topology.stream("there", key="x STRING, y BIGINT", value="w BIGINT")
    join(here, there).to("out")
    return shape_of_topology(topology)


@pytest.mark.parametrize(
    "join",
    [
        lambda here, there: here.join(there.to_table(), on=["a", "b"]),
        lambda here, there: here.join(there, on=["a", "b"], within="1 hour"),
        lambda here, there: here.to_table().join(there.to_table(), on=["a", "b"]),
    ],
)
def test_rows_that_lie_in_tasks_of_their_own_names_are_not_read_as_if_they_met(
    join: Callable[[Stream, Stream], Stream | Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Older checkpoints kept keys of different names in different tasks: the second side's rows are elsewhere."""
    now = of_other_names(join)

    monkeypatch.setattr(Levels, "task_key", lambda _levels, edge: edge.key)
    before = of_other_names(join)

    assert "how the task of a key is chosen" in first_difference(before, now)


def living(ttl: str | None) -> Build:
    def build(_topology: Topology, flights: Stream, _airlines: Table) -> None:
        flights.group_by("dest").materialized("kept", ttl=ttl).count().to("out")

    return build


def test_the_time_that_rows_live_may_change_and_whether_there_is_one_may_not() -> None:
    assert difference(living("1 day"), living("7 days")) == ""
    assert "its rows stayed (ttl) and would go now" in difference(living(None), living("1 day"))
    assert "its rows went (ttl) and would stay now" in difference(living("1 day"), living(None))


@pytest.mark.parametrize(
    ("windows", "others"),
    [
        (sliding("1 s"), [sliding("2 s"), tumbling("1 s")]),
        (unlimited(), [unlimited("2026-01-01T00:00+00:00"), sliding("1 s")]),
        (
            calendar("week", time_zone="UTC"),
            [
                calendar("day", time_zone="UTC"),
                calendar("week", time_zone="Europe/Berlin"),
                calendar("week", time_zone="UTC", first_day="sunday"),
                calendar("week", time_zone="UTC", offset="6 days"),
                tumbling("7 days"),
            ],
        ),
    ],
)
def test_other_windows_are_other_state(windows: Windows, others: list[Windows]) -> None:
    for other in others:
        assert "window" in difference(windowed(windows), windowed(other))


@pytest.mark.parametrize(
    ("windows", "later"),
    [
        (sliding("1 s"), sliding("1 s", grace="1 s")),
        (
            calendar("day", time_zone="UTC"),
            calendar("day", time_zone="UTC", first_day="friday", grace="1 s"),
        ),
    ],
)
def test_the_grace_period_of_any_windows_may_change(windows: Windows, later: Windows) -> None:
    assert difference(windowed(windows), windowed(later)) == ""


def two_counts(first: int, second: int, *, names: tuple[str, str] | None = None) -> Build:
    """Two counts that differ in their filters alone."""

    def build(_topology: Topology, flights: Stream, _airlines: Table) -> None:
        for number, late in enumerate((first, second)):
            grouped = flights.filter(col("delay") > late).group_by("dest")
            named = grouped.materialized(names[number]) if names else grouped
            named.count("n").to(f"out-{number}")

    return build


def undo(*, big: int = 100, factor: int = 1) -> Build:
    """A filtered, projected table that is grouped: old rows are taken back."""

    def build(_topology: Topology, _flights: Stream, airlines: Table) -> None:
        some = airlines.filter(col("size") > big).map_values("country", size=col("size") * factor)
        by_country = some.group_by("country").materialized("by_country")
        by_country.aggregate(total=sum_("size")).to("out")

    return build


def undo_of_results(*, factor: int = 1, more_than: int = 0) -> Build:
    """An aggregate whose results are grouped again."""

    def build(_topology: Topology, flights: Stream, _airlines: Table) -> None:
        by_dest = flights.group_by("dest").materialized("by_dest")
        counted = by_dest.aggregate(n=count() * factor)
        again = counted.filter(col("n") > more_than).group_by(tens=col("n") / 10)
        again.materialized("again").count("of").to("out")

    return build


def joined(*select: str, late: int = 0) -> Build:
    def build(_topology: Topology, flights: Stream, airlines: Table) -> None:
        some = airlines.filter(col("size") > 5).map_values(*select)
        late_ones = flights.filter(col("delay") > late).select_key("carrier")
        late_ones.join(some, on="carrier").to("out")

    return build


def by_joined(column: str, *, of: str | None = None) -> Build:
    """An aggregate over what a join has looked up, in the table or in a projection of it."""

    def build(_topology: Topology, flights: Stream, airlines: Table) -> None:
        table = airlines if of is None else airlines.map_values(**{column: col(of)})
        wide = flights.join(table, on="carrier")
        wide.group_by("dest").materialized("wide").aggregate(top=max_(column)).to("out")

    return build


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            two_sums("delay", "air"),
            two_sums("air", "delay"),
            "computes a, b differently: its store has ",
        ),
        (
            two_counts(0, 60),
            two_counts(60, 0),
            "the filter upstream of it was (flights.delay",
        ),
        (undo(), undo(big=50), "the filter upstream of it was (airlines"),
        (undo(), undo(factor=2), "stored at position 1, was BIGINT"),
        (undo_of_results(), undo_of_results(more_than=5), "the filter upstream of it was"),
        (undo_of_results(), undo_of_results(factor=3), "its key was"),
        (by_joined("name"), by_joined("country"), "computes top differently: its store has "),
        (
            by_joined("x", of="name"),
            by_joined("x", of="country"),
            "stored at position 1, was STRING",
        ),
    ],
)
def test_a_change_that_would_misread_a_store_is_reported(
    before: Build, after: Build, message: str
) -> None:
    assert difference(before, before) == ""

    assert message in difference(before, after)
    assert message.partition(" was ")[0] in difference(after, before)


def totals(results: dict[str, Expr], *, named: bool = True) -> Build:
    def build(_topology: Topology, flights: Stream, _airlines: Table) -> None:
        grouped = flights.group_by("dest")
        table = (grouped.materialized("totals") if named else grouped).aggregate(
            *(of.alias(name) for name, of in results.items())
        )
        table.filter(col("n") > 0).to("customer-totals")

    return build


N = count()
MEAN = avg("delay")
WORST = max_("delay")


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            {"n": N},
            {"n": N, "mean": MEAN, "twice": N * 2},
            "gained mean: its store has count(*),",
        ),
        ({"n": N, "mean": MEAN}, {"n": N}, "lost mean: its store has "),
        ({"n": N, "worst": WORST}, {"n": N, "mean": MEAN}, "gained mean and lost worst: "),
        ({"n": N, "x": WORST}, {"n": N, "x": MEAN}, "computes x differently: "),
        ({"n": N, "x": WORST}, {"x": WORST, "n": N}, "has another order: "),
    ],
)
def test_a_changed_aggregate_is_described_by_its_results(
    before: dict[str, Expr], after: dict[str, Expr], message: str
) -> None:
    found = difference(totals(before), totals(after))

    assert found.startswith(f'The aggregate of topic "customer-totals" {message}')


def test_a_checkpoint_without_recorded_results_is_described_by_its_stores() -> None:
    before, after = (shape(totals(of), FLIGHTS, AIRLINES) for of in ({"n": N}, {"n": MEAN}))
    for layout in before["stores"].values():
        del layout["results"], layout["called"]

    assert "its store has count(*), and would have " in first_difference(before, after)


def test_a_store_renamed_by_an_upstream_operator_is_reported_with_the_name_to_keep() -> None:
    def with_a_filter(topology: Topology, flights: Stream, airlines: Table) -> None:
        totals({"n": N}, named=False)(topology, flights.filter(col("delay") > 0), airlines)

    def as_suggested(_topology: Topology, flights: Stream, _airlines: Table) -> None:
        late = flights.filter(col("delay") > 0)
        kept = late.group_by("dest").materialized("aggregate-4-store").aggregate(n=N)
        kept.filter(col("n") > 0).to("customer-totals")

    found = difference(totals({"n": N}, named=False), with_a_filter)

    assert found.startswith('The aggregate of topic "customer-totals" kept its state in store')
    assert 'materialized("aggregate-4-store")' in found
    assert difference(totals({"n": N}, named=False), as_suggested) == ""


def test_removed_and_new_stores_are_described_by_familiar_names() -> None:
    def counted(topic: str, by: str) -> Build:
        def build(_topology: Topology, flights: Stream, _airlines: Table) -> None:
            flights.group_by(by).materialized(by).count().to(topic)

        return build

    assert difference(counted("a", "dest"), counted("b", "carrier")) == (
        'The aggregate of topic "a" was removed, with store "dest"; '
        'new stores: the aggregate of topic "b".'
    )


def test_source_topics_that_came_and_went_are_named() -> None:
    def reads(*topics: str) -> Build:
        def build(topology: Topology, _flights: Stream, _airlines: Table) -> None:
            for topic in topics:
                topology.stream(topic, value="n INT").to(f"{topic}-copy")

        return build

    assert difference(reads("a"), reads("b")) == (
        'It no longer reads topic "a" and also reads topic "b".'
    )
    assert difference(reads("a", "b"), reads("b", "a")) == (
        "It reads its topics in another order: it was a, b, now b, a."
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            two_counts(0, 60, names=("late", "later")),
            two_counts(10, 90, names=("late", "later")),
        ),
        (joined("name", "country"), joined("name", "country", late=60)),
        (joined("name", "country"), joined("country")),
    ],
)
def test_steps_without_dependent_stores_may_change(before: Build, after: Build) -> None:
    assert difference(before, after) == ""


def branches(*, first: bool = True) -> Build:
    """Two counts that differ in their branches alone."""

    def build(_topology: Topology, flights: Stream, _airlines: Table) -> None:
        parts = flights.split(late=col("delay") > 0, default="rest")
        for name in ("late", "rest") if first else ("rest", "late"):
            parts[name].group_by("dest").count("n").to(name)

    return build


def test_stores_of_two_branches_are_distinguished() -> None:
    assert difference(branches(), branches()) == ""
    assert "the filter upstream of it" in difference(branches(), branches(first=False))


def test_exploded_elements_keep_the_columns_of_their_row() -> None:
    def words(*, lower: bool) -> Build:
        def build(_topology: Topology, flights: Stream, _airlines: Table) -> None:
            text = col("dest").lower() if lower else col("dest")
            flights.explode(word=text.split()).group_by("word").count("n").to("words")

        return build

    assert difference(words(lower=True), words(lower=True)) == ""
    assert "its key was" in difference(words(lower=True), words(lower=False))


def test_a_filter_may_change_before_the_only_store_that_is_named_after_its_place() -> None:
    def late_ones(late: int) -> Build:
        def build(_topology: Topology, flights: Stream, _airlines: Table) -> None:
            flights.filter(col("delay") > late).group_by("dest").count("n").to("out")

        return build

    assert difference(late_ones(0), late_ones(60)) == ""


def test_a_reader_that_is_added_may_move_columns_of_what_it_shares() -> None:
    """Unused columns are dropped, so a new sink changes the positions of an aggregate's columns."""

    def build(_topology: Topology, flights: Stream, _airlines: Table) -> None:
        wide = flights.map_values("carrier", "dest", "delay", late=col("delay") > 15)
        wide.group_by("dest").materialized("by_dest").aggregate(total=sum_("delay")).to("out")

    def with_a_reader(topology: Topology, flights: Stream, airlines: Table) -> None:
        wide = flights.map_values("carrier", "dest", "delay", late=col("delay") > 15)
        wide.group_by("dest").materialized("by_dest").aggregate(total=sum_("delay")).to("out")
        wide.filter(col("late")).to("late")

    assert difference(build, with_a_reader) == ""


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            "country STRING, name STRING, size BIGINT",
            "column 1, stored at position 1, was airlines.name",
        ),
        (
            "name STRING, country STRING, size INT",
            "was airlines.size BIGINT and is airlines.size INT",
        ),
        ("name STRING, country STRING", "was airlines.size BIGINT and is nothing"),
    ],
)
def test_the_columns_of_a_table_that_is_kept_are_fixed(columns: str, message: str) -> None:
    def build(_topology: Topology, flights: Stream, airlines: Table) -> None:
        flights.join(airlines.filter(col("name") > "a"), on="carrier").to("out")

    assert message in difference(build, build, airlines=columns)


def test_an_expression_of_any_length_is_compared_and_written_short() -> None:
    def build(number: int) -> Build:
        def of(_topology: Topology, flights: Stream, _airlines: Table) -> None:
            value = col("delay")
            for _ in range(300):
                value = value + 1
            flights.map_values("dest", deep=value + number).group_by("dest").aggregate(
                total=sum_("deep")
            ).to("out")

        return of

    message = difference(build(1), build(2))

    assert "stored at position 1" in message
    assert len(message) < 1000


def test_a_string_that_resembles_a_column_stays_a_string() -> None:
    def build(of: str) -> Build:
        def counts(_topology: Topology, _flights: Stream, airlines: Table) -> None:
            airlines.filter(col("name") == of).group_by("country").count("n").to("out")

        return counts

    assert "= 'v1')" in difference(build("v1"), build("it's v0"))
