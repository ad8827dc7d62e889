import pytest

from unit.registry.harness import Harness


@pytest.fixture
def harness() -> Harness:
    return Harness()
