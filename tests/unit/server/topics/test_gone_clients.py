"""A client that leaves ends what is computed for it."""

import asyncio
import threading
from collections.abc import AsyncIterator
from types import SimpleNamespace

import pytest

from duolog.server.access.checks import Checks
from duolog.server.access.client import NOBODY
from duolog.server.http.bodies import ClientGone
from duolog.server.messages import Request
from duolog.server.operations.topics import Stopped, run
from unit.server.memory import context
from waiting import wait_until


def test_a_call_about_a_topic_is_asked_to_stop_when_its_client_leaves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Its limit of time would stop it, too.
    monkeypatch.setattr("duolog.server.operations.topics._ANSWER_S", 1e6)
    started = threading.Event()

    def call(_service: object, _checks: Checks, stopped: Stopped) -> str:
        assert not stopped()
        started.set()
        wait_until(stopped, "the request to stop")
        return "stopped"

    async def body() -> str:
        leaving = asyncio.Event()

        async def pieces() -> AsyncIterator[bytes]:
            while not leaving.is_set():
                await leaving.wait()
                yield b""
            raise ClientGone

        request = Request(NOBODY, pieces=pieces())
        answered = asyncio.ensure_future(
            run(request, context(sql=SimpleNamespace(ending="")), call)
        )
        await asyncio.to_thread(started.wait)
        leaving.set()
        return await answered

    assert asyncio.run(body()) == "stopped"
