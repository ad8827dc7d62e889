"""Totals over restarts, rates and trends, from observations at known times."""

from duolog.runtime.sql.figures.history import History
from duolog.runtime.sql.figures.observation import Observation
from duolog.runtime.sql.figures.query_figures import Flow

RUNS = [object() for _ in range(4)]


def note(history: History, at_s: float, run: int | None = 1, **counters: int) -> None:
    history.note(
        int(at_s * 1000),
        None if run is None else RUNS[run],
        Observation({name.replace("__", ":"): count for name, count in counters.items()}),
        lag_records=0,
        lag_ms=0,
    )


def test_a_rate_is_that_of_the_last_ten_seconds() -> None:
    history = History()
    note(history, 0, **{"in": 0})
    note(history, 5, **{"in": 1_000})
    assert history.flow("in") == Flow(1_000, 200.0)

    note(history, 10, **{"in": 1_000})
    assert history.flow("in") == Flow(1_000, 100.0)

    note(history, 15, **{"in": 1_010})
    assert history.flow("in") == Flow(1_010, 1.0)


def test_a_single_sample_has_no_rate() -> None:
    history = History()
    note(history, 0, **{"in": 7})
    assert history.flow("in") == Flow(7, None)

    note(history, 0.999, **{"in": 9})
    assert history.flow("in").per_second is None


def test_totals_continue_over_jvms_and_runs() -> None:
    history = History()
    note(history, 0, **{"in": 100})
    note(history, 5, **{"in": 20})  # A new JVM of the same run.
    assert history.flow("in").records == 120

    note(history, 10, 2, **{"in": 50})  # A new run whose count is already greater.
    assert history.flow("in").records == 170

    note(history, 15, None)  # It does not run.
    note(history, 20, 3, **{"in": 60})
    assert history.flow("in").records == 230


def test_topics_have_flows_of_their_own() -> None:
    history = History()
    note(history, 0, **{"in": 0, "in__a": 0, "in__b": 0, "out__a": 0})
    note(history, 10, **{"in": 30, "in__a": 10, "in__b": 20, "out__a": 5})

    assert history.flows("in") == {"a": Flow(10, 1.0), "b": Flow(20, 2.0)}
    assert history.flows("out") == {"a": Flow(5, 0.5)}


def test_the_last_result_is_when_more_was_written() -> None:
    history = History()
    note(history, 1, out=0)
    first: int | None = history.last_result_at_ms
    assert first is None

    for at_s, count, expected_s in ((6, 3, 6), (11, 3, 6), (16, 4, 16)):
        note(history, at_s, out=count)
        assert history.last_result_at_ms == expected_s * 1000


def test_errors_have_all_kinds() -> None:
    history = History()
    note(history, 0, error__processing=2, error__functionCalls=5, late=4, bytes=9)

    assert history.errors == {
        "deserialization": 0,
        "processing": 2,
        "production": 0,
        "retention": 0,
        "dropped": 0,
        "functionCalls": 5,
    }
    assert (history.late, history.bytes_out) == (4, 9)


def test_a_lag_has_a_trend_while_it_is_known() -> None:
    history = History()
    for at in range(10):
        history.note(
            at * 5_000, 1, Observation(), lag_records=at * 100, lag_ms=100_000 - at * 10_000
        )
    lag = history.lag(())
    assert (lag.records, lag.records_trend, lag.ms, lag.ms_trend) == (
        *(900, "rising"),
        *(10_000, "falling"),
    )

    history.note(50_000, 1, Observation(), lag_records=None, lag_ms=None)
    lag = history.lag(())
    assert (lag.records, lag.records_trend, lag.ms, lag.ms_trend) == (None, None, None, None)


def test_old_samples_are_forgotten() -> None:
    history = History()
    for at in range(1000):
        note(history, at * 5, **{"in": at})

    assert len(history) <= 27
    assert history.flow("in") == Flow(999, 0.2)
