"""A failed start leaves no state: the next one in the same process works, by the same engine or another."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from duolog import Topology
from duolog.engine import Engine, EngineConfig, starting
from duolog.engine.checkpoint import owner
from duolog.engine.errors import BrokerUnreachable, CheckpointInUse, QueryFailed
from duolog.engine.query import query_registry
from duolog.engine.spark import engine_session, slots

NAME = "copy"


def plan() -> Any:
    topology = Topology(NAME)
    topology.stream("in", value="a INT").to("out")
    return topology.build()


class FakeLockHolder:
    """The JVM's side of a claim."""

    def __init__(self) -> None:
        self.owned: set[str] = set()
        self.refuses = False

    def lock(self, _directory: str) -> str:
        return "locked"

    def own(self, directory: str, _owner: str, _number: int) -> None:
        if self.refuses:
            raise ConnectionRefusedError("the JVM has gone")
        self.owned.add(directory)

    def release(self, directory: str) -> None:
        self.owned.discard(directory)


class Environment:
    """An engine's environment; one part of it may fail."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, directory: Path) -> None:
        self.directory = directory
        self.holder = FakeLockHolder()
        self.session = MagicMock(holder=self.holder, java_pid=1, has_ended=False)
        self.open_session = MagicMock(return_value=self.session)
        self.make_ready = MagicMock(return_value=MagicMock())
        self.watch = MagicMock()
        self.query: Any = SimpleNamespace(
            application_id=NAME, has_ended=False, start=MagicMock(), stop=MagicMock()
        )
        monkeypatch.setattr(engine_session, "open_session", self.open_session)
        monkeypatch.setattr(starting, "watch_over", self.watch)
        monkeypatch.setattr(starting, "slots_of", lambda *_: 6)
        monkeypatch.setattr(starting, "RunningQuery", MagicMock(return_value=self.query))
        monkeypatch.setattr(starting.Starter, "make_ready", self.make_ready)
        ready = self.make_ready.return_value
        ready.prepared.chosen.live, ready.prepared.needed = "real-time", 3
        ready.launcher.checkpoint.directory = directory / NAME

    def engine(self) -> Engine:
        return Engine(EngineConfig("127.0.0.1:1", self.directory))


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Environment]:
    one = Environment(monkeypatch, tmp_path)
    yield one
    one.query.has_ended = True
    query_registry.forget_ended()
    slots.release_slots(tmp_path / NAME)
    owner.give_back(tmp_path / NAME)


def no_jvm(environment: Environment) -> Any:
    environment.open_session.side_effect = QueryFailed("the JVM did not start")
    return environment.open_session


def given_up(environment: Environment) -> Any:
    environment.open_session.side_effect = KeyboardInterrupt
    return environment.open_session


def not_ready(environment: Environment) -> Any:
    environment.make_ready.side_effect = BrokerUnreachable("no broker answers")
    return environment.make_ready


def no_watch(environment: Environment) -> Any:
    environment.watch.side_effect = BrokerUnreachable("no broker answers")
    return environment.watch


def refused_by_spark(environment: Environment) -> Any:
    environment.query.start.side_effect = QueryFailed("Spark refuses the query")
    return environment.query.start


def interrupted(environment: Environment) -> Any:
    environment.query.start.side_effect = KeyboardInterrupt
    return environment.query.start


FAILURES = [no_jvm, given_up, not_ready, no_watch, refused_by_spark, interrupted]


@pytest.mark.parametrize("fails", FAILURES)
@pytest.mark.parametrize("by", ["the same engine", "another engine"])
def test_a_second_start_works_whatever_the_first_has_failed_of(
    environment: Environment, fails: Any, by: str
) -> None:
    first = environment.engine()
    part = fails(environment)
    with pytest.raises((QueryFailed, BrokerUnreachable, KeyboardInterrupt)):
        first.start(plan(), NAME, "real-time")
    part.side_effect = None

    second = first if by == "the same engine" else environment.engine()
    query = second.start(plan(), NAME, "real-time")

    assert query is environment.query
    assert environment.holder.owned == {str(environment.directory / NAME)}


@pytest.mark.parametrize("fails", FAILURES)
def test_a_start_that_failed_holds_neither_the_checkpoint_nor_slots(
    environment: Environment, fails: Any
) -> None:
    fails(environment)

    with pytest.raises((QueryFailed, BrokerUnreachable, KeyboardInterrupt)):
        environment.engine().start(plan(), NAME, "real-time")

    assert environment.directory / NAME not in owner._locked_here  # noqa: SLF001 - other processes see no less
    assert environment.holder.owned == set()
    slots.hold_slots(environment.directory / "other", "other", 4, 6)
    slots.release_slots(environment.directory / "other")


def test_a_claim_that_failed_is_made_again(environment: Environment) -> None:
    environment.holder.refuses = True
    with pytest.raises(ConnectionRefusedError):
        environment.engine().start(plan(), NAME)
    environment.holder.refuses = False

    assert environment.engine().start(plan(), NAME) is environment.query


def test_an_engine_that_closes_does_not_give_back_what_another_one_runs(
    environment: Environment,
) -> None:
    abandoned = environment.engine()
    abandoned.reserve(NAME)
    environment.engine().start(plan(), NAME)

    abandoned.close()

    assert environment.directory / NAME in owner._locked_here  # noqa: SLF001 - as above


def test_checkpoints_reserved_before_a_failed_start_stay_reserved(environment: Environment) -> None:
    reserving = environment.engine()
    reserving.reserve(NAME)
    no_jvm(environment)
    with pytest.raises(QueryFailed):
        reserving.start(plan(), NAME)

    assert environment.directory / NAME in owner._locked_here  # noqa: SLF001 - as above
    reserving.close()
    assert environment.directory / NAME not in owner._locked_here  # noqa: SLF001


def test_a_second_start_of_a_running_application_is_refused(environment: Environment) -> None:
    environment.engine().start(plan(), NAME)

    with pytest.raises(CheckpointInUse, match="is already running"):
        environment.engine().start(plan(), NAME)
