"""The progress of reading tables, in metrics and health."""

import asyncio
import json
from typing import TYPE_CHECKING, cast

import pytest

from duolog.runtime.sql.tables.progress import Progress
from duolog.server.messages import Response
from duolog.server.operations.health import healthcheck
from duolog.server.operations.metrics import metrics

if TYPE_CHECKING:
    from duolog.server.messages import Request
    from duolog.server.operations.context import ServerContext


def test_the_progress_is_a_percentage_with_a_rate_and_the_time_that_is_left() -> None:
    progress = Progress("totals", 250_000, 1_000_000, 2.0)

    assert str(progress) == "totals: 25 % (250,000 of 1,000,000 offsets, 125,000 per second)"
    assert progress.left_s == pytest.approx(6.0)
    assert not progress.is_complete
    assert Progress("empty", 0, 0, 1.0).is_complete
    assert Progress("new", 0, 5, 1.0).left_s is None


class _Counts:
    answered: dict[tuple[str, str], int] = {}  # noqa: RUF012 - of one test
    seconds: dict[str, object] = {}  # noqa: RUF012 - as above
    in_progress = connections = evicted = 0


class _Context:
    """The parts of a server that metrics and health read."""

    counts = _Counts()
    sql = None

    @staticmethod
    def tables_read() -> dict[str, Progress]:
        return {
            "DONE": Progress("done", 7, 7, 0.5),
            "TOTALS": Progress("totals", 250_000, 1_000_000, 2.0),
        }

    class workers:
        calls = 0

    class health:
        @staticmethod
        async def healthy() -> bool:
            return True

    class stopping:
        @staticmethod
        def is_set() -> bool:
            return False


_CONTEXT = cast("ServerContext", _Context())
_REQUEST = cast("Request", None)


def test_metrics_have_the_offsets_of_each_table() -> None:
    response = asyncio.run(metrics(_REQUEST, _CONTEXT))

    assert isinstance(response, Response)
    lines = response.body.decode().splitlines()
    assert 'duolog_server_table_read_offsets{table="TOTALS"} 250000' in lines
    assert 'duolog_server_table_offsets{table="TOTALS"} 1000000' in lines
    assert 'duolog_server_table_read_offsets{table="DONE"} 7' in lines


def test_the_health_lists_tables_that_are_being_read() -> None:
    response = asyncio.run(healthcheck(_REQUEST, _CONTEXT))

    assert isinstance(response, Response)
    health = json.loads(response.body)
    assert health["isHealthy"]
    assert health["details"]["tables"] == {
        "isHealthy": True,
        "reading": ["totals: 25 % (250,000 of 1,000,000 offsets, 125,000 per second)"],
    }
