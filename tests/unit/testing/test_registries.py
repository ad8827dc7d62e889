"""The kernel reaches registries of this process as long as a plan uses them."""

import json
from collections.abc import Iterator
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from duolog.plan.formats import KAFKA, REGISTRY, Format
from duolog.plan.nodes import Plan, Sink, StreamSource, plan_of
from duolog.plan.schema import parse_schema
from duolog.registry.in_process import InProcessRegistry
from duolog.schemas.schema import Language
from duolog.schemas.source import SchemaText, provide, withdraw
from duolog.testing import registries

ADDRESS = "mock://test-registries"


class FakeKernel:
    """The class of the kernel that keeps addresses; also the session that returns it."""

    def __init__(self) -> None:
        self.addresses: dict[str, str] = {}

    def kernel(self, name: str) -> "FakeKernel":
        assert name == "SchemaRegistry"
        return self

    def provide(self, address: str, at: str) -> None:
        self.addresses[address] = at

    def withdraw(self, address: str) -> None:
        del self.addresses[address]


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> FakeKernel:
    made = FakeKernel()
    monkeypatch.setattr(registries, "shared_session", lambda: made)
    return made


@pytest.fixture
def registry() -> Iterator[InProcessRegistry]:
    made = InProcessRegistry()
    provide(ADDRESS, made)
    yield made
    withdraw(ADDRESS)


@pytest.fixture
def plan() -> Plan:
    avro = Format("AVRO", ((REGISTRY, ADDRESS),))
    source = StreamSource("s", "in", parse_schema("k STRING", "v BIGINT"), KAFKA, avro)
    return plan_of(Sink("t", source, "out", KAFKA, avro))


def status(url: str) -> int:
    try:
        with urlopen(url, timeout=60) as answer:  # noqa: S310 - a server of this process
            return int(answer.status)
    except HTTPError as error:
        return error.code


def test_the_last_plan_that_ends_withdraws_a_registry(
    kernel: FakeKernel, registry: InProcessRegistry, plan: Plan
) -> None:
    schema_id = registry.register("in-value", SchemaText(Language.AVRO, '"long"'))
    first, second = (registries.let_kernel_reach(plan) for _ in range(2))
    url = f"{kernel.addresses[ADDRESS]}/schemas/ids/{schema_id}"
    with urlopen(f"{url}/subjects", timeout=60) as answer:  # noqa: S310 - as above
        assert json.load(answer) == ["in-value"]

    registries.withdraw_from_kernel(first)

    assert status(url) == 200
    assert ADDRESS in kernel.addresses

    registries.withdraw_from_kernel(second)

    assert kernel.addresses == {}
    assert status(url) == 404
