"""Look-ups that may outlast the transaction of their results: refused before anything starts, by name and with the numbers."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from duolog import Topology
from duolog.core.errors import ConfigError
from duolog.engine.engine import Engine
from duolog.engine.settings import EngineConfig


def city(ip: str) -> str:
    return ip


def check(
    tmp_path: Path, settings: dict[str, str], client: dict[str, str] | None = None, **more: Any
) -> None:
    """See what a start refuses before it asks a broker."""
    topology = Topology("visits")
    visits = topology.stream("visits", key="user STRING", value="ip STRING")
    visits.map_async(city, **more).to("cities")
    config = EngineConfig.from_settings(
        settings, bootstrap_servers="127.0.0.1:1", checkpoint_dir=tmp_path
    )
    config = replace(config, client_options=client or {})
    Engine(config).ensure_can_run(topology.build(), "visits", config)


ONCE = {"processing.guarantee": "exactly_once_v2"}


def test_a_lookup_that_may_take_as_long_as_a_transaction_is_refused_with_the_numbers(
    tmp_path: Path,
) -> None:
    with pytest.raises(ConfigError) as refused:
        check(tmp_path, ONCE, timeout="30 seconds", retries=3)

    error = refused.value
    assert error.message.startswith("look-up city of map-values-2 at ")
    assert "test_transaction_timeout.py:" in error.message
    assert "may take 120700 ms, and a transaction of results 120000 ms" in error.message
    assert (
        "It is tried 4 times, each time for 30000 ms, with pauses that start at 100 ms."
        in error.detail
    )
    assert "at_least_once" in error.hint
    assert error.name == "transaction.timeout.ms"


@pytest.mark.parametrize(
    ("settings", "client", "lookups"),
    [
        ({}, {}, {"timeout": "30 seconds", "retries": 3}),
        (ONCE, {}, {}),
        (ONCE, {}, {"timeout": "29 seconds", "retries": 3}),
        (ONCE, {}, {"timeout": "119 seconds", "retries": 0}),
        (ONCE | {"epoch.ms": "61000"}, {}, {"timeout": "30 seconds", "retries": 3}),
        (ONCE, {"transaction.timeout.ms": "120701"}, {"timeout": "30 seconds", "retries": 3}),
        (ONCE | {"master": "spark://127.0.0.1:1"}, {}, {"timeout": "30 seconds", "retries": 3}),
    ],
)
def test_lookups_within_the_timeout_or_outside_transactions_are_accepted(
    tmp_path: Path, settings: dict[str, str], client: dict[str, str], lookups: dict[str, Any]
) -> None:
    check(tmp_path, settings, client, **lookups)


def test_a_shorter_transaction_by_a_client_setting_is_heeded(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="may take 40700 ms, and a transaction of results 40000"):
        check(tmp_path, ONCE, {"transaction.timeout.ms": "40000"})


def test_a_long_backoff_counts(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="may take 142000 ms") as refused:
        check(tmp_path, ONCE, timeout="500 ms", retries=3, backoff="20 seconds")

    assert "a shorter backoff" in refused.value.hint


def test_a_client_setting_that_is_not_a_number_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"transaction\.timeout\.ms=soon is not a number"):
        check(tmp_path, ONCE, {"transaction.timeout.ms": "soon"})
