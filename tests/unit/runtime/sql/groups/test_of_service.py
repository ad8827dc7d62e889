"""The groups of a service, up to the start of a process."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from duolog.core.units import MIB
from duolog.ksql.errors import SqlError
from duolog.runtime.sql.groups import of_service
from duolog.runtime.sql.groups.group_starter import GroupStarter
from duolog.runtime.sql.groups.messages import Setup
from duolog.runtime.sql.groups.of_service import groups_of_service
from duolog.runtime.sql.persistent.spark_queries import SparkQuerySettings
from duolog.schemas.registry_users import forget_users, keep_users
from duolog.security.clients.brokers import Brokers
from unit.runtime.sql.fake_queries import FakeStarter
from unit.runtime.sql.groups.groups import wanted

REGISTRY = "http://registry:8081"


class Refused(OSError):
    """Ends the start of a process."""


@pytest.fixture
def setups(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[Setup, Path]]]:
    """Setups of the processes that would start, with their logs."""
    found: list[tuple[Setup, Path]] = []

    def process(setup: Setup, log_path: Path) -> None:
        found.append((setup, log_path))
        raise Refused("none is started here")

    monkeypatch.setattr(of_service, "GroupProcess", process)
    keep_users(REGISTRY, "ann:geheim")
    yield found
    forget_users(REGISTRY)


def opened(**properties: str) -> GroupStarter:
    limits = {f"duolog.query.jvm.{name.replace('_', '.')}": one for name, one in properties.items()}
    return groups_of_service(
        Brokers("a:1"),
        SparkQuerySettings(data=Path("/data"), settings={"tasks": "2"}, log_rows=True),
        shared=FakeStarter(),  # type: ignore[arg-type]
        properties={"ksql.service.id": "flights", **limits},
        registry=REGISTRY,
        offset=lambda: 0,
    )


def test_a_process_gets_the_settings_of_the_service_and_those_of_its_group(
    setups: list[tuple[Setup, Path]],
) -> None:
    starter = opened(group_heavy_memory_bytes=str(700 * MIB), group_heavy_nice="4")
    with pytest.raises(Exception, match='process of group "heavy" cannot be started'):
        starter.start(wanted("CSAS_ONE_0"))
    starter.close()

    ((setup, log),) = setups
    assert (setup.group, setup.service_id, setup.nice) == ("heavy", "flights", 4)
    assert setup.queries.settings["tasks"] == "2"
    assert setup.queries.settings["driver.memory.bytes"] == str(700 * MIB)
    assert setup.queries.log_rows
    assert setup.queries.data / setup.queries.log_name == log == Path("/data/engine-heavy.log")
    assert (setup.registry, setup.registry_users[REGISTRY]) == (REGISTRY, "ann:geheim")
    assert set(sys.path) - {""} <= set(setup.module_path)


def test_a_limit_that_is_not_allowed_ends_the_start_of_the_service() -> None:
    with pytest.raises(SqlError, match=r"duolog\.query\.jvm\.group\.heavy\.memory\.bytes"):
        opened(group_heavy_memory_bytes="1")
