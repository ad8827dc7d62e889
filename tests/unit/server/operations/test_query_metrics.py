"""Series of queries: their names, values and number."""

import asyncio
from dataclasses import replace

from duolog.runtime.sql.figures.query_figures import Flow, Lag, QueryFigures, StoreFigures
from duolog.server.operations.query_metrics import QUERIES_MAX, lines
from unit.server.memory import MemoryServer, context
from unit.server.operations.catalog_service import Service

FULL = QueryFigures(
    "CTAS_TOTALS_1",
    90_000,
    state="RUNNING",
    jvm_group="heavy",
    started_at_ms=40_000,
    restarts=2,
    failures=3,
    topics_in={"b": Flow(6, 1.0), "a": Flow(4, 0.5)},
    topics_out={"TOTALS": Flow(5, None)},
    bytes_out=70,
    lag=Lag(7, "rising", 2_500, "falling"),
    errors={"processing": 1, "functionCalls": 0},
    late=9,
    stores=(StoreFigures("s", 11, 220, 3),),
    state_bytes=99,
    last_result_at_ms=95_000,
)


def samples(*figures: QueryFigures) -> list[str]:
    text = "".join(lines({one.id: one for one in figures}, 100_000))
    return [line for line in text.splitlines() if not line.startswith("#")]


def test_every_figure_is_a_series() -> None:
    of = 'query_id="CTAS_TOTALS_1"'

    assert samples(FULL) == [
        f'duolog_query_info{{{of},state="RUNNING",jvm_group="heavy"}} 1',
        f'duolog_query_records_in_total{{{of},topic="a"}} 4',
        f'duolog_query_records_in_total{{{of},topic="b"}} 6',
        f'duolog_query_records_out_total{{{of},topic="TOTALS"}} 5',
        f"duolog_query_bytes_out_total{{{of}}} 70",
        f"duolog_query_lag_records{{{of}}} 7",
        f"duolog_query_lag_seconds{{{of}}} 2.5",
        f"duolog_query_lag_records_trend{{{of}}} 1",
        f"duolog_query_lag_seconds_trend{{{of}}} -1",
        f'duolog_query_errors_total{{{of},kind="functionCalls"}} 0',
        f'duolog_query_errors_total{{{of},kind="processing"}} 1',
        f"duolog_query_late_records_total{{{of}}} 9",
        f'duolog_query_store_rows{{{of},store="s"}} 11',
        f'duolog_query_store_bytes{{{of},store="s"}} 220',
        f"duolog_query_state_bytes{{{of}}} 99",
        f"duolog_query_restarts_total{{{of}}} 2",
        f"duolog_query_failures_total{{{of}}} 3",
        f"duolog_query_uptime_seconds{{{of}}} 60.0",
        f"duolog_query_last_result_age_seconds{{{of}}} 5.0",
        "duolog_query_left_out 0",
    ]


def test_what_is_unknown_has_no_series() -> None:
    names = {line.partition("{")[0] for line in samples(QueryFigures("Q", 0, errors={}))}

    assert names == {
        "duolog_query_info",
        "duolog_query_bytes_out_total",
        "duolog_query_late_records_total",
        "duolog_query_restarts_total",
        "duolog_query_failures_total",
        "duolog_query_left_out 0",
    }


def test_the_number_of_series_is_bounded() -> None:
    many = [replace(FULL, id=f"Q_{number:05}") for number in range(QUERIES_MAX + 5)]

    found = samples(*many)

    ids = {line.partition('query_id="')[2].partition('"')[0] for line in found[:-1]}
    assert len(ids) == QUERIES_MAX
    assert "Q_00000" in ids
    assert found[-1] == "duolog_query_left_out 5"


def test_metrics_have_the_queries_of_this_server_and_none_that_has_ended() -> None:
    async def run() -> None:
        service = Service()
        client = MemoryServer(context(sql=service)).client()
        service.figures.found = {FULL.id: FULL}
        first = await client.ask("GET", "/metrics")
        service.figures.found = {}
        second = await client.ask("GET", "/metrics")

        assert b'duolog_query_lag_records{query_id="CTAS_TOTALS_1"} 7\n' in first.body
        assert b"CTAS_TOTALS_1" not in second.body
        assert b"# TYPE duolog_query_lag_records gauge\n" in second.body

    asyncio.run(run())
