from pathlib import Path
from unittest.mock import MagicMock

import pytest

from duolog import Topology
from duolog.core.errors import ConfigError
from duolog.engine import Engine, EngineConfig, claims
from duolog.engine.errors import QueryFailed
from duolog.engine.spark import engine_session
from duolog.engine.start_options import StartOptions
from duolog.engine.starting import Starter


def copying() -> Topology:
    topology = Topology("copy")
    topology.stream("in", value="a INT").to("out")
    return topology


@pytest.mark.parametrize("name", ["../elsewhere", "a/b", ".hidden", "a b", "x" * 201])
def test_a_name_that_cannot_be_a_directory_is_refused_before_anything_starts(
    tmp_path: Path, name: str
) -> None:
    named = Engine(EngineConfig("127.0.0.1:1", tmp_path))

    with pytest.raises(ConfigError, match="cannot name an application"):
        named.start(copying().build(), name)

    assert list(tmp_path.iterdir()) == []


def test_a_failed_start_reports_its_cause_even_if_its_jvm_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_session, "open_session", MagicMock())
    monkeypatch.setattr(claims, "claim", MagicMock())
    monkeypatch.setattr(claims, "release", MagicMock(side_effect=ConnectionRefusedError))
    started = Engine(EngineConfig("127.0.0.1:1", tmp_path))
    monkeypatch.setattr(Starter, "make_ready", MagicMock(side_effect=QueryFailed("refused")))

    with pytest.raises(QueryFailed, match="refused"):
        started.start(copying().build(), "copy")


def test_exactly_once_epochs_end_within_the_configured_interval(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked for at the start, and not in the settings, it went live in epochs of a minute."""
    monkeypatch.setattr(engine_session, "open_session", MagicMock())
    monkeypatch.setattr(claims, "claim", MagicMock())
    monkeypatch.setattr(claims, "release", MagicMock())
    started = Engine(EngineConfig("127.0.0.1:1", tmp_path))
    make_ready = MagicMock(side_effect=QueryFailed("refused"))
    monkeypatch.setattr(Starter, "make_ready", make_ready)

    with pytest.raises(QueryFailed, match="refused"):
        started.start(copying().build(), "copy", options=StartOptions(exactly_once=True))

    config = make_ready.call_args.args[0].config
    assert (config.exactly_once, config.epoch_ms) == (True, 1000)
