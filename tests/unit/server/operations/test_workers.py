"""Threads for statements, and the health of the broker."""

import asyncio
import threading

import pytest

from duolog.core.errors import ConfigError
from duolog.security.identity.principal import USER, Identity, Principal
from duolog.server.access.sessions import Sessions
from duolog.server.errors import OVERLOADED, RequestRefused
from duolog.server.operations.broker_health import REMEMBER_S, BrokerHealth
from duolog.server.operations.workers import Workers
from duolog.server.proxies import checked_base_path
from unit.registry.turns import turns, until
from unit.server.users import Clock
from waiting import DEADLINE_S


def test_calls_above_the_limit_are_refused_until_others_have_ended() -> None:
    async def run() -> None:
        go = threading.Event()
        workers = Workers(1, 1)
        calls = [asyncio.ensure_future(workers.run(go.wait, DEADLINE_S)) for _ in range(2)]
        await turns()
        with pytest.raises(RequestRefused) as refused:
            await workers.run(go.wait, DEADLINE_S)
        assert refused.value.code == OVERLOADED

        go.set()
        assert await asyncio.gather(*calls) == [True, True]
        await until(lambda: workers.calls == 0)
        assert await workers.run(lambda: "next") == "next"
        workers.close()

    asyncio.run(run())


def test_an_error_of_a_call_is_raised() -> None:
    async def run() -> None:
        workers = Workers(1, 0)
        with pytest.raises(ZeroDivisionError):
            await workers.run(divmod, 1, 0)
        workers.close()

    asyncio.run(run())


def test_one_probe_answers_all_who_want_to_know_at_once() -> None:
    async def run() -> None:
        clock, probes = Clock(), list[int]()

        def probe() -> bool:
            probes.append(1)
            return len(probes) == 1

        health = BrokerHealth(probe, clock)
        assert await asyncio.gather(*(health.healthy() for _ in range(50))) == [True] * 50
        clock.now += REMEMBER_S / 2
        assert await health.healthy()
        assert len(probes) == 1

        clock.now += REMEMBER_S
        assert not await health.healthy()
        assert len(probes) == 2
        health.close()

    asyncio.run(run())


def test_a_session_ends_with_any_change_of_its_users_credentials() -> None:
    epochs = {"ann": 1, "bob": 1}
    sessions = Sessions(Clock(), lambda user: epochs[user])
    token, other = (
        sessions.begin(Identity(Principal(USER, user), "10.0.0.1"), 1) for user in ("ann", "bob")
    )
    assert sessions.identity(token, "10.0.0.2") == Identity(Principal(USER, "ann"), "10.0.0.2")

    epochs["ann"] = 2

    assert sessions.identity(token, "10.0.0.2") is None
    assert sessions.identity(other, "10.0.0.2") is not None, "an administrator adds users"
    epochs["ann"] = 1
    assert sessions.identity(token, "10.0.0.2") is None


@pytest.mark.parametrize("text", ["sql", "/a/../b", "/./a", "/a b", "/a//b", "/ä", "/a?b"])
def test_a_base_path_is_the_path_of_a_url(text: str) -> None:
    with pytest.raises(ConfigError):
        checked_base_path(text)
