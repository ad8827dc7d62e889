"""The broker's process handles signals, and names the addresses that are open to the network."""

import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from duolog.broker import process
from duolog.broker.broker import Broker
from duolog.broker.companion import beside
from duolog.broker.network.endpoints import OpenEndpoint
from duolog.broker.requests.request_log import RequestLog
from duolog.broker.settings import BrokerSettings
from duolog.core.errors import ConfigError
from duolog.core.listening import Address
from duolog.security.logins.inner import InnerLogin


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


class Registry:
    """Notes how it is started."""

    def __init__(self) -> None:
        self.started: list[tuple[str, InnerLogin | None]] = []

    def start(
        self, bootstrap_servers: str, failed: Callable[[], None], login: InnerLogin | None = None
    ) -> None:
        del failed
        self.started.append((bootstrap_servers, login))

    def stop(self) -> None: ...


def test_a_registry_of_the_broker_connects_to_its_plaintext_listener() -> None:
    registry = Registry()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        tls = OpenEndpoint("SSL", listening, Address("a", 1), "SSL")
        plain = OpenEndpoint("IN", listening, Address("a", 2), "PLAINTEXT")

        found = beside(registry, [tls, plain], BrokerSettings())
        found.start(lambda: None)

        assert found.endpoint is plain
        assert registry.started == [(str(plain.bound), None)]
        with pytest.raises(ConfigError, match="has no listener to connect to"):
            beside(registry, [tls], BrokerSettings())


def test_with_an_authorizer_it_gets_a_listener_and_a_login_of_its_own() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        plain = OpenEndpoint("IN", listening, Address("a", 2), "PLAINTEXT")
        settings = BrokerSettings({"authorizer.class.name": "acl"})

        one, other = (beside(Registry(), [plain], settings) for _ in range(2))

    for each in (one, other):
        with each.endpoint.listening:
            assert each.endpoint.bound.host == "127.0.0.1"
            assert each.endpoint.protocol == "SASL_PLAINTEXT"
            assert not each.endpoint.insecure
    assert one.login is not None
    assert one.login != other.login
    assert one.login.password not in repr(one)


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
