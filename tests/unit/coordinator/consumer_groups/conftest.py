"""Fixtures of groups of the new protocol."""

import pytest

from unit.coordinator.consumer_groups.harness import ConsumerGroupHarness


@pytest.fixture
def consumers() -> ConsumerGroupHarness:
    return ConsumerGroupHarness()
