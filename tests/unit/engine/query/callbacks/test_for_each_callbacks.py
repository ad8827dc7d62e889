"""The thread that calls functions with the records that tasks hand over."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from duolog import Topology
from duolog.core.errors import ConfigError
from duolog.engine import Engine, EngineConfig
from duolog.engine.query.callbacks.for_each_callbacks import Callback, CallbackRunner
from duolog.serde.called_record import CalledRecord

WAIT_S = 10


class FakeTasks:
    """Returns the batches that a test adds, and records the results it is given."""

    def __init__(self, *batches: list[Any] | Exception) -> None:
        self.batches = list(batches)
        self.done: list[int] = []
        self.failed: list[tuple[int, str]] = []
        self.empty = threading.Event()

    def take_calls(self, records_max: int, wait_ms: int) -> str:
        if not self.batches:
            self.empty.set()
            threading.Event().wait(0.01)
            return "[]"
        taken = self.batches.pop(0)
        if isinstance(taken, Exception):
            raise taken
        return json.dumps(taken)

    def calls_done(self, number: int) -> None:
        self.done.append(number)

    def call_failed(self, number: int, error: str) -> None:
        self.failed.append((number, error))


def row(number: int, n: int | None, headers: Any = ()) -> list[Any]:
    value = None if n is None else json.dumps({"n": n})
    return [number, "for-each-2", 100 + number, '{"id":"a"}', value, "orders", 0, number, headers]


def run(tasks: FakeTasks, function: Any, *, passes_over: bool = False) -> CallbackRunner:
    topology = Topology("t")
    topology.stream("orders", key="id STRING", value="n BIGINT").for_each(function)
    (node,) = topology.build().calls
    stopped = threading.Event()
    caller = CallbackRunner(
        {node.name: Callback.of(node)}, lambda: tasks, stopped.set, "t", passes_over=passes_over
    )
    caller.start()
    while not (tasks.empty.wait(0.01) or stopped.is_set()):
        pass
    caller.close()
    return caller


def test_callbacks_run_in_order_and_are_confirmed() -> None:
    called: list[CalledRecord] = []
    tasks = FakeTasks([row(0, 1, [["h", "eA=="], ["none", None]])], [row(1, 2), row(2, None)])

    run(tasks, called.append)

    assert called[0] == CalledRecord(
        "a", {"n": 1}, 100, (("h", b"x"), ("none", None)), "orders", 0, 0
    )
    assert [record.value for record in called] == [{"n": 1}, {"n": 2}, None]
    assert tasks.done == [0, 2]


def fails_at_two(record: CalledRecord) -> None:
    if record.value == {"n": 2}:
        raise ValueError("two")


def test_the_query_ends_with_the_record_before_another_is_called() -> None:
    tasks = FakeTasks([row(0, 1), row(1, 2), row(2, 3)], [row(3, 4)])

    caller = run(tasks, fails_at_two)

    assert caller.failure is not None
    assert caller.failure.message == (
        'application "t" failed: cannot process the record of topic "orders", partition 0, offset 1 '
        "at for-each-2: ValueError: two"
    )
    assert isinstance(caller.failure.__cause__, ValueError)
    assert tasks.done == []
    assert len(tasks.batches) == 1


def test_a_record_is_skipped_if_the_handler_allows_it() -> None:
    tasks = FakeTasks([row(0, 1), row(1, 2), row(2, 3)])

    caller = run(tasks, fails_at_two, passes_over=True)

    assert caller.failure is None
    assert tasks.failed == [(1, "ValueError: two")]
    assert tasks.done == [2]


def test_an_unreachable_jvm_is_called_again() -> None:
    tasks = FakeTasks(ConnectionError("gone"), [row(0, 1)])

    run(tasks, lambda record: None)

    assert tasks.done == [0]


def test_a_cluster_is_refused_before_anything_starts(tmp_path: Path) -> None:
    topology = Topology("t")
    topology.stream("orders", value="n BIGINT").for_each(print)
    engine = Engine(EngineConfig("127.0.0.1:1", tmp_path, master="spark://host:7077"))

    with pytest.raises(ConfigError, match="for-each-2 calls a function that exists only"):
        engine.check(topology.build(), "t")
