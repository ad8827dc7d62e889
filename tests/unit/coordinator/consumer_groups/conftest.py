"""Fixtures of groups of the new protocol."""

import pytest

from unit.coordinator.consumer_groups.desk import ConsumerDesk


@pytest.fixture
def consumers() -> ConsumerDesk:
    return ConsumerDesk()
