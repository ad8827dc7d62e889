"""Points of figures for charts: one for ten seconds, for a quarter of an hour."""

from collections.abc import Callable, Iterable, Sequence

import pytest

from duolog.runtime.sql.figures import series as series_module
from duolog.runtime.sql.figures.collector import Wiring
from duolog.runtime.sql.figures.query_figures import Flow, Lag, QueryFigures
from duolog.runtime.sql.figures.series import SPAN_MS, STEP_MS, Point, Series
from duolog.runtime.sql.figures.service_figures import ServiceFigures
from duolog.security.clients.brokers import Brokers
from unit.runtime.sql.figures.fake_running import Broker, Clock, Queries, Running
from unit.runtime.sql.figures.test_collector import World

NOW_MS = 10_000_000


def measured(at_ms: int, lag_ms: int | None = None, query: str = "Q") -> QueryFigures:
    return QueryFigures(query, at_ms, lag=Lag(None, None, lag_ms, None))


def noted(*figures: QueryFigures) -> Series:
    found = Series()
    for one in figures:
        found.note(one)
    return found


def lags(points: Sequence[Point]) -> list[tuple[int, int | None]]:
    return [(one.at_ms, one.lag_ms) for one in points]


def test_a_point_has_the_figures_of_a_measurement() -> None:
    figures = QueryFigures(
        "Q",
        NOW_MS,
        records_in=Flow(100, 2.5),
        records_out=Flow(50, None),
        lag=Lag(7, "rising", 900, "steady"),
        errors={"processing": 2, "production": 3},
        state_bytes=64,
    )

    assert noted(figures).of(["Q"], NOW_MS) == {"Q": [Point(NOW_MS, 2.5, None, 7, 900, 5, 64)]}


def test_the_last_measurement_of_ten_seconds_is_their_point() -> None:
    first, second, third = NOW_MS, NOW_MS + STEP_MS - 1, NOW_MS + STEP_MS

    # Published figures are read again and again, in any order.
    found = noted(measured(third, 3), measured(second, 2), measured(first, 1), measured(third, 3))

    assert lags(found.of(["Q"], third)["Q"]) == [(second, 2), (third, 3)]


def test_points_end_after_a_quarter_of_an_hour() -> None:
    found = noted(*(measured(NOW_MS + number * STEP_MS, number) for number in range(200)))
    last_ms = NOW_MS + 199 * STEP_MS

    points = found.of(["Q"], last_ms)["Q"]

    assert (len(points), points[0].lag_ms, points[-1].lag_ms) == (90, 110, 199)
    # A query that is not measured any more has no points in the end.
    assert len(found.of(["Q"], last_ms + SPAN_MS - STEP_MS)["Q"]) == 1
    assert found.of(["Q"], last_ms + SPAN_MS) == {"Q": []}


def test_points_of_the_future_are_not_shown() -> None:
    assert noted(measured(NOW_MS + 1)).of(["Q"], NOW_MS) == {"Q": []}


def test_the_queries_noted_last_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(series_module, "QUERIES_MAX", 2)

    found = noted(*(measured(NOW_MS, query=name) for name in ("A", "B", "A", "C")))

    counts = {name: len(points) for name, points in found.of("ABC", NOW_MS).items()}
    assert counts == {"A": 1, "B": 0, "C": 1}


def test_the_collector_notes_what_it_measures() -> None:
    found: list[QueryFigures] = []
    world = World(note=found.append)
    world.query.read("orders", 10, 10)

    measured_now = world.measure(5)

    assert found == [measured_now]


class Published:
    """Figures that other servers have published."""

    def __init__(self, *figures: QueryFigures) -> None:
        self.figures = figures
        self.reads = 0

    def __call__(
        self, _brokers: Brokers, _service: str, note: Callable[[QueryFigures], None]
    ) -> dict[str, QueryFigures]:
        self.reads += 1
        for one in self.figures:
            note(one)
        return {one.id: one for one in self.figures}


def service(published: Published, running: Iterable[str] = ()) -> ServiceFigures:
    queries = Queries(Running()) if running else None
    wiring = Wiring(lambda: queries, dict, lambda _: {}, dict, Broker())
    clock = Clock()
    clock.ms = NOW_MS
    return ServiceFigures(Brokers("x:1"), "s", wiring, read=published, clock=clock)


def test_the_history_of_other_servers_is_what_they_have_published() -> None:
    published = Published(
        measured(NOW_MS - 30_000, 1), measured(NOW_MS - 15_000, 2), measured(NOW_MS - 1, 3)
    )

    found = service(published).history(["Q", "R"])

    assert lags(found["Q"]) == [(NOW_MS - 30_000, 1), (NOW_MS - 15_000, 2), (NOW_MS - 1, 3)]
    assert found["R"] == []


def test_published_figures_are_read_once_for_many_questions() -> None:
    published = Published(measured(NOW_MS, 1))
    figures = service(published)

    for _ in range(3):
        figures.history(["Q"])

    assert published.reads == 1
