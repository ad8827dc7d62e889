"""Fixtures of the group coordinator."""

from collections.abc import Callable

import pytest

from duolog.coordinator.settings import GroupSettings
from unit.coordinator.desk import Desk


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def make_desk() -> Callable[[GroupSettings], Desk]:
    return Desk
