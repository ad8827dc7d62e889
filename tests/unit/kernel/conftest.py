"""A kernel with the settings that a user gets, and with the others that change what is written."""

from collections.abc import Callable
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

from unit.kernel.driver import KernelDriver
from unit.kernel.specs import Spec

OpenDriver = Callable[[Spec], KernelDriver]

_SETTINGS: Final[dict[str, dict[str, Any]]] = {
    "default settings": {},
    "every update": {"cache_bytes_max": 0},
    "real time": {"real_time": True},
}


@pytest.fixture(params=_SETTINGS)
def open_driver(request: pytest.FixtureRequest, spark: SparkSession) -> OpenDriver:
    """Open a spec in micro-batches, with a record cache and without, and in real time."""
    return lambda spec: KernelDriver(spark, spec | _SETTINGS[request.param])
