"""The broker's process handles signals."""

import os
import signal
from typing import Any

import pytest

from duolog.broker import process
from duolog.broker.broker import Broker
from duolog.broker.requests.request_log import RequestLog


def handle_signals(broker: Broker, log: RequestLog) -> None:
    process._handle_signals(broker, log, process._Stopping(broker, None), broker.tls)  # noqa: SLF001


def test_a_second_signal_ends_the_process_at_once(
    harness: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    handlers: dict[int, Any] = {}
    ended: list[int] = []
    monkeypatch.setattr(signal, "signal", handlers.__setitem__)
    monkeypatch.setattr(os, "_exit", ended.append)
    handle_signals(harness.broker, RequestLog(harness.broker.router.routes))

    handlers[signal.SIGINT](signal.SIGINT, None)
    harness.broker.loop.run()  # It ends: the first signal stops the loop.
    assert ended == []
    handlers[signal.SIGINT](signal.SIGINT, None)

    assert ended == [130]


def test_a_signal_turns_the_request_log_on_in_the_loop(
    harness: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    handlers: dict[int, Any] = {}
    monkeypatch.setattr(signal, "signal", handlers.__setitem__)
    log = RequestLog(harness.broker.router.routes)
    handle_signals(harness.broker, log)

    handlers[signal.SIGUSR1](signal.SIGUSR1, None)
    before = log.on
    harness.turn()

    assert (before, log.on) == (False, True)
