"""The controller: changes in their order, their disk work on its own thread, crashes in between."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from duolog.broker.configs.client_quotas import ClientQuotas, Component
from duolog.broker.configs.dynamic_config_store import ConfigStore
from duolog.broker.configs.resources import GROUP
from duolog.broker.controller import Change, Controller, carry_out
from duolog.broker.event_loop.loop import Loop
from duolog.broker.event_loop.time_slices import TimeSlices
from duolog.core.clock import SystemClock
from duolog.log.errors import CorruptLog, LogDirOffline
from duolog.log.log_manager import LogManager
from duolog.testing.clock import FakeClock
from duolog.testing.disk import CrashDisk


@pytest.fixture
def loop() -> Iterator[Loop]:
    made = Loop(SystemClock())
    yield made
    made.close()


@pytest.fixture
def controller(loop: Loop) -> Iterator[Controller]:
    made = Controller(loop, TimeSlices(SystemClock(), loop.timers))
    yield made
    made.close()


def turn_until(loop: Loop, done: Callable[[], bool]) -> None:
    for _ in range(500):
        if done():
            return
        loop.run_once(0.02)
    raise AssertionError("it does not happen")


def test_records_are_written_in_background_and_applied_on_the_loop(
    loop: Loop, controller: Controller
) -> None:
    seen: dict[str, int] = {}
    reported: list[Exception | None] = []

    def note(what: str) -> None:
        seen[what] = threading.get_ident()

    def apply() -> Iterator[None]:
        note("apply")
        yield

    def prepare() -> Change:
        note("prepare")
        return Change(lambda: note("write"), lambda: note("settle"), apply)

    controller.submit("a", prepare, reported.append)
    turn_until(loop, lambda: bool(reported))

    here = threading.get_ident()
    assert reported == [None]
    assert (seen["prepare"], seen["apply"]) == (here, here)
    assert seen["write"] == seen["settle"] != here


def test_a_change_of_the_same_subject_is_prepared_when_the_one_before_is_in_place(
    loop: Loop, controller: Controller
) -> None:
    steps: list[str] = []
    left = 3

    def submit(name: str, subject: str) -> None:
        def prepare() -> Change:
            steps.append(f"prepare {name}")

            def apply() -> Iterator[None]:
                steps.append(f"apply {name}")
                yield

            return Change(lambda: None, None, apply)

        def done(_: Exception | None) -> None:
            nonlocal left
            left -= 1

        controller.submit(subject, prepare, done)

    submit("first", "t")
    submit("second", "t")
    submit("other", "u")
    turn_until(loop, lambda: left == 0)

    assert steps.index("prepare second") > steps.index("apply first")


def test_changes_that_share_a_sync_sync_once(loop: Loop, controller: Controller) -> None:
    synced: list[None] = []
    reported: list[Exception | None] = []

    def settle() -> None:
        synced.append(None)

    controller.submit("hold", lambda: Change(lambda: None), reported.append)
    for index in range(10):
        controller.submit(f"t{index}", lambda: Change(lambda: None, settle), reported.append)
    turn_until(loop, lambda: len(reported) == 11)

    assert reported == [None] * 11
    assert len(synced) == 1


def test_each_request_gets_the_result_of_its_change(
    loop: Loop, controller: Controller, caplog: pytest.LogCaptureFixture
) -> None:
    reported: dict[str, Exception | None] = {}
    applied: list[str] = []

    def refused() -> Change:
        raise LogDirOffline("no")

    def broken() -> None:
        raise ZeroDivisionError

    def apply() -> Iterator[None]:
        applied.append("x")
        yield

    changes: dict[str, Callable[[], Change | None]] = {
        "refused": refused,
        "unwritable": lambda: Change(broken, None, apply),
        "unsettled": lambda: Change(lambda: None, broken, apply),
        "nothing": lambda: None,
        "fine": lambda: Change(lambda: None, None, apply),
    }

    def record(name: str) -> Callable[[Exception | None], None]:
        return lambda error: reported.update({name: error})

    for name, prepare in changes.items():
        controller.submit(name, prepare, record(name))
    turn_until(loop, lambda: len(reported) == len(changes))

    kinds = {name: type(error) for name, error in reported.items()}
    assert kinds == {
        "refused": LogDirOffline,
        "unwritable": ZeroDivisionError,
        "unsettled": ZeroDivisionError,
        "nothing": type(None),
        "fine": type(None),
    }
    assert applied == ["x"]
    assert "a change failed" in caplog.text


def test_a_step_on_the_loop_does_not_wait_for_those_after_it(
    loop: Loop, controller: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duolog.broker.event_loop.time_slices.SLICE_S", 0.0)
    steps: list[int] = []
    others: list[int] = []
    reported: list[Exception | None] = []

    def apply() -> Iterator[None]:
        for index in range(5):
            steps.append(index)
            others.append(len(steps))
            yield

    controller.submit("a", lambda: Change(lambda: None, None, apply), reported.append)
    turn_until(loop, lambda: len(steps) == 2)
    between = len(steps)
    turn_until(loop, lambda: bool(reported))

    assert between == 2
    assert steps == list(range(5))


def test_changes_continue_if_one_cannot_be_undone(loop: Loop, controller: Controller) -> None:
    """The controller used to block forever: no further topic was created."""
    reported: dict[str, Exception | None] = {}

    def fail() -> None:
        raise ZeroDivisionError

    controller.submit("a", lambda: Change(fail, undo=fail), lambda error: reported.update(a=error))
    turn_until(loop, lambda: "a" in reported)
    controller.submit("b", lambda: Change(lambda: None), lambda error: reported.update(b=error))
    turn_until(loop, lambda: "b" in reported)

    assert isinstance(reported["a"], ZeroDivisionError)
    assert reported["b"] is None


def test_a_file_being_written_is_completed_when_the_broker_stops(loop: Loop) -> None:
    controller = Controller(loop, TimeSlices(SystemClock(), loop.timers))
    gate = threading.Event()
    applied: list[str] = []

    def apply(name: str) -> Iterator[None]:
        applied.append(name)
        yield

    def wait() -> None:
        assert gate.wait(60)

    controller.submit("a", lambda: Change(wait, None, lambda: apply("a")), lambda _: None)
    controller.submit("b", lambda: Change(lambda: None, None, lambda: apply("b")), lambda _: None)
    gate.set()
    controller.close()

    assert applied == ["a"], "what was begun is finished, what was not is dropped"


# What is on the disk, over crashes


def open_manager(disk: CrashDisk) -> LogManager:
    return LogManager(disk, "/data", FakeClock(), {})


@pytest.mark.parametrize("seed", range(5))
def test_configs_and_quotas_are_there_after_a_crash_whenever_they_were_answered(seed: int) -> None:
    disk = CrashDisk()
    manager = open_manager(disk)
    store, quotas = ConfigStore(manager), ClientQuotas(manager)
    carry_out(store.changing(GROUP, "g", {"a": "1"}))
    carry_out(quotas.changing((("user", "u"),), {"producer_byte_rate": 5.0}))

    manager = open_manager(disk.crash(seed))

    assert ConfigStore(manager).get(GROUP, "g") == {"a": "1"}
    found = list(ClientQuotas(manager).find([Component("user", 0, "u")], strict=True))
    assert found == [((("user", "u"),), {"producer_byte_rate": 5.0})]


def test_emptied_groups_are_not_listed() -> None:
    manager = open_manager(CrashDisk())
    store = ConfigStore(manager)
    carry_out(store.changing(GROUP, "g", {"a": "1"}))
    carry_out(store.changing(GROUP, "g", {}))

    assert store.names(GROUP) == []
    assert store.get(GROUP, "g") == {}


@pytest.mark.parametrize("name", ["dynamic-configs", "client-quotas"])
def test_a_file_that_cannot_be_read_refuses_the_start_and_is_named(name: str) -> None:
    manager = open_manager(CrashDisk())
    manager.write_meta(name, b"not json")

    with pytest.raises(CorruptLog, match=name):
        (ConfigStore if name == "dynamic-configs" else ClientQuotas)(manager)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("settled", [False, True])
def test_a_topic_of_a_change_that_was_cut_off_is_there_or_not_but_never_by_half(
    *, settled: bool, seed: int
) -> None:
    disk = CrashDisk()
    manager = open_manager(disk)
    kept = manager.topics.create("kept", 2)
    creating = manager.topics.creating("new", 3, {"retention.ms": "5"})
    deleting = manager.topics.deleting("kept")
    for change in (creating, deleting):
        change.write()
    if settled:
        assert creating.settle is not None
        creating.settle()

    after = open_manager(disk.crash(seed))

    names = {entry.name: entry for entry in after.topics.entries()}
    if settled:
        assert list(names) == ["new"]
    for name, entry in names.items():
        expected: Any = creating.entry if name == "new" else kept
        assert entry == expected
