"""The schema registry under test, which keeps its schemas in the broker under test."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from duolog.runtime.registry_process import RegistryProcess


@contextmanager
def schema_registry(bootstrap_servers: str, cache: Path) -> Iterator[str]:
    """Run `duolog registry` for one suite; yield its URL."""
    with RegistryProcess(bootstrap_servers, log_path=cache / "registry.log") as registry:
        yield registry.url
