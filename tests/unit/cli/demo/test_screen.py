import io
import json
import time

import pytest
from rich.console import Console

from duolog.cli.demo.screen import (
    JsonScreen,
    Waiting,
    duration,
    progress,
    result_table,
    status_line,
    title,
)
from duolog.cli.demo.state import DemoState
from duolog.cli.demo.topics import BY_AIRLINE

STATE = DemoState(
    elapsed_s=12.3456,
    mode="real-time",
    state="running",
    events=1_500,
    produced=2_000,
    total=336_776,
    live=True,
    events_per_second=199.96,
    lag=500,
    p50_ms=28,
    p99_ms=12_000,
)


def row(flights: int, mean: float | None, most: int | None) -> dict[str, object]:
    return {"name": "Airline", "flights": flights, "delay_mean": mean, "delay_max": most}


def drawn(table: object) -> str:
    out = io.StringIO()
    Console(file=out, width=100).print(table)
    return out.getvalue()


def test_the_status_shows_the_lag_and_the_latency_of_live_flights() -> None:
    """The status used to show the median latency of a backlog: 10.8 s, which misled new users."""
    behind = STATE._replace(live=False, mode="micro-batch", lag=210_000, p50_ms=None, p99_ms=None)

    assert status_line(behind).plain == (
        "catching up 200 events/s · lag 210,000 · micro-batch · 12 s"
    )
    assert status_line(STATE).plain == (
        "live 200 events/s · produce to result p50 28 ms p99 12.0 s · real-time · 12 s"
    )


@pytest.mark.parametrize("live", [True, False])
def test_nothing_is_cut_at_80_columns(live: bool) -> None:  # noqa: FBT001 - a parameter of pytest
    state = STATE._replace(live=live, lag=336_776, p50_ms=9_999, p99_ms=99_900, elapsed_s=125.0)

    for line in (title(), status_line(state), progress(state, 80)):
        out = io.StringIO()
        Console(file=out, width=80).print(line)
        assert "…" not in out.getvalue()
        assert len(out.getvalue().splitlines()) == 1


def test_progress_shows_elapsed_time_and_keeps_completed_lines() -> None:
    waiting = Waiting(started_at=time.monotonic() - 20)
    waiting.begin("starting the broker")
    waiting.begin("starting Spark")

    heading, broker, spark, clock = drawn(waiting).splitlines()

    assert heading.startswith("Duolog")
    assert broker.split() == ["0.0", "s", "starting", "the", "broker"]
    assert spark.endswith("starting Spark …")
    assert clock.startswith(" 20.0 s  the first start is the slowest")


def test_the_rows_with_the_most_flights_come_first_and_the_rest_is_left_out() -> None:
    rows = {"AA": row(5, 1.5, 90), "UA": row(7, None, None), "DL": row(1, 0.0, 0)}

    lines = drawn(result_table(BY_AIRLINE, rows, most=2)).splitlines()

    assert [line.split()[0] for line in lines] == ["airline", "UA", "AA"]
    assert lines[1].split()[-2:] == ["-", "-"]
    assert "1.50 min" in lines[2]


@pytest.mark.parametrize("width", [48, 60, 100])
def test_a_narrow_terminal_truncates_names_and_no_numbers(width: int) -> None:
    rows = {"WN": row(58_665, -123.45, 1_272) | {"name": "Southwest Airlines Company of Texas"}}
    out = io.StringIO()

    Console(file=out, width=width).print(result_table(BY_AIRLINE, rows, most=None))

    heading, line = out.getvalue().splitlines()
    assert heading.split() == ["airline", "flights", "mean", "delay", "max"]
    assert line.split()[-4:] == ["58,665", "-123.45", "min", "1,272"]
    assert line.startswith("WN  Southwest")


def test_json_is_one_line_with_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    with JsonScreen() as screen:
        screen.show(STATE, tables=None)  # type: ignore[arg-type]  # JSON shows numbers only
        screen.show(STATE, tables=None)  # type: ignore[arg-type]

    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line) == {
        "elapsed_s": 12.346,
        "mode": "real-time",
        "state": "running",
        "events": 1_500,
        "produced": 2_000,
        "total": 336_776,
        "live": True,
        "events_per_second": 200.0,
        "lag": 500,
        "p50_ms": 28,
        "p99_ms": 12_000,
    }


def test_a_latency_that_is_not_known_is_a_dash() -> None:
    assert duration(None) == "-"
