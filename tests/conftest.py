"""Fixtures for all tests: the one Spark session of a run, and how long Hypothesis may search."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

settings.register_profile(
    "quick",
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("deep", max_examples=2000, deadline=None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--deep", action="store_true", help="run the long forms of the tests too")


def pytest_configure(config: pytest.Config) -> None:
    profile = "deep" if config.getoption("--deep") else "quick"
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", profile))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--deep"):
        return
    skip = pytest.mark.skip(reason="a long form: run scripts/test --deep")
    for item in items:
        if "deep" in item.keywords:
            item.add_marker(skip)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator["SparkSession"]:
    """The one JVM of a test run, as the engine starts it: UTC, ANSI off, no UI, few partitions."""
    from duolog.engine.session import close_session, open_session  # noqa: PLC0415 - starts no JVM
    from duolog.engine.settings import EngineConfig  # noqa: PLC0415

    directory: Path = tmp_path_factory.mktemp("spark")
    config = EngineConfig(
        bootstrap_servers="", checkpoint_dir=directory, log_path=directory / "spark.log"
    )
    yield open_session(config, extra={"spark.sql.shuffle.partitions": "2"})
    close_session()
