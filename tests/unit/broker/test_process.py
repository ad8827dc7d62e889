"""The broker's process handles signals, and names the addresses that are open to the network."""

import os
import signal
import socket
from pathlib import Path
from typing import Any

import pytest

from duolog.broker import process
from duolog.broker.broker import Broker
from duolog.broker.network.endpoints import OpenEndpoint
from duolog.broker.requests.request_log import RequestLog
from duolog.broker.settings import BrokerSettings
from duolog.core.errors import ConfigError
from duolog.core.listening import Address


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


def test_a_registry_of_the_broker_connects_to_its_plaintext_listener() -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    with listening:
        tls = OpenEndpoint("SSL", listening, Address("a", 1), "SSL")
        plain = OpenEndpoint("IN", listening, Address("a", 2), "PLAINTEXT")

        assert process._plain([tls, plain]) is plain  # noqa: SLF001
        with pytest.raises(ConfigError, match="has no listener to connect to"):
            process._plain([tls])  # noqa: SLF001


def test_addresses_open_to_the_network_are_named_with_the_reason() -> None:
    with (
        socket.create_server(("0.0.0.0", 0)) as everywhere,  # noqa: S104
        socket.create_server(("127.0.0.1", 0)) as here,
    ):
        port = everywhere.getsockname()[1]
        danger = "nothing is encrypted"
        rows = [
            OpenEndpoint("A", everywhere, Address("a", 1), "PLAINTEXT", danger),
            OpenEndpoint("B", here, Address("a", 1), "PLAINTEXT", danger),
            OpenEndpoint("C", everywhere, Address("a", 1), "SSL", ""),
        ]

        assert process._exposed(rows, None) == [  # noqa: SLF001
            f"broker, listener A at 0.0.0.0:{port}: nothing is encrypted"
        ]


def test_a_start_with_rights_that_mean_no_users_is_refused(tmp_path: Path) -> None:
    options = process.BrokerOptions(
        tmp_path / "data", ("127.0.0.1:0",), settings={"authorizer.class.name": "acl"}
    )

    with pytest.raises(ConfigError, match="does not authenticate its clients"):
        process._serve(options, BrokerSettings(options.settings), process.Edges())  # noqa: SLF001

    assert not (tmp_path / "data").exists()
