import pytest

from unit.registry.harness import Harness, string_record
from unit.registry.rules.orders_topic import create

A = string_record("A", "x")


@pytest.fixture
def strong(harness: Harness) -> Harness:
    create(harness, {"associationType": "value", "schema": {"schema": A}})
    return harness


@pytest.fixture
def weak(harness: Harness) -> Harness:
    harness.register("shared", A)
    create(harness, {"subject": "shared"})
    return harness
