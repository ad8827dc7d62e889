"""The reason for an empty result: its table's query is not running."""

import pytest

from duolog.ksql.catalog.catalog import SourceInfo, SqlFormat
from duolog.runtime.sql.answers import Rows
from duolog.runtime.sql.persistent.query_supervisor import LiveQuery, LiveState
from duolog.runtime.sql.reply.showing import with_reason

JSON = SqlFormat("JSON")
MADE = SourceInfo("N", "TABLE", (), "n", JSON, JSON, query="CTAS_N_1")
READ = SourceInfo("T", "TABLE", (), "t", JSON, JSON)
STREAM = SourceInfo("S", "STREAM", (), "s", JSON, JSON, query="CSAS_S_2")


def reason(source: SourceInfo, state: LiveState) -> str:
    live = [LiveQuery("CTAS_OTHER_0", "STARTING"), LiveQuery(source.query, state)]
    return with_reason(Rows((), iter(())), [source], lambda: live).why_none()


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (
            "STARTING",
            "no rows yet: query CTAS_N_1, which writes table N, is starting; try again when SHOW QUERIES;",
        ),
        ("PAUSED", "is paused; RESUME CTAS_N_1; continues it"),
        ("ERROR", "has failed; EXPLAIN CTAS_N_1; shows why"),
        ("UNRESPONSIVE", "is not running"),
    ],
)
def test_an_empty_result_names_a_query_that_does_not_run(state: LiveState, message: str) -> None:
    assert message in reason(MADE, state)


def test_an_empty_result_of_a_running_query_has_no_reason() -> None:
    assert reason(MADE, "RUNNING") == ""


@pytest.mark.parametrize("source", [READ, STREAM])
def test_sources_not_written_by_a_query_need_no_state(source: SourceInfo) -> None:
    def asked() -> list[LiveQuery]:
        raise AssertionError

    assert with_reason(Rows((), iter(())), [source], asked).why_none() == ""
