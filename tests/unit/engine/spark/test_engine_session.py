"""The session of one engine, with fake sessions."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from duolog.engine.settings import EngineConfig
from duolog.engine.spark import engine_session
from duolog.engine.spark.engine_session import EngineSession

CONFIG = EngineConfig("127.0.0.1:1", Path())
WAIT_S = 60


def test_queries_that_lose_their_jvm_at_once_share_the_next_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened = []
    both_wait = threading.Barrier(2, timeout=WAIT_S)

    def open_one(_config: EngineConfig, **_: object) -> MagicMock:
        opened.append(MagicMock(has_ended=False))
        return opened[-1]

    def get() -> object:
        both_wait.wait()
        return shared.get()

    monkeypatch.setattr(engine_session, "open_session", open_one)
    shared = EngineSession(CONFIG)

    with ThreadPoolExecutor(2) as queries:
        found = [done.result(WAIT_S) for done in [queries.submit(get) for _ in range(2)]]

    assert found == [opened[0]] * 2


def test_a_session_is_opened_again_only_after_its_jvm_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = MagicMock(has_ended=False), MagicMock(has_ended=False)
    monkeypatch.setattr(engine_session, "open_session", MagicMock(side_effect=[first, second]))
    session = EngineSession(CONFIG)
    while_it_runs = session.get(), session.get()
    first.has_ended = True

    assert (*while_it_runs, session.get()) == (first, first, second)


def test_a_jvm_can_be_killed_until_it_has_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = MagicMock(has_ended=False)
    monkeypatch.setattr(engine_session, "open_session", MagicMock(return_value=opened))
    session = EngineSession(CONFIG)
    session.get()
    opened.close.side_effect = session.end_now

    session.close()
    session.close()

    assert session.given_up.is_set()
    opened.end_now.assert_called_once_with()
    opened.close.assert_called_once_with()
