"""A broker whose clock only the test moves, and clients with names."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from duolog.security.identity.principal import USER, Identity, Principal
from duolog.testing.clock import FakeClock
from unit.broker.conftest import Harness

ALTER_QUOTAS = 49


class TimedHarness(Harness):
    """A broker whose clock only the test moves."""

    clock: FakeClock

    def __init__(self, data_dir: Path, settings: dict[str, str]) -> None:
        self.clock = FakeClock()
        super().__init__(data_dir, settings, self.clock)

    def quota(self, entity: dict[str, str | None], **values: float | None) -> None:
        """Set quotas through the API; None removes one."""
        entry = {
            "entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity.items()],
            "ops": [
                {"key": key, "value": value or 0.0, "remove": value is None}
                for key, value in values.items()
            ],
        }
        # An administrator whom no quota of these tests throttles.
        answer = self.user("admin").ask(ALTER_QUOTAS, 1, entries=[entry], validate_only=False)
        assert answer.entries[0].error_code == 0, answer.entries[0].error_message

    def user(self, name: str) -> Any:
        client = self.client()
        client.connection.identity = Identity(Principal(USER, name), "127.0.0.1")
        return client

    def load(self) -> None:
        """Let the group coordinator read its log."""
        self.broker.groups.start()
        self.turn_until(lambda: not self.broker.groups.loading)

    def wait_ms(self, ms: int) -> None:
        """Let time pass, and the timers that are due run."""
        self.clock.advance(ms=ms)
        self.turn()


OpenTimedHarness = Callable[..., TimedHarness]


@pytest.fixture
def open_timed(tmp_path: Path) -> Iterator[OpenTimedHarness]:
    """Make a broker over the test's directory, with settings; several after each other."""
    harnesses: list[TimedHarness] = []

    def make(**settings: str) -> TimedHarness:
        texts = {name.replace("_", "."): text for name, text in settings.items()}
        harnesses.append(TimedHarness(tmp_path / "data", {"durability": "os", **texts}))
        return harnesses[-1]

    yield make
    harnesses[-1].stop()


@pytest.fixture
def timed(open_timed: OpenTimedHarness) -> TimedHarness:
    return open_timed()
