"""Basic authentication, next to the event loop."""

import asyncio
import base64
import threading
from contextlib import suppress

import pytest

from duolog.registry.access import authentication as module
from duolog.registry.access.authentication import (
    REMEMBER_S,
    BasicAuthentication,
    NoAuthentication,
    TooManyChecks,
    Unauthenticated,
)
from duolog.registry.access.passwords import PasswordHash, hash_password
from duolog.registry.access.users import ANONYMOUS, Account, Patterns, User
from unit.registry.turns import turns

HOST = "10.0.0.7"
ALICE = User("alice", Patterns(["*"]), Patterns([]))


def header(credentials: str) -> str:
    return f"Basic {base64.b64encode(credentials.encode()).decode()}"


class CountingHash(PasswordHash):
    """Counts how often it is asked, and by which threads."""

    def __init__(self) -> None:
        super().__init__(hash_password("secret"))
        self.threads: list[str] = []
        self.free = threading.Event()
        self.free.set()

    def matches(self, password: str) -> bool:
        assert self.free.wait(60)
        self.threads.append(threading.current_thread().name)
        return super().matches(password)


def test_without_users_every_client_may_do_everything() -> None:
    assert asyncio.run(NoAuthentication().client(None, HOST)) is ANONYMOUS


def test_a_right_password_is_checked_next_to_the_loop_and_remembered_for_a_while() -> None:
    hashed, now = CountingHash(), [0.0]
    checks = BasicAuthentication({"alice": Account(ALICE, hashed)}, lambda: now[0])

    async def scenario() -> None:
        for at in (0.0, 1.0, REMEMBER_S - 1, REMEMBER_S + 1):
            now[0] = at
            assert await checks.client(header("alice:secret"), HOST) is ALICE

    asyncio.run(scenario())
    assert len(hashed.threads) == 2
    assert all(name.startswith("scrypt") for name in hashed.threads)
    checks.close()


@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "",
        "Bearer x",
        "Basic",
        "Basic !",
        "Basic " + base64.b64encode(b"\xff\xfe:x").decode(),
        header("alice"),
        header("alice:"),
        header("alice:wrong"),
        header("alice:secret2"),
        header("bob:secret"),
        header(":"),
        header("alice:" + "x" * 5000),
    ],
)
def test_another_header_is_refused(authorization: str | None) -> None:
    checks = BasicAuthentication({"alice": Account(ALICE, PasswordHash(hash_password("secret")))})

    with pytest.raises(Unauthenticated):
        asyncio.run(checks.client(authorization, HOST))

    checks.close()


def test_a_name_may_not_borrow_the_remembered_password_of_another() -> None:
    bob = User("bob", Patterns([]), Patterns([]))
    accounts = {
        "alice": Account(ALICE, PasswordHash(hash_password("secret"))),
        "bob": Account(bob, PasswordHash(hash_password("other"))),
    }
    checks = BasicAuthentication(accounts)

    async def scenario() -> None:
        assert await checks.client(header("alice:secret"), HOST) is ALICE
        with pytest.raises(Unauthenticated):
            await checks.client(header("bob:secret"), HOST)

    asyncio.run(scenario())
    checks.close()


def test_a_client_that_guesses_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_WAITING_MAX", 3)
    hashed = CountingHash()
    hashed.free.clear()
    checks = BasicAuthentication({"alice": Account(ALICE, hashed)})

    async def scenario() -> None:
        guesses = [asyncio.create_task(checks.client(header(f"alice:{n}"), HOST)) for n in range(3)]
        await turns()
        with pytest.raises(TooManyChecks):
            await checks.client(header("alice:secret"), HOST)
        hashed.free.set()
        for guess in guesses:
            with suppress(Unauthenticated):
                await guess
        assert await checks.client(header("alice:secret"), HOST) is ALICE

    asyncio.run(scenario())
    checks.close()


def test_replaced_accounts_hold_from_the_next_request_on() -> None:
    hashed = CountingHash()
    checks = BasicAuthentication({"alice": Account(ALICE, hashed)})
    bob = User("bob", Patterns(["*"]), Patterns([]))

    async def scenario() -> None:
        assert await checks.client(header("alice:secret"), HOST) is ALICE
        checks.replace({"bob": Account(bob, hashed)})

        with pytest.raises(Unauthenticated):
            await checks.client(header("alice:secret"), HOST)
        assert await checks.client(header("bob:secret"), HOST) is bob

    asyncio.run(scenario())
    checks.close()


def test_a_password_that_is_being_checked_counts_for_the_new_accounts() -> None:
    hashed = CountingHash()
    hashed.free.clear()
    checks = BasicAuthentication({"alice": Account(ALICE, hashed)})

    async def scenario() -> None:
        checking = asyncio.create_task(checks.client(header("alice:secret"), HOST))
        await turns(5)
        checks.replace({})
        hashed.free.set()

        with pytest.raises(Unauthenticated):
            await checking

    asyncio.run(scenario())
    checks.close()
