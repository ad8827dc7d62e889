from collections.abc import Iterator

import pytest

from duolog.runtime.sql.persistent.pauses import Pauses
from duolog.runtime.sql.persistent.query_supervisor import QuerySupervisor
from unit.runtime.sql.fake_queries import FakeStarter


@pytest.fixture
def starter() -> FakeStarter:
    return FakeStarter()


@pytest.fixture
def supervisor(starter: FakeStarter) -> Iterator[QuerySupervisor]:
    supervisor = QuerySupervisor(starter, Pauses(0.2, 60.0))
    supervisor.start()
    yield supervisor
    supervisor.close()
