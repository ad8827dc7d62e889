"""Fixtures of the group coordinator."""

from collections.abc import Callable

import pytest

from duolog.coordinator.settings import GroupSettings
from unit.coordinator.harness import CoordinatorHarness


@pytest.fixture
def harness() -> CoordinatorHarness:
    return CoordinatorHarness()


@pytest.fixture
def make_harness() -> Callable[[GroupSettings], CoordinatorHarness]:
    return CoordinatorHarness
