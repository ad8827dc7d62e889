"""One broker for the tests of this folder; each test uses its own service id."""

from collections.abc import Iterator
from itertools import count

import pytest

from duolog.testing import EmbeddedCluster

_services = count()


@pytest.fixture(scope="session")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"durability": "os"}) as cluster:
        yield cluster


@pytest.fixture
def service() -> str:
    """A name that no other test has, for a service id and in names of topics."""
    return f"service{next(_services)}_"
