"""The gates opened for a real-time query, and their arguments; the kernel is a mock."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from unittest.mock import MagicMock

import pytest

from duolog.engine.checkpoint.checkpoint import Checkpoint
from duolog.engine.query.launch.gates import Gates
from duolog.engine.query.launch.launch_context import LaunchContext
from duolog.engine.settings import EngineConfig

COUNTS: Final = {"in": 3, "names": 2, "one": 1}
STARTS: Final = {"in": {0: 90, 1: 40}}


def opened(*, streams: tuple[str, ...] = (), tables: tuple[str, ...] = ()) -> dict[str, MagicMock]:
    """Return the kernel's classes by their names, as they were called."""
    kernels: dict[str, MagicMock] = {}
    session = MagicMock()
    session.kernel.side_effect = lambda name: kernels.setdefault(name, MagicMock())
    is_table: Mapping[str, bool] = dict.fromkeys(streams, False) | dict.fromkeys(tables, True)
    config, checkpoint = EngineConfig("127.0.0.1:9092", Path()), Checkpoint(Path())
    context = LaunchContext(session, config, checkpoint, {"application_id": "app"})
    Gates(context).open(is_table, COUNTS, STARTS)
    return kernels


@pytest.mark.parametrize(
    ("streams", "tables", "ordered"),
    [
        (("in",), (), {"in": 3}),
        (("in", "one"), ("names",), {"in": 3, "one": 1}),
        ((), ("names",), {"names": 2}),
    ],
)
def test_records_of_streams_are_ordered_at_a_start_and_else_those_of_tables(
    streams: tuple[str, ...], tables: tuple[str, ...], ordered: Mapping[str, int]
) -> None:
    order = opened(streams=streams, tables=tables)["StartOrder"]

    application_id, partitions, starts, _client = order.open.call_args.args
    counts = {topic: len(offsets) for topic, offsets in json.loads(partitions).items()}
    assert (application_id, counts) == ("app", ordered)
    assert json.loads(starts) == {"in": {"0": 90, "1": 40}}


def test_a_single_partition_has_its_order_without_one() -> None:
    order = opened(streams=("one",), tables=("names",))["StartOrder"]

    order.open.assert_not_called()
    order.close.assert_called_once_with("app")


def test_streams_wait_for_tables_where_there_are_both() -> None:
    assert "TableGate" in opened(streams=("in",), tables=("names",))
    assert "TableGate" not in opened(streams=("in",))
    assert "TableGate" not in opened(tables=("names",))
