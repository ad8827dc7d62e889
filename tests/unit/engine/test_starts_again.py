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


class PlayedHolder:
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


class Played:
    """An engine's environment; one part of it may fail."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, directory: Path) -> None:
        self.directory = directory
        self.holder = PlayedHolder()
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
def played(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Played]:
    one = Played(monkeypatch, tmp_path)
    yield one
    one.query.has_ended = True
    query_registry.forget_ended()
    slots.release_slots(tmp_path / NAME)
    owner.give_back(tmp_path / NAME)


def no_jvm(played: Played) -> Any:
    played.open_session.side_effect = QueryFailed("the JVM did not start")
    return played.open_session


def given_up(played: Played) -> Any:
    played.open_session.side_effect = KeyboardInterrupt
    return played.open_session


def not_ready(played: Played) -> Any:
    played.make_ready.side_effect = BrokerUnreachable("no broker answers")
    return played.make_ready


def no_watch(played: Played) -> Any:
    played.watch.side_effect = BrokerUnreachable("no broker answers")
    return played.watch


def refused_by_spark(played: Played) -> Any:
    played.query.start.side_effect = QueryFailed("Spark refuses the query")
    return played.query.start


def interrupted(played: Played) -> Any:
    played.query.start.side_effect = KeyboardInterrupt
    return played.query.start


FAILURES = [no_jvm, given_up, not_ready, no_watch, refused_by_spark, interrupted]


@pytest.mark.parametrize("fails", FAILURES)
@pytest.mark.parametrize("by", ["the same engine", "another engine"])
def test_a_second_start_works_whatever_the_first_has_failed_of(
    played: Played, fails: Any, by: str
) -> None:
    first = played.engine()
    part = fails(played)
    with pytest.raises((QueryFailed, BrokerUnreachable, KeyboardInterrupt)):
        first.start(plan(), NAME, "real-time")
    part.side_effect = None

    second = first if by == "the same engine" else played.engine()
    query = second.start(plan(), NAME, "real-time")

    assert query is played.query
    assert played.holder.owned == {str(played.directory / NAME)}


@pytest.mark.parametrize("fails", FAILURES)
def test_a_start_that_failed_holds_neither_the_checkpoint_nor_slots(
    played: Played, fails: Any
) -> None:
    fails(played)

    with pytest.raises((QueryFailed, BrokerUnreachable, KeyboardInterrupt)):
        played.engine().start(plan(), NAME, "real-time")

    assert played.directory / NAME not in owner._locked_here  # noqa: SLF001 - other processes see no less
    assert played.holder.owned == set()
    slots.hold_slots(played.directory / "other", "other", 4, 6)
    slots.release_slots(played.directory / "other")


def test_a_claim_that_failed_is_made_again(played: Played) -> None:
    played.holder.refuses = True
    with pytest.raises(ConnectionRefusedError):
        played.engine().start(plan(), NAME)
    played.holder.refuses = False

    assert played.engine().start(plan(), NAME) is played.query


def test_an_engine_that_closes_does_not_give_back_what_another_one_runs(played: Played) -> None:
    abandoned = played.engine()
    abandoned.reserve(NAME)
    played.engine().start(plan(), NAME)

    abandoned.close()

    assert played.directory / NAME in owner._locked_here  # noqa: SLF001 - as above


def test_what_was_reserved_before_a_start_failed_stays_reserved(played: Played) -> None:
    reserving = played.engine()
    reserving.reserve(NAME)
    no_jvm(played)
    with pytest.raises(QueryFailed):
        reserving.start(plan(), NAME)

    assert played.directory / NAME in owner._locked_here  # noqa: SLF001 - as above
    reserving.close()
    assert played.directory / NAME not in owner._locked_here  # noqa: SLF001


def test_a_second_start_of_a_running_application_is_refused(played: Played) -> None:
    played.engine().start(plan(), NAME)

    with pytest.raises(CheckpointInUse, match="is already running"):
        played.engine().start(plan(), NAME)
