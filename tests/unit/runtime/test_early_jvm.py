"""A JVM that starts while other things are prepared; with a fake session."""

import threading
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from duolog.core.errors import ConfigError
from duolog.engine.errors import JvmNotStarted
from duolog.engine.spark import session
from duolog.runtime.early_jvm import EarlyJvm


def test_an_early_jvm_starts_in_parallel_and_is_released_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, share = threading.Event(), MagicMock()
    monkeypatch.setattr(session, "open_session", lambda *_, **__: opened.wait(60) and share)

    with EarlyJvm({}, tmp_path) as early:
        assert not share.close.called
        opened.set()
        early.release()
        assert share.close.call_count == 1

    assert share.close.call_count == 1


@pytest.mark.parametrize("error", [ConfigError("no", name="x"), PermissionError("data")])
def test_its_failure_is_left_to_the_application(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    monkeypatch.setattr(session, "open_session", MagicMock(side_effect=error))

    with EarlyJvm({}, tmp_path):
        pass


def test_an_interrupt_abandons_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []

    def open_slowly(_config: object, *, given_up: threading.Event) -> None:
        seen.append(given_up.wait(60))
        raise JvmNotStarted("given up")

    monkeypatch.setattr(session, "open_session", open_slowly)

    with pytest.raises(KeyboardInterrupt), EarlyJvm({}, tmp_path):
        raise KeyboardInterrupt

    assert seen == [True]
