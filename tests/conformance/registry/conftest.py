"""Registries of one broker, as processes."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from duolog.runtime.registry_process import RegistryProcess
from duolog.testing.cluster import EmbeddedCluster

StartRegistry = Callable[..., RegistryProcess]


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    """A broker with an empty data directory."""
    settings = {"durability": "os", "group.initial.rebalance.delay.ms": "0"}
    with EmbeddedCluster(settings=settings) as running:
        yield running


@contextmanager
def registries(bootstrap_servers: str, logs: Path) -> Iterator[StartRegistry]:
    """Yield a function that starts a registry with further arguments."""
    with ExitStack() as running:

        def start(*arguments: str) -> RegistryProcess:
            number = len(list(logs.glob("registry-*.log")))
            process = RegistryProcess(
                bootstrap_servers,
                arguments=arguments,
                log_path=logs / f"registry-{number}.log",
            )
            return running.enter_context(process)

        yield start


@pytest.fixture
def start_registry(cluster: EmbeddedCluster, tmp_path: Path) -> Iterator[StartRegistry]:
    """A function that starts a registry with further arguments."""
    with registries(cluster.bootstrap_servers, tmp_path) as start:
        yield start


@pytest.fixture
def registry(start_registry: StartRegistry) -> str:
    """The URL of a registry."""
    return start_registry().url
